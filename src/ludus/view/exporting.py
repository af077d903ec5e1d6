"""Pages as files: everything about a run that needs no server.

The pages are those of the application. It is asked for them without a network, their links are
turned into links between files, and links to what is not exported are removed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

from ludus.atomic import write_whole
from ludus.errors import ViewError
from ludus.view.app import create_app
from ludus.view.assets import assets
from ludus.view.guard import CSP
from ludus.view.library import ITSELF, Found, Library
from ludus.view.pages.episode import A_PAGE
from ludus.view.pages.kept import close_kept
from ludus.view.rendering import link
from ludus.view.settings import ViewSettings

__all__ = ["Exported", "export"]

_MOST_PAGES = 50_000
_LINK = re.compile(r'(<(?:a|link|script|img|form)\b[^<>]*?\s)(href|src|action)="([^"]*)"')
_LIVE = re.compile(r'\s(?:data-)?hx-[a-z:]+="[^"]*"')
_META = re.compile(r'<meta name="htmx-config"[^>]*>\n?')
_SCRIPTS = re.compile(r'<script src="[^"]*/(?:htmx|hx-sse)\.min\.js[^"]*"(?: defer)?></script>\n?')
_SECTION = re.compile(r'<main id="main"[^>]*>(.*)</main>', re.DOTALL)
_TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
_ID = re.compile(r'\sid="([^"]+)"')
_ERROR = re.compile(r'<section class="empty">\s*<h1>.*?</h1>\s*<p>(.*?)</p>', re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_REFUSED = 400


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        pages: How many pages.
        first: The page to open.
        refused: Runs and files that cannot be shown, with the reasons; their pages say the same.
    """

    pages: int
    first: Path
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    media_type: str
    content: bytes
    location: str


def export(
    settings: ViewSettings, target: str | Path, *, single: bool = False, frames: bool = False
) -> Exported:
    """Write the pages about a run, or about all runs of a folder, into a folder.

    Args:
        settings: What is shown.
        target: The folder; it is made if necessary, and files in it are overwritten.
        single: Write one HTML file for each run, with all that belongs to it.
        frames: Execute recordings of environments again, and write the frames of the first, the
            best, the worst and the longest episode of each.

    Raises:
        ViewError: There is no run.
        OSError: The files cannot be written.
    """
    # The pages are not guarded: nobody else asks for them.
    settings = replace(settings, token=None, host="127.0.0.1")
    found = Library(settings).all()
    if not found:
        raise ViewError("There is no run to export.")
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    app = create_app(settings)
    app.state.export_frames = frames and not single
    work = _export(app, found, folder, single=single)
    try:
        # In a thread of its own: the caller, a notebook for example, may be running an event loop.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, work).result()
    finally:
        close_kept(app, "replayer")


async def _export(app: Any, runs: list[Found], folder: Path, *, single: bool) -> Exported:
    paths: list[Path] = []
    refused: list[str] = []
    count = 0
    for run in runs:
        start = await _ask(app, _start(run))
        if start.status >= _REFUSED:
            refused.append(f"{run.place}: {_reason(start.content.decode())}")
        if single:
            pages = {address: answer async for address, answer in _crawl(app, run)}
            paths.append(folder / f"{_slug(run.name)}.html")
            write_whole(paths[-1], _in_one(pages, run).encode("utf-8", "replace"), durable=False)
            count += len(pages)
        else:
            _make_folder(folder / _slug(run.name))
            paths.append(folder / _file_of(run, _start(run)))
            async for address, answer in _crawl(app, run):
                _write(folder, run, address, answer)
                count += 1
    if not single:
        _write_assets(folder)
    first = paths[0] if len(paths) == 1 else _write_index(folder, runs, paths)
    return Exported(count, first, tuple(refused))


def _reason(page: str) -> str:
    """Return what an error page says."""
    found = _ERROR.search(page)
    return "it cannot be shown" if found is None else unescape(_TAG.sub("", found[1])).strip()


