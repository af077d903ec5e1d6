"""Episodes that are being recorded: new steps appear, and a killed one is shown as interrupted."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from ludus.view.episodes.live import Look, Watched, Watchers
from ludus.view.pages.live import _steps
from tests.view.conftest import Opened

WRITER = """
    import sys
    from pathlib import Path
    from ludus.record import Run
    from tests.view import samples

    path = Path(sys.argv[1])
    run = Run.create(path, kind="research", subject=samples.subject())
    samples.add_step(run, 0, action="echo begin")
    n = 1
    print("ready", flush=True)
    for line in sys.stdin:
        if line == "act\\n":
            data = {"n": n, "action": f"echo {n}", "thought": "", "cost": 0.0, "state": None}
            run.append("act", data)
            (path / "partial.txt").write_text("halfway\\n")
        elif line == "step\\n":
            run.append("step", samples.step(n, action=f"echo {n}", output=f"said {n}\\n"))
            (path / "partial.txt").unlink()
            n += 1
        print("done", flush=True)
"""
ROOT = Path(__file__).parents[2]


def in_a_loop(work):
    """Run a coroutine in a thread: the browser's library has an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


class Writer:
    """A process that records an episode, a step when it is told to."""

    def __init__(self, path: Path) -> None:
        self.page = f"run/{path.name}/e/record"
        self.process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(WRITER), str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        assert self.process.stdout.readline() == "ready\n"

    def do(self, what: str) -> None:
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def writer(site, request):
    made = Writer(site.folder / request.node.name)
    yield made
    made.kill()


def test_an_episode_is_watched(writer, address, browser):
    time.sleep(2.1)  # the library looks for new runs every two seconds
    with Opened(browser, f"{address}/{writer.page}") as opened:
        page = opened.page
        assert page.locator("#steps > li").count() == 1
        assert page.locator("#state").inner_text() == "running"
        page.locator("#now").filter(has_text="decides").wait_for(timeout=10_000)
        writer.do("act")
        page.locator("#now", has_text="halfway").wait_for(timeout=10_000)
        for n in (1, 2, 3):
            writer.do("step")
            page.locator("#steps > li", has_text=f"said {n}").wait_for(timeout=10_000)
            writer.do("act")
        assert page.locator("#steps > li").count() == 4
        writer.kill()
        page.locator("#state", has_text="interrupted").wait_for(timeout=10_000)
        page.locator("#following", has_text="not running any more").wait_for(timeout=10_000)
        assert opened.problems == []


def test_a_page_whose_scripts_come_late_is_told_of_what_is_new(writer, address, browser):
    def later(route):
        time.sleep(1)
        route.continue_()

    time.sleep(2.1)  # the library looks for new runs every two seconds
    with Opened(browser, f"{address}/{writer.page}", {"**/hx-sse*": later}) as opened:
        assert opened.page.locator("#state").inner_text() == "running"
        writer.do("act")
        opened.page.locator("#now", has_text="halfway").wait_for(timeout=10_000)
        assert opened.problems == []


def test_a_record_is_read_once_for_all_who_watch():
    looks = []

    def look(number: int) -> Look | None:
        looks.append(number)
        if len(looks) < 3:
            return None
        return Look(number, [f"step {number}"], "now", is_over=number == 2)

    async def watch(watchers):
        async with watchers.watching("key", lambda: Watched(look, 0)) as watched:
            seen, version = [], 0
            while not watched.is_over:
                assert await watched.changed(version, 10)
                version = watched.version
                seen += watched.since(len(seen))
            return seen

    async def all_of_them():
        watchers = Watchers()
        found = await asyncio.gather(*(watch(watchers) for _ in range(50)))
        assert watchers.count == 0
        return found

    found = in_a_loop(all_of_them())
    assert found == [["step 0", "step 1", "step 2"]] * 50
    assert looks == [0, 0, 0, 1, 2]


def test_a_failure_to_read_ends_the_watching():
    def look(_: int) -> Look | None:
        raise RuntimeError("gone")

    async def watch():
        async with Watchers().watching("key", lambda: Watched(look, 0)) as watched:
            assert await watched.changed(0, 10)
            return watched.has_failed

    assert in_a_loop(watch())


def test_a_step_that_a_page_has_already_is_not_sent_again():
    has_come = asyncio.Event()

    def look(number: int) -> Look | None:
        steps = ["step 0"] if has_come.is_set() and not number else []
        return Look(number, steps, "now", is_over=number == 1)

    async def watch():
        watchers, sent = Watchers(), []
        async for text in _steps(watchers, "key", lambda: Watched(look, 0), 1):
            sent.append(text)
            has_come.set()
        return sent

    sent = in_a_loop(watch())
    assert [text.split("\n")[0] for text in sent[:-1]] == ["id: 1"] * (len(sent) - 1)
    assert sent[-1].startswith("event: over")
    assert "step 0" not in "".join(sent)


def test_a_reader_ends_with_the_last_who_watches_even_if_it_began_later():
    async def watch():
        watchers, is_over = Watchers(), True
        make = partial(Watched, lambda number: Look(number, is_over=is_over), 0)
        async with watchers.watching("key", make) as first:
            await first.changed(0, 10)
            await asyncio.sleep(0.5)
            is_over = False
            async with watchers.watching("key", make) as second:
                assert second is not first
                await second.changed(0, 10)
        await asyncio.sleep(0)
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert in_a_loop(watch()) == []


def test_a_stream_of_what_a_resumption_has_cut(site):
    with site.client.stream("GET", "/run/large/e/record/live?after=451") as answer:
        assert "".join(answer.iter_text()) == "event: reload\ndata: .\n\n"
    with site.client.stream("GET", "/run/large/e/record/live?after=448") as answer:
        text = "".join(answer.iter_text())
    assert text.count('id="step-') == 2
    assert text.endswith("event: over\ndata: .\n\n")
