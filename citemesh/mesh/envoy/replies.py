"""What a sidecar itself answers when a call does not reach the app.

Over its limit of calls in flight it says RESOURCE_EXHAUSTED (429), not Envoy's UNAVAILABLE: the caller should
slow down, not look elsewhere. Other gRPC refusals keep Envoy's mapping; HTTP callers get the JSON that the
app's own errors have.
"""

from __future__ import annotations

from citemesh.mesh.envoy.types import Json

_CODES = {
    400: "invalid_argument",
    404: "not_found",
    408: "deadline_exceeded",
    413: "invalid_argument",
    429: "resource_exhausted",
    502: "unavailable",
    503: "unavailable",
    504: "deadline_exceeded",
}
_OVERFLOW: Json = {"response_flag_filter": {"flags": ["UO"]}}
_NOT_GRPC: Json = {
    "header_filter": {
        "header": {
            "name": "content-type",
            "string_match": {"prefix": "application/grpc"},
            "invert_match": True,
            "treat_missing_header_as_empty": True,
        }
    }
}


def local_replies(http: bool) -> Json:
    """HTTP Connection Manager's `local_reply_config`; `http` where callers may not be gRPC."""
    if not http:
        return {"mappers": [_grpc_overflow()]}
    overflow = _json(_OVERFLOW, "resource_exhausted") | {"status_code": 429}
    return {
        "mappers": [
            overflow,
            _grpc_overflow(),
            *(_json(_is(status), code) for status, code in _CODES.items()),
        ]
    }


def _grpc_overflow() -> Json:
    header = {"key": "grpc-status", "value": "8"}
    return {
        "filter": _OVERFLOW,
        "headers_to_add": [{"header": header, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}],
    }


def _json(when: Json, code: str) -> Json:
    error = {"code": code, "message": "%LOCAL_REPLY_BODY%"}
    return {
        "filter": {"and_filter": {"filters": [when, _NOT_GRPC]}},
        "body_format_override": {"json_format": {"error": error}, "content_type": "application/json"},
    }


def _is(status: int) -> Json:
    value = {"default_value": status, "runtime_key": "citemesh.local_reply"}
    return {"status_code_filter": {"comparison": {"op": "EQ", "value": value}}}
