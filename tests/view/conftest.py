"""One set of records, one server and one browser for all tests of the viewer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `view` is not installed")

from starlette.testclient import TestClient

from ludus.view import ViewSettings, create_app
from ludus.view.serving import listen, make_server
from tests.view import samples

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@dataclass(frozen=True)
class Site:
    """A folder of runs, and how to ask for its pages."""

    folder: Path
    client: TestClient

    def units(self, run: str) -> list[str]:
        """Return the units of a run."""
        return sorted(one.name for one in (self.folder / run / "records").iterdir())

    def episode(self, run: str = "first", place: int = 0) -> str:
        """Return the address of an episode."""
        name = run.replace("/", "~")
        return f"/run/{name}/e/{self.units(run)[place]}"

    def get(self, address: str, **headers: str) -> Any:
        """Return the answer to a request."""
        return self.client.get(address, headers=headers)

    def text(self, address: str) -> str:
        """Return a page that must be there."""
        answer = self.get(address)
        assert answer.status_code == 200, (address, answer.status_code, answer.text[-500:])
        return answer.text


def client_of(folder: Path, **settings: Any) -> TestClient:
    """Return a client of the viewer of a folder."""
    return TestClient(
        create_app(ViewSettings.of(folder, **settings)), base_url="http://127.0.0.1:8760"
    )


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("view") / "runs"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        samples.make_runs(folder, patch)
    samples.make_hostile(folder / "hostile")
    samples.make_large(folder / "large", 450)
    (folder.parent / "secret.txt").write_text("the secret")
    with client_of(folder) as client:
        yield Site(folder, client)


@pytest.fixture(scope="session")
def address(site):
    """A server of the same folder, for browsers."""
    settings = ViewSettings.of(site.folder, port=0)
    listening = listen(settings)
    settings = replace(settings, port=listening.getsockname()[1])
    server = make_server(settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{settings.port}"
    server.should_exit = True
    thread.join(10)
    listening.close()


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM.exists():
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as play:
        opened = play.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield opened
        opened.close()


class Opened:
    """A page in the browser that notes every error, and every request to somebody else.

    Args:
        browser: Where it is opened.
        url: Its address.
        routes: What is done with requests, by patterns of their addresses.
        width: Of the window.
        dark: Whether the reader wants dark colours.
    """

    def __init__(
        self,
        browser,
        url: str,
        routes: Mapping[str, Callable[[Any], None]] = MappingProxyType({}),
        *,
        width: int = 1280,
        dark: bool = False,
    ) -> None:
        scheme = "dark" if dark else "light"
        self.context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        self.page = self.context.new_page()
        self.problems: list[str] = []
        home = url.partition("://")[2].partition("/")[0]
        self.page.on("console", lambda one: self._note(one.type == "error", one.text))
        self.page.on("pageerror", lambda one: self._note(True, str(one)))
        self.page.on("dialog", lambda one: (self._note(True, one.message), one.dismiss()))
        self.page.on(
            "request",
            lambda one: self._note(
                one.url.partition("://")[2].partition("/")[0] != home, f"request: {one.url}"
            ),
        )
        for pattern, work in routes.items():
            self.page.route(pattern, work)
        self.page.goto(url)

    def _note(self, is_wrong: bool, text: str) -> None:
        if is_wrong:
            self.problems.append(text)

    def __enter__(self):
        return self

    def __exit__(self, *exc: object) -> None:
        self.context.close()
