"""Serves the page and its files: known by name, read once, revalidated by their hash."""

import hashlib
from dataclasses import dataclass
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from citemesh.errors import NotFound
from gateway.rest.core.endpoint import Endpoint
from gateway.rest.core.errors import Problem

TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
TYPES |= {"svg": "image/svg+xml"}
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "require-trusted-types-for": "'script'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{name} {value}" for name, value in POLICY.items()),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
    "cache-control": "no-cache",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page."""

    body: bytes
    media_type: str
    etag: str


class WebPage:
    """The endpoints."""

    def __init__(self) -> None:
        self._assets = assets()

    def endpoints(self) -> list[Endpoint]:
        """All of them."""
        api, shape = "Page", Problem.native
        return [
            Endpoint("GET", "/", self.page, api, shape, "The page where people ask.", answers=("text/html",)),
            Endpoint("GET", "/assets/{name}", self.asset, api, shape, "Its files.", answers=("text/css",)),
        ]

    async def page(self, request: Request) -> Response:
        """``GET /``."""
        return _answer(request, self._assets["index.html"])

    async def asset(self, request: Request) -> Response:
        """``GET /assets/{name}``."""
        name = request.path_params["name"]
        if name not in self._assets or name == "index.html":
            raise NotFound("file of the page", name)
        return _answer(request, self._assets[name])


def assets() -> dict[str, Asset]:
    """The page's files by name."""
    folder = resources.files("gateway.rest.web") / "assets"
    files = (file for file in folder.iterdir() if file.name.rpartition(".")[2] in TYPES)
    return {file.name: _asset(file.name, file.read_bytes()) for file in files}


def _asset(name: str, body: bytes) -> Asset:
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    return Asset(body, TYPES[name.rpartition(".")[2]], etag)


def _answer(request: Request, asset: Asset) -> Response:
    headers = HEADERS | {"etag": asset.etag, "content-type": asset.media_type}
    if request.headers.get("if-none-match") == asset.etag:
        return Response(status_code=304, headers=headers)
    return Response(asset.body, headers=headers)
