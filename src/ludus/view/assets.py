"""Style sheets and scripts: read once, named by their content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["Asset", "asset", "assets", "routes"]

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages load."""

    content: bytes
    media_type: str
    digest: str


@cache
def assets() -> dict[str, Asset]:
    """Return all files that pages load, by name."""
    found = {}
    for file in (files("ludus.view") / "static").iterdir():
        media_type = _TYPES.get(file.name[file.name.rfind(".") :])
        if media_type is not None:
            content = file.read_bytes()
            digest = hashlib.sha256(content).hexdigest()[:16]
            found[file.name] = Asset(content, media_type, digest)
    return found


def asset(name: str) -> str:
    """Return the address of a file that pages load; it changes with the content."""
    return f"/static/{name}?v={assets()[name].digest}"


def _serve(request: Request) -> Response:
    found = assets().get(request.path_params["name"])
    if found is None:
        raise HTTPException(404)
    kept = request.query_params.get("v") == found.digest
    headers = {"cache-control": "max-age=31536000, immutable" if kept else "no-cache"}
    return Response(found.content, media_type=found.media_type, headers=headers)


routes = [Route("/static/{name}", _serve)]
