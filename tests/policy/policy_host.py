"""A small Proxy-Wasm 0.2.1 host: runs a policy's committed file with limits on fuel and memory.

It does what Envoy does for the calls our policies make, and is stricter: a call the policy should not make, a
pointer outside its memory, or fuel used up ends the test as `wasmtime.Trap` or an assertion.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import wasmtime
from wasmtime import Caller, FuncType, Linker, Memory, Module, Store

Headers = list[tuple[bytes, bytes]]

POLICIES = Path(__file__).resolve().parents[2] / "policies"
CONFIGURE_FUEL = 2_000_000_000
REQUEST_FUEL = 3_000_000
MEMORY_LIMIT = 64 * 1024 * 1024
OK, NOT_FOUND, BAD_ARGUMENT, INVALID_MEMORY = 0, 1, 2, 6
PLUGIN_CONFIGURATION, REQUEST_HEADERS, COUNTER = 7, 0, 0
CONTINUE, PAUSE = 0, 1


def artefact(name: str) -> Path:
    """The one committed file of a policy."""
    (path,) = (POLICIES / "dist").glob(f"{name}-*.wasm")
    return path


@dataclass(frozen=True, slots=True)
class Policy:
    """A compiled policy and the engine it was compiled for."""

    engine: wasmtime.Engine
    module: Module

    @classmethod
    def load(cls, path: Path) -> Policy:
        """Compiles a policy for hosts that count fuel."""
        config = wasmtime.Config()
        config.consume_fuel = True
        engine = wasmtime.Engine(config)
        return cls(engine, Module.from_file(engine, str(path)))


def serialised(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """The ABI's form of a map."""
    pairs = list(headers)
    sizes = b"".join(struct.pack("<II", len(name), len(value)) for name, value in pairs)
    texts = b"".join(name + b"\0" + value + b"\0" for name, value in pairs)
    return struct.pack("<I", len(pairs)) + sizes + texts


def deserialised(data: bytes) -> Headers:
    """The pairs of the ABI's form of a map."""
    (count,) = struct.unpack_from("<I", data)
    sizes = [struct.unpack_from("<II", data, 4 + 8 * at) for at in range(count)]
    at, pairs = 4 + 8 * count, []
    for name_size, value_size in sizes:
        value_at = at + name_size + 1
        pairs.append((data[at : at + name_size], data[value_at : value_at + value_size]))
        at = value_at + value_size + 1
    return pairs


@dataclass(frozen=True, slots=True)
class LocalResponse:
    """An answer of the policy's own."""

    http_status: int
    grpc_status: int
    details: str
    body: bytes
    headers: Headers


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one call: its headers as the application would see them, or the policy's answer."""

    passed: bool
    headers: Headers
    response: LocalResponse | None
    fuel: int

    def value(self, name: str) -> str | None:
        """The one value of a header, if it is there."""
        values = [value for other, value in self.headers if other == name.encode()]
        assert len(values) <= 1, values
        return values[0].decode() if values else None


@dataclass(slots=True)
class _Call:
    """What the host calls of the moment read and change."""

    configuration: bytes = b""
    headers: bytes = b""
    edited: Headers = field(default_factory=list)
    address: bytes | None = None
    response: LocalResponse | None = None


