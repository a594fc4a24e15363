"""The Python side and the policy take and refuse the same configurations."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citemesh.errors import InvalidInput
from citemesh.mesh.identity import dump, load
from citemesh.mesh.identity_rules import is_plain_path
from tests.policy.policy_host import PolicyHost
from tests.policy.policy_mesh import HERE, Mesh, sample

EXAMPLES = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

BLOCKS = [
    "10.0.0.0/8", "10.0.0.1/8", "10.0.0.0", "10.0.0.0/08", "10.0.0.0/33", "10.0.0.0/255.0.0.0",
    "010.0.0.0/8", "0.0.0.0/0", "10.0.0/8", "::/0", "::1/128", "::1", "fd00::/8", "FD00::/8",
    "fd00::1/8", "::ffff:10.0.0.0/104", "::ffff:10.0.0.0/8", "::ffff:0:0/96", "::ffff:0:0/95",
    "1:2:3:4:5:6:7::/112", "::1.2.3.4/128", "fe80::1%1/128", "1::2::3/128", "/8", "", "::ffff:0:0/80",
    "0:0:0:0:0:ffff:0:0/97", "10.0.0.0/+8", "10.0.0.0/ 8", "１0.0.0.0/8", "::00001/128",
    "1.2.3.4/32/32",
]  # fmt: skip
PATTERNS = [
    "*", "**", "", "/", "/S/M", "/p.S/*", "/p.S/", "/p.S/M*", "/*", "/*/M", "/S/M/N", "/Sé/M",
    "/S-x/M", "GET /", "GET /*", "GET /v1", "GET /v1/*", "GET /v1*", "GET v1", "get /v1", "GET  /v1",
    "GET /v1 ", "GET /a//b", "GET /a/../b", "GET /a/./b", "GET /a/b/", "GET /%2e", "GET /%41",
    "GET /%", "GET /%4", "GET /a;b", "GET /;", "GET /..;x/a", "GET /a?b", "GET /a#b", "GET /a\\b",
    "GET /é", "GET /a*/b", "GET /*/b", "A" * 16 + " /", "A" * 17 + " /", " *",
    "* /", "GET /" + "a" * 251, "GET /" + "a" * 252, "GET /\n", "*\n",
    "/S/M\n", "GET /%00", "GET /%20", "GET /%7F", "GET /%25", "GET /%3b", "GET //*", "GET /.",
    "GET /...", "GET /.*", "GET /a/.;/*",
]  # fmt: skip
NAMES = [
    "a",
    "",
    "a b",
    "a,b",
    'a"b',
    "a\\b",
    "é",
    "a\n",
    "\x7f",
    "!",
    "~",
    "a" * 128,
    "a" * 129,
    "spiffe://mesh/gateway",
    "中",
]

COLLECTIONS = [
    "*", "", "a", "7", "A", "-a", "_a", "a-b_c", "a*", "team-*", "a**", "*a", "a*b", "**", "a,b", "a b", "a.b",
    "é", "a\n", "a" * 64, "a" * 65, "a" * 64 + "*", "a" * 65 + "*",
]  # fmt: skip

words = st.sampled_from(["GET ", "/", "*", "v1", ".", "..", "%2e", "%41", "%", ";", "S", "é", "?", "//", "\\", "a"])
paths = st.lists(words, max_size=8).map("".join)
block_words = st.sampled_from(["10", ".", "0", "::", ":", "ffff", "/", "8", "96", "104", "128", "1", "%", "fd00"])


def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(dump(sample()[0]))
    return loaded


def taken(data: bytes) -> bool:
    """Python's verdict; a refusal is told whole."""
    try:
        load(data)
    except InvalidInput as error:
        return not (error.field and error.fault and error.remedy)
    return True


def agree(host: PolicyHost, text: str | bytes) -> bool:
    """Both sides' common verdict."""
    data = text.encode() if isinstance(text, str) else text
    ours = taken(data)
    theirs = host.configure(data) is not None
    assert ours == theirs, (data, host.log[-1:])
    return ours


def changed(path: list[str | int], value: Any) -> str:
    whole = document()
    place: Any = whole
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(whole)


def test_the_sample_is_good(host: PolicyHost) -> None:
    assert agree(host, json.dumps(document()))


