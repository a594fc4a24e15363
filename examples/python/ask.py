"""Asks CiteMesh a question over gRPC, with nothing of CiteMesh installed: the server itself says what its messages are.

pip install grpcio grpcio-reflection
CITEMESH_KEY=cm_… python ask.py "How does a policy change reach a sidecar?" [host:port]
"""

import os
import sys
from typing import Any

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

PACKAGE = "citemesh.api.query.v1"
TIMEOUT_S = 60


class WithKey(grpc.UnaryStreamClientInterceptor, grpc.StreamStreamClientInterceptor):
    """Shows the key with every call, reflection's own included."""

    def __init__(self, key: str) -> None:
        self._header = ("authorization", f"Bearer {key}")

    def intercept_unary_stream(self, call: Any, details: Any, request: Any) -> Any:
        """One request, many responses."""
        return call(self._with_key(details), request)

    def intercept_stream_stream(self, call: Any, details: Any, requests: Any) -> Any:
        """Many of both."""
        return call(self._with_key(details), requests)

    def _with_key(self, details: Any) -> Any:
        return details._replace(metadata=[*(details.metadata or ()), self._header])


def main() -> int:
    """Streams the answer to the terminal and lists the sources it cites."""
    question = sys.argv[1] if len(sys.argv) > 1 else "How does a policy change reach a sidecar?"
    target = sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1:8080"
    channel = grpc.intercept_channel(grpc.insecure_channel(target), WithKey(os.environ["CITEMESH_KEY"]))
    try:
        show(ask(channel, question))
    except grpc.RpcError as error:
        print(f"{error.code().name}: {error.details()}", file=sys.stderr)
        return 1
    return 0


def ask(channel: grpc.Channel, question: str) -> Any:
    """The events of an answer."""
    types = DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
    request = GetMessageClass(types.FindMessageTypeByName(f"{PACKAGE}.AskRequest"))
    response = GetMessageClass(types.FindMessageTypeByName(f"{PACKAGE}.AskResponse"))
    call = channel.unary_stream(f"/{PACKAGE}.QueryService/Ask", request.SerializeToString, response.FromString)
    return call(request(question=question), timeout=TIMEOUT_S)


def show(events: Any) -> None:
    """Prints text as it comes, the numbers behind each sentence, and the sources at the end."""
    sources = {}
    for event in events:
        match event.WhichOneof("event"):
            case "sources":
                sources = {source.number: source for source in event.sources.sources}
            case "delta":
                print(event.delta.text, end="", flush=True)
            case "citation":
                print("".join(f"[{one.number}]" for one in event.citation.citations), end="", flush=True)
            case "done":
                print()
                for number in event.done.cited:
                    print(f"[{number}] {sources[number].title}  {sources[number].uri}")


if __name__ == "__main__":
    sys.exit(main())