class PolicyHost:
    """One VM, with as many configurations (root contexts) as are asked for."""

    def __init__(self, policy: Policy) -> None:
        self.store = Store(policy.engine)
        self.store.set_limits(memory_size=MEMORY_LIMIT)
        self.store.set_fuel(CONFIGURE_FUEL)
        self.counters: dict[str, int] = {}
        self.log: list[str] = []
        self._names: list[str] = []
        self._call = _Call()
        self._contexts = 0
        self._instance = _linked(self, policy)
        self._export("proxy_on_vm_start", 0, 0)

    def configure(self, configuration: bytes) -> int | None:
        """A new root context with this configuration; None when the policy refuses it."""
        root = self._context(0)
        return root if self.reconfigure(root, configuration) else None

    def reconfigure(self, root: int, configuration: bytes) -> bool:
        """Whether the policy takes the configuration."""
        self._call = _Call(configuration=configuration)
        self.store.set_fuel(CONFIGURE_FUEL)
        return self._export("proxy_on_configure", root, len(configuration)) == 1

    def request(self, root: int, headers: Sequence[tuple[bytes, bytes]], address: bytes | None) -> Outcome:
        """One call's headers through the policy."""
        return self.request_raw(root, serialised(headers), list(headers), address)

    def request_raw(self, root: int, data: bytes, headers: Headers, address: bytes | None) -> Outcome:
        """As `request`, with any bytes as the serialised map."""
        stream = self._context(root)
        self._call = _Call(headers=data, edited=list(headers), address=address)
        self.store.set_fuel(REQUEST_FUEL)
        action = self._export("proxy_on_request_headers", stream, len(headers), 1)
        fuel = REQUEST_FUEL - self.store.get_fuel()
        self.delete(stream)
        assert (action == PAUSE) == (self._call.response is not None), "an answer and a pause go together"
        return Outcome(action == CONTINUE, self._call.edited, self._call.response, fuel)

    def delete(self, context: int) -> None:
        """Ends a stream or a root context."""
        self.store.set_fuel(REQUEST_FUEL)
        assert self._export("proxy_on_done", context) == 1
        self._export("proxy_on_delete", context)

    def memory_size(self) -> int:
        """The VM's memory, bytes."""
        memory = self._instance.exports(self.store)["memory"]
        assert isinstance(memory, Memory)
        return memory.data_len(self.store)

    def _context(self, parent: int) -> int:
        self._contexts += 1
        self.store.set_fuel(REQUEST_FUEL)
        self._export("proxy_on_context_create", self._contexts, parent)
        return self._contexts

    def _export(self, name: str, *arguments: int) -> int:
        function = self._instance.exports(self.store)[name]
        assert isinstance(function, wasmtime.Func)
        result = function(self.store, *arguments)
        return int(result) if result is not None else 0

    # What the policy may call, by the ABI's names. Every argument is an i32 unless said.

    def proxy_log(self, caller: Caller, level: int, text: int, size: int) -> int:
        self.log.append(_read(caller, text, size).decode())
        return OK

    def proxy_get_property(self, caller: Caller, path: int, size: int, value: int, value_size: int) -> int:
        assert _read(caller, path, size) == b"source\0address"
        if self._call.address is None:
            return NOT_FOUND
        return _give(caller, self._call.address, value, value_size)

    def proxy_get_buffer_bytes(
        self, caller: Caller, buffer: int, start: int, most: int, value: int, value_size: int
    ) -> int:
        assert buffer == PLUGIN_CONFIGURATION
        return _give(caller, self._call.configuration[start : start + most], value, value_size)

    def proxy_get_header_map_pairs(self, caller: Caller, kind: int, value: int, value_size: int) -> int:
        assert kind == REQUEST_HEADERS
        return _give(caller, self._call.headers, value, value_size)

    def proxy_replace_header_map_value(
        self, caller: Caller, kind: int, name: int, name_size: int, value: int, value_size: int
    ) -> int:
        self.proxy_remove_header_map_value(caller, kind, name, name_size)
        self._call.edited.append((_read(caller, name, name_size), _read(caller, value, value_size)))
        return OK

    def proxy_remove_header_map_value(self, caller: Caller, kind: int, name: int, size: int) -> int:
        assert kind == REQUEST_HEADERS
        removed = _read(caller, name, size)
        self._call.edited = [pair for pair in self._call.edited if pair[0] != removed]
        return OK

    def proxy_send_local_response(
        self,
        caller: Caller,
        status: int,
        details: int,
        details_size: int,
        body: int,
        body_size: int,
        headers: int,
        headers_size: int,
        grpc_status: int,
    ) -> int:
        assert self._call.response is None, "one answer a call"
        described = _read(caller, details, details_size).decode()
        pairs = deserialised(_read(caller, headers, headers_size))
        text = _read(caller, body, body_size)
        self._call.response = LocalResponse(status, grpc_status, described, text, pairs)
        return OK

    def proxy_define_metric(self, caller: Caller, kind: int, name: int, size: int, metric: int) -> int:
        if kind != COUNTER:
            return BAD_ARGUMENT
        text = _read(caller, name, size).decode()
        self.counters.setdefault(text, 0)
        self._names.append(text)
        _memory(caller).write(caller, struct.pack("<I", len(self._names) - 1), metric)
        return OK

    def proxy_increment_metric(self, caller: Caller, metric: int, delta: int) -> int:
        self.counters[self._names[metric]] += delta
        return OK


def _linked(host: PolicyHost, policy: Policy) -> wasmtime.Instance:
    linker = Linker(policy.engine)
    for wanted in policy.module.imports:
        assert wanted.module == "env" and isinstance(wanted.type, FuncType) and wanted.name
        linker.define_func("env", wanted.name, wanted.type, getattr(host, wanted.name), access_caller=True)
    return linker.instantiate(host.store, policy.module)


def _memory(caller: Caller) -> Memory:
    memory = caller["memory"]
    assert isinstance(memory, Memory)
    return memory


def _read(caller: Caller, start: int, size: int) -> bytes:
    start, size = start & 0xFFFFFFFF, size & 0xFFFFFFFF
    assert start + size <= _memory(caller).data_len(caller), "a pointer outside the memory"
    return bytes(_memory(caller).read(caller, start, start + size))


def _give(caller: Caller, data: bytes, value: int, value_size: int) -> int:
    """Hands bytes over in a buffer that the policy allocates, as Envoy does."""
    place = 0
    if data:
        allocate = caller["proxy_on_memory_allocate"]
        assert isinstance(allocate, wasmtime.Func)
        place = int(allocate(caller, len(data))) & 0xFFFFFFFF
        if place == 0:
            return INVALID_MEMORY
        _memory(caller).write(caller, data, place)
    _memory(caller).write(caller, struct.pack("<I", place), value)
    _memory(caller).write(caller, struct.pack("<I", len(data)), value_size)
    return OK
