"""A service's health, asked as Envoy and Kubernetes do."""

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

SERVICE_HEADER = "x-citemesh-service"
"""By it a sidecar that leads to several services knows which one is asked."""


async def serving(channel: grpc.aio.Channel, service: str, timeout_s: float = 2.0) -> bool:
    """Says whether a service is SERVING; False where it can't be reached."""
    stub = health_pb2_grpc.HealthStub(channel)
    try:
        answer = await stub.Check(
            health_pb2.HealthCheckRequest(), timeout=timeout_s, metadata=((SERVICE_HEADER, service),)
        )
    except grpc.RpcError:
        return False
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)