@pytest.mark.parametrize("block", BLOCKS)
def test_blocks(host: PolicyHost, block: str) -> None:
    agree(host, changed(["allow"], [block]))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(host: PolicyHost, pattern: str) -> None:
    agree(host, changed(["public"], [pattern]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["subject", "tenant"])
def test_names(host: PolicyHost, field: str, name: str) -> None:
    agree(host, changed(["keys", 0, field], name))


@EXAMPLES
@given(text=paths)
def test_any_pattern(host: PolicyHost, text: str) -> None:
    agree(host, changed(["keys", 0, "methods"], [text]))


@EXAMPLES
@given(text=st.lists(block_words, max_size=9).map("".join))
def test_any_block(host: PolicyHost, text: str) -> None:
    agree(host, changed(["allow"], [text]))


@EXAMPLES
@given(address=st.ip_addresses(), prefix=st.integers(0, 140))
def test_any_address_block(host: PolicyHost, address: object, prefix: int) -> None:
    agree(host, changed(["allow"], [f"{address}/{prefix}"]))


@pytest.mark.parametrize("field", ["id", "salt", "sha256", "subject", "tenant", "methods", "delegate", "collections"])
def test_every_field_of_a_key(host: PolicyHost, field: str) -> None:
    values: list[Any] = [
        None,
        1,
        True,
        "",
        "zz",
        "AB" * 16,
        "ab" * 4,
        "ab" * 16,
        "ab" * 32,
        [],
        ["*"],
        ["*"] * 64,
        ["*"] * 65,
        ["notes", "team-*"],
        [1],
        {},
    ]
    for value in values:
        agree(host, changed(["keys", 0, field], value))
    missing = document()
    del missing["keys"][1][field]
    assert agree(host, json.dumps(missing)) == (field == "collections")


@pytest.mark.parametrize("text", COLLECTIONS)
def test_collections(host: PolicyHost, text: str) -> None:
    agree(host, changed(["keys", 0, "collections"], [text]))


def test_a_delegates_collections_are_its_callers(host: PolicyHost) -> None:
    assert agree(host, changed(["keys", 2, "collections"], ["*"]))
    assert not agree(host, changed(["keys", 2, "collections"], ["notes"]))


@pytest.mark.parametrize("field", ["version", "keys", "allow", "public", "other"])
def test_every_field_of_the_whole(host: PolicyHost, field: str) -> None:
    blocks = ["10.0.0.0/8"]
    values: list[Any] = [None, 0, 1, 1.0, 2, True, "1", [], {}, ["*"], blocks * 1_025, ["*"] * 65, "*", [[]]]
    for value in values:
        agree(host, changed([field], value))
    missing = document()
    missing.pop(field, None)
    assert agree(host, json.dumps(missing)) == (field == "other")


def test_ids_are_unique(host: PolicyHost) -> None:
    twice = document()
    twice["keys"].append(twice["keys"][0])
    assert not agree(host, json.dumps(twice))


@EXAMPLES
@given(
    at=st.integers(0, 2_000),
    text=st.sampled_from(['"', ",", "{", "}", "[", "]", " ", "\\u0041", "é", "0", "-", "\x01"]),
)
def test_a_letter_put_in(host: PolicyHost, at: int, text: str) -> None:
    whole = json.dumps(document())
    at %= len(whole)
    agree(host, whole[:at] + text + whole[at:])


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff",
        b"\xef\xbb\xbf{}",
        "{}".encode("utf-16"),
        b"[" * 50_000,
        b'{"a":1,"a":1}',
        b"NaN",
        b"1" * 6_000,
        b"\x00",
    ],
)
def test_what_is_no_json(host: PolicyHost, text: bytes) -> None:
    assert not agree(host, text)


def test_escapes_are_read(host: PolicyHost) -> None:
    text = json.dumps(document()).replace("acme", "\\u0061cme")
    assert agree(host, text)
    assert not agree(host, text.replace("\\u0061", "\\ud800"))


@EXAMPLES
@given(path=paths)
def test_paths_are_judged_alike(mesh: Mesh, path: str) -> None:
    call = [(b":method", b"GET"), (b":path", path.encode()), (b"x-api-key", mesh.admin.encode())]
    outcome = mesh.host.request(mesh.root, call, HERE)
    assert outcome.passed == is_plain_path(path.split("?")[0])
