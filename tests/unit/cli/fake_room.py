"""A room that is nothing but healthy, for tests of what starts rooms. Argument: the room's name.

`FAKE_ROOM_CRASHES=<room>` makes that room end at once with a word on standard error.
"""

import asyncio
import os
import signal
import sys

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


async def main(room: str) -> None:
    """Serve health until told to stop."""
    server = grpc.aio.server()
    servicer = health.aio.HealthServicer()  # type: ignore[attr-defined]  # set at run time, unseen by types
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    await servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    server.add_insecure_port(os.environ[f"CITEMESH_{room.upper()}_LISTEN"])
    await server.start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.stop(0)


if __name__ == "__main__":
    if os.environ.get("FAKE_ROOM_CRASHES") == sys.argv[1]:
        sys.exit(f"{sys.argv[1]}: CITEMESH_X: no setting has this name")
    asyncio.run(main(sys.argv[1]))