def _start(run: Found) -> str:
    return link("run", run.name) if run.kind == "run" else link("run", run.name, "e", ITSELF)


async def _crawl(app: Any, run: Found) -> AsyncIterator[tuple[str, _Answer]]:
    """Yield the pages about a run with their addresses, beginning with its first one."""
    waiting = deque([_start(run)])
    seen = {_start(run)}
    while waiting:
        address = waiting.popleft()
        answer = await _ask(app, address)
        for _ in range(3):
            if not answer.location:
                break
            answer = await _ask(app, urldefrag(urljoin(address, answer.location)).url)
        yield address, answer
        if answer.media_type != "text/html" or len(seen) > _MOST_PAGES:
            continue
        for target in _targets(answer.content.decode(), address):
            if target not in seen and _is_wanted(run, target):
                seen.add(target)
                waiting.append(target)


def _is_wanted(run: Found, address: str) -> bool:
    """Whether a page is exported: no lists that are sorted or filtered, nothing that runs code."""
    path, _, query = address.partition("?")
    own = (f"/run/{run.name}", f"/record/{run.name}")
    mine = any(path == one or path.startswith((f"{one}/", f"{one}@")) for one in own)
    names = {part.partition("=")[0] for part in query.split("&") if part}
    return mine and names <= {"page", "call"} and not path.endswith(("/live", "/overview"))


def _targets(text: str, address: str) -> Iterable[str]:
    for match in _LINK.finditer(text):
        if match[2] == "href" and match[1].startswith("<a"):
            yield urldefrag(urljoin(address, unescape(match[3]))).url


async def _ask(app: Any, address: str) -> _Answer:
    """Return the application's answer to a GET request."""
    path, _, query = address.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
        "ludus.static": True,
    }
    started: dict[str, Any] = {}
    pieces: list[bytes] = []

    asked = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> dict[str, Any]:
        return next(asked, {"type": "http.disconnect"})

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            started.update(message)
        else:
            pieces.append(message.get("body", b""))

    await app(scope, receive, send)
    headers = {name.decode().lower(): value.decode() for name, value in started["headers"]}
    kind = headers.get("content-type", "").partition(";")[0]
    return _Answer(started["status"], kind, b"".join(pieces), headers.get("location", ""))


def _write(folder: Path, run: Found, address: str, answer: _Answer) -> None:
    """Write a page into the folder of its run."""

    def place(target: str) -> str | None:
        whole, mark = urldefrag(urljoin(address, target))
        if whole.startswith("/static/"):
            return f"../static/{whole.removeprefix('/static/').partition('?')[0]}"
        if not _is_wanted(run, whole := _without_step(whole)):
            return None
        return f"{_file_of(run, whole).partition('/')[2]}{f'#{mark}' if mark else ''}"

    content = answer.content
    if answer.media_type == "text/html":
        content = _static(content.decode(), place).encode("utf-8", "replace")
    write_whole(folder / _file_of(run, address), content, durable=False)


def _without_step(address: str) -> str:
    """Return the address of an episode instead of that of a step's place in it."""
    step = re.search(r"\?step=(\d{1,12})$", address)
    if step is None:
        return address
    at = int(step[1]) // A_PAGE
    return address[: step.start()] + (f"?page={at}" if at else "")


def _static(text: str, place: Callable[[str], str | None]) -> str:
    """Return a page whose links lead to files, without forms and without what needs a server."""

    def changed(match: re.Match[str]) -> str:
        before, name, target = match[1], match[2], unescape(match[3])
        if target.startswith("#"):
            return match[0]
        step = re.search(r"[?&]step=(\d+)", target)
        found = place(target)
        if found is not None and step is not None and "#" not in found:
            found += f"#step-{step[1]}"
        return f"{before.rstrip()} data-server" if found is None else (
            f'{before}{name}="{escape(found)}"'
        )  # fmt: skip

    text = _SCRIPTS.sub("", _META.sub("", _LIVE.sub("", text)))
    text = _LINK.sub(changed, text)
    policy = CSP.replace("; frame-ancestors 'none'", "")
    head = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
    text = text.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}', 1)
    return text.replace("<body", "<body data-static", 1)


