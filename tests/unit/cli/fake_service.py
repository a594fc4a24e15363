"""A service that is nothing but healthy, for tests of what starts services. Argument: the service's name.

`FAKE_SERVICE_CRASHES=<service>` makes it end at once with a word on standard error, `FAKE_SERVICE_DEAF=<service>`
makes it take no notice of SIGTERM.
"""

import asyncio
import os
import signal
import sys

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


async def main(service: str) -> None:
    """Serve health until told to stop."""
    server = grpc.aio.server()
    servicer = health.aio.HealthServicer()  # type: ignore[attr-defined]  # set at run time, unseen by types
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    server.add_insecure_port(os.environ[f"CITEMESH_{service.upper()}_LISTEN"])
    await server.start()
    stop = asyncio.Event()
    deaf = os.environ.get("FAKE_SERVICE_DEAF") == service
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, (lambda: None) if deaf else stop.set)
    await stop.wait()
    await server.stop(0)


if __name__ == "__main__":
    if os.environ.get("FAKE_SERVICE_CRASHES") == sys.argv[1]:
        sys.exit(f"{sys.argv[1]}: CITEMESH_X: no setting has this name")
    asyncio.run(main(sys.argv[1]))
