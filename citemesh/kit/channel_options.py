"""gRPC options that server and client share: message limits, and windows for large documents."""

MIB = 1024 * 1024
HTTP2_WINDOW = 4 * MIB
ACCEPTED = ("x-citemesh-accepted", "true")
"""First header of an answer to a stream of requests: the caller may send now (see citemesh.client.transport)."""


def options(max_message_mib: int) -> list[tuple[str, int]]:
    """Returns channel arguments for a largest message of so many MiB."""
    limit = max_message_mib * MIB
    return [
        ("grpc.max_receive_message_length", limit),
        ("grpc.max_send_message_length", limit),
        ("grpc.so_reuseport", 0),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.lookahead_bytes", HTTP2_WINDOW),
    ]
