"""The files of a record: as text in a page, and their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from ludus.errors import ViewError
from ludus.record.format.disk import Handle
from ludus.view.episodes.episode import EpisodeRecord, open_episode
from ludus.view.episodes.files import RecordedFile, files_of, open_file, open_named
from ludus.view.episodes.output import is_text, window
from ludus.view.pages.episode import shared
from ludus.view.rendering import page

__all__ = ["bytes_of", "routes"]

_CHUNK = 1 << 18
_RANGE = re.compile(r"bytes=(\d{1,15})-(\d{0,15})")
_A_PAGE = 500


def _files(request: Request) -> Response:
    with _opened(request) as episode:
        files = sorted(files_of(episode).values(), key=lambda one: one.path)
        named: dict[str, str] = {}
        for number in episode.index.numbers("grading"):
            told = episode.index.event(episode.handle, number).data.get("files")
            if isinstance(told, dict):
                named |= {str(digest): str(path) for path, digest in told.items()}
        return page(
            request,
            "files.html",
            **shared(request, episode),
            files=files[:_A_PAGE],
            total=len(files),
            named=named,
        )


def _file(request: Request) -> Response:
    with _opened(request) as episode:
        file, handle = open_file(episode, request.path_params["digest"])
        with handle:
            text = request.query_params.get("line", "0")
            line = int(text) if text.isascii() and text.isdigit() and len(text) < 12 else 0
            shown = window(handle, line) if is_text(handle) else None
            size = handle.size
        return page(
            request, "file.html", **shared(request, episode), file=file, whole=shown, size=size
        )


def _blob(request: Request) -> Response:
    with _opened(request) as episode:
        return bytes_of(request, *open_file(episode, request.path_params["digest"]))


def _output(request: Request) -> Response:
    """Return the whole output of a step."""
    number, _, mark = request.path_params["step"].partition("-")
    with _opened(request) as episode:
        n = int(number) if number.isascii() and number.isdigit() and len(number) < 12 else -1
        step = episode.find(n, mark) if n >= 0 else None
        if step is None or not step.output_file:
            raise ViewError("This step has no output in a file.")
        return bytes_of(request, *open_named(episode, step.output_file))


def _opened(request: Request) -> AbstractContextManager[EpisodeRecord]:
    params = request.path_params
    return open_episode(request.app.state.library.episode(params["name"], params["unit"]))


def bytes_of(request: Request, file: RecordedFile, handle: Handle) -> Response:
    """Return the bytes of a file, or a range of them; nothing in it is run by a browser.

    The response closes the handle.
    """
    size = handle.size
    start, end, status = 0, size, 200
    asked = _RANGE.fullmatch(request.headers.get("range", ""))
    if asked is not None:
        start = int(asked[1])
        end = min(size, int(asked[2]) + 1) if asked[2] else size
        status = 206
        if start >= end:
            handle.close()
            return Response(status_code=416, headers={"content-range": f"bytes */{size}"})
    name = re.sub(r"[^\w.-]+", "_", file.path.rpartition("/")[2], flags=re.ASCII)[-80:] or "file"
    headers = {
        "content-disposition": f'attachment; filename="{name}"',
        "content-length": str(end - start),
        "content-security-policy": "default-src 'none'; sandbox",
        "accept-ranges": "bytes",
    }
    if status == 206:
        headers["content-range"] = f"bytes {start}-{end - 1}/{size}"
    kind = "text/plain; charset=utf-8" if is_text(handle) else "application/octet-stream"
    pieces = _pieces(handle, start, end)
    return StreamingResponse(pieces, status, headers=headers, media_type=kind)


def _pieces(handle: Handle, start: int, end: int) -> Iterator[bytes]:
    with handle:
        while start < end and (piece := handle.read(start, min(_CHUNK, end - start))):
            start += len(piece)
            yield bytes(piece)


routes = [
    Route("/run/{name}/e/{unit}/files", _files),
    Route("/run/{name}/e/{unit}/f/{digest}", _file),
    Route("/run/{name}/e/{unit}/blob/{digest}", _blob),
    Route("/run/{name}/e/{unit}/output/{step}", _output),
]