def _in_one(pages: dict[str, _Answer], run: Found) -> str:
    """Return all pages of a run as the sections of one file, with the style sheet in it."""
    shown = {
        address: answer.content.decode()
        for address, answer in pages.items()
        if answer.media_type == "text/html"
    }
    names = {address: f"p{number}" for number, address in enumerate(shown)}
    sections, titles = [], []
    for address, text in shown.items():
        here = names[address]

        def place(target: str, here: str = address) -> str | None:
            if target.startswith("#"):
                return f"#{names[here]}-{target[1:]}"
            whole, mark = urldefrag(urljoin(here, target))
            name = names.get(_without_step(whole))
            return None if name is None else f"#{name}{f'-{mark}' if mark else ''}"

        inner = _SECTION.search(text)
        title = _TITLE.search(text)
        body = _static("" if inner is None else inner[1], place)
        body = re.sub(r'href="#(p\d+)#step', r'href="#\1-step', body)
        body = _ID.sub(rf' id="{here}-\1"', body)
        body = re.sub(r'(aria-labelledby|for)="([^"]+)"', rf'\1="{here}-\2"', body)
        titles.append("" if title is None else title[1].partition(" · ludus view")[0])
        sections.append(f'<section class="sheet" id="{here}">{body}</section>')
    css = assets()["view.css"].content.decode()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{titles[0] if titles else escape(run.name)}</title><style>{css}</style></head>"
        f'<body data-static><main id="main">{"".join(sections)}</main></body></html>\n'
    )


def _write_assets(folder: Path) -> None:
    _make_folder(folder / "static")
    for name, one in assets().items():
        if not name.startswith(("htmx", "hx-")):
            write_whole(folder / "static" / name, one.content, durable=False)


def _make_folder(path: Path) -> None:
    """Make a folder for pages; one that is there must not lead elsewhere."""
    if path.is_symlink():
        raise ViewError(f"{path} is a symbolic link; pages are written into folders only.")
    path.mkdir(exist_ok=True)


def _write_index(folder: Path, runs: list[Found], paths: list[Path]) -> Path:
    """Write a page with a link to each run."""
    rows = "".join(
        f'<li><a href="{escape(str(path.relative_to(folder)))}">{escape(run.place)}</a></li>'
        for run, path in zip(runs, paths, strict=True)
    )
    text = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Runs</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"></head>'
        f"<body><main><h1>Runs</h1><ul>{rows}</ul></main></body></html>\n"
    )
    index = folder / "index.html"
    write_whole(index, text.encode("utf-8", "replace"), durable=False)
    return index


def _file_of(run: Found, address: str) -> str:
    """Return a readable name of a file, which is another one for each address."""
    path, _, query = address.partition("?")
    inner = re.sub(r"^/(?:run|record)/[^/]+/?", "", path).removeprefix("e/")
    name = _slug(inner.replace("/", "-"))[:80] or "index"
    if query or len(inner) > 80 or inner.replace("/", "-") != name:
        name += "-" + hashlib.sha256(address.encode()).hexdigest()[:8]
    is_file = re.search(r"/(?:blob|output)/[^/]+$", path)
    own = re.search(r"/(?:frame/\d+/\d+|numbers)(\.png|\.svg|\.csv)$", path)
    ending = own[1] if own else ".txt" if is_file else ".html"
    name = name.removesuffix(ending)
    return f"{_slug(run.name)}/{name if inner else 'index'}{ending}"


def _slug(text: str) -> str:
    return re.sub(r"[^\w.@~+-]+", "_", text, flags=re.ASCII).strip(".") or "_"
