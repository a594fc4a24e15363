"""``/openapi.json`` and ``/docs``: the HTTP APIs described, from the endpoints and fields that serve them."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from citemesh.version import own_version
from gateway.rest import docs_page
from gateway.rest.core.endpoint import JSON, Endpoint
from gateway.rest.core.errors import Problem
from gateway.rest.core.fields import Fields

_PARAMETER = re.compile(r"{(\w+)(?::\w+)?}")
ERRORS = {"default": {"description": "An error in this API's own shape, with the status that says its kind."}}
ABOUT = (
    "Answers questions over your documents; every sentence points at what supports it. Every call shows a key, as "
    "`Authorization: Bearer cm_…` or `X-Api-Key: cm_…`. `X-Request-Timeout-Ms` is the call's deadline, "
    "`X-Citemesh-Priority` its urgency: interactive, batch or background. `Cache-Control: no-cache` "
    "takes no kept answer."
)


class OpenApi:
    """The description and its page."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self._all = [*endpoints, *self.endpoints()]

    @cached_property
    def _described(self) -> dict[str, Any]:
        """Made when it is first asked for: a gateway starts without it."""
        return described(self._all)

    @cached_property
    def _page(self) -> str:
        return docs_page.page(self._described)

    def endpoints(self) -> list[Endpoint]:
        """Its own."""
        api, shape = "Description", Problem.native
        return [
            Endpoint("GET", "/openapi.json", self.json, api, shape, "This description, as OpenAPI 3.1."),
            Endpoint("GET", "/docs", self.page, api, shape, "This description, as a page.", answers=("text/html",)),
        ]

    async def json(self, request: Request) -> Response:
        """``GET /openapi.json``."""
        return JSONResponse(self._described)

    async def page(self, request: Request) -> Response:
        """``GET /docs``."""
        return HTMLResponse(self._page, headers=docs_page.HEADERS)


def described(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The endpoints as an OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(_PARAMETER.sub(r"{\1}", endpoint.path), {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CiteMesh", "version": own_version(), "description": ABOUT},
        "tags": [{"name": api} for api in dict.fromkeys(endpoint.api for endpoint in endpoints)],
        "security": [{"bearer": []}, {"key": []}],
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            }
        },
        "paths": paths,
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    operation: dict[str, Any] = {"tags": [endpoint.api], "summary": endpoint.summary, "operationId": _name(endpoint)}
    if parameters := [*_in_path(endpoint.path), *_in_query(endpoint.query)]:
        operation["parameters"] = parameters
    if content := _content(endpoint):
        operation["requestBody"] = {"required": True, "content": content}
    answers: dict[str, Any] = {} if endpoint.status == 204 else {"content": {kind: {} for kind in endpoint.answers}}
    operation["responses"] = {
        str(endpoint.status): {"description": endpoint.answer or endpoint.summary} | answers,
        **ERRORS,
    }
    return operation


def _content(endpoint: Endpoint) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if endpoint.body is not None:
        content[JSON] = {"schema": endpoint.body.schema()}
    if endpoint.form is not None:
        content["multipart/form-data"] = {"schema": endpoint.form.schema()}
        content["*/*"] = {"schema": {"type": "string", "format": "binary"}}
    return content


def _in_path(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(path)
    ]


def _in_query(fields: Fields) -> list[dict[str, Any]]:
    schema = fields.schema()
    return [
        {
            "name": name,
            "in": "query",
            "required": name in schema.get("required", []),
            "description": schema_of_field.get("description", ""),
            "schema": {key: value for key, value in schema_of_field.items() if key != "description"},
        }
        for name, schema_of_field in schema["properties"].items()
    ]


def _name(endpoint: Endpoint) -> str:
    words = re.findall(r"\w+", _PARAMETER.sub(r"by \1", endpoint.path))
    return "_".join([endpoint.method.lower(), *words])
