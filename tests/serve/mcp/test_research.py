"""A research task from the first look to the verified record, by the official client."""

from __future__ import annotations

import asyncio
import re
import time
from pathlib import Path

import mcp
import pytest

from ludus.record import read_run
from ludus.research.running.verification import verify_episode
from tests.research.env_support import LOOSE
from tests.research.support import SAMPLES
from tests.serve.mcp.support import ERAS, run, served_sides, started, text_of

GUESS = SAMPLES / "guess_number"
NAME = f"research/{GUESS}"
GOOD = (GUESS / "reference" / "guess.py").read_text()
UNLIMITED = bool(LOOSE)
OPTIONS = {"unlimited": UNLIMITED, "backend": "bubblewrap"}


async def solve(call) -> list[str]:
    """Look, write a solution, have it validated and hand it in; return what was said."""
    said = []
    for tool, arguments in (
        ("shell", {"command": "cat guess.py; x=5"}),
        ("create", {"path": "better.py", "text": GOOD}),
        ("shell", {"command": "mv better.py guess.py; echo $x"}),
        ("open", {"path": "guess.py", "line": "one"}),
        ("jobs", {"action": "list"}),
        ("validate", {}),
        ("submit", {}),
    ):
        result = await call(tool, arguments)
        assert not result.is_error, result.content
        said.append(text_of(result))
    return said


def check_said(said: list[str]) -> None:
    assert "return low" in said[0]
    assert said[2].startswith("5\n")
    assert "expected a whole number" in said[3]
    found = re.search(r"Validation 1 of 3: guesses = (\S+) ", said[5])
    assert found
    # What graders draw from is not foreseen: the solution needs about four guesses.
    assert 3 < float(found[1]) < 6
    assert "The episode is over" in said[6]
    # Nothing of the test.
    assert f"validation score: {found[1]}" in said[6]
    assert "scored" not in said[6]


def check_record(out: Path, actions: int = 7) -> dict:
    """Verify the only record below a folder; return the result that it holds."""
    (record,) = out.glob("*/records/*")
    checked = verify_episode(record, task=GUESS, backend="bubblewrap", unlimited=UNLIMITED)
    statuses = {check.name: check.status for check in checked.checks}
    assert statuses.pop("signature") == "skipped"
    assert set(statuses.values()) == {"passed"}, checked.checks
    events = list(read_run(record).events)
    assert sum(event.kind == "act" for event in events) == actions
    return next(event.data for event in events if event.kind == "result")


def test_over_http_in_the_stateless_era(tmp_path):
    async def work() -> None:
        kept = tmp_path / "out"
        async with served_sides(NAME, tmp_path, ERAS[1], out=kept, kwargs=OPTIONS) as (both, *_):
            begun = await both.ask("new_episode", seed=3)
            assert "guess(low, high, answers)" in begun["instructions"]
            assert (
                "mean number of guesses"
                in (await both.agent.read_resource("task://research/guessNumber/instructions"))
                .contents[0]
                .text
            )
            names = {tool.name for tool in (await both.agent.list_tools()).tools}
            assert {"shell", "open", "edit", "validate", "submit", "jobs"} <= names
            episode = begun["episode"]
            check_said(
                await solve(
                    lambda tool, given: both.agent.call_tool(tool, {"episode": episode, **given})
                )
            )
            told = await both.ask("close", episode=episode)
            assert told["info"]["outcome"] == "scored"
            assert told["info"]["score"] == pytest.approx(4.4, abs=1.2)
            assert told["total_reward"] == pytest.approx(told["info"]["normalised_score"])
        assert check_record(kept)["normalised"] == told["info"]["normalised_score"]

    run(work(), 250)


def test_over_stdio_with_initialize(tmp_path):
    async def work() -> None:
        options = [f"--kwarg={name}={str(value).lower()}" for name, value in OPTIONS.items()]
        options[-1] = '--kwarg=backend="bubblewrap"'
        given = started(NAME, "--seed", "3", "--out", str(tmp_path / "out"), *options)
        async with mcp.Client(given, mode="legacy") as agent:
            assert "guess(low, high, answers)" in agent.instructions
            check_said(await solve(agent.call_tool))

    run(work(), 250)
    assert check_record(tmp_path / "out")["outcome"] == "scored"


def test_rewards_of_the_test_stay_with_the_operator(tmp_path):
    async def work() -> None:
        async with served_sides(NAME, tmp_path, rewards=True, kwargs={"policy": LOOSE}) as (
            both,
            *_,
        ):
            episode = await both.begin(seed=0)
            first = await both.agent.call_tool("shell", {"episode": episode, "command": "true"})
            assert first.structured_content["reward"] == 0.0
            last = await both.agent.call_tool("submit", {"episode": episode})
            assert last.structured_content["reward"] is None
            assert last.structured_content["terminated"] is True
            told = await both.ask("observe", episode=episode)
            assert told["reward"] == told["info"]["normalised_score"] == -1.0

    run(work(), 250)


def test_work_that_is_not_handed_in_is_graded_when_the_operator_closes(tmp_path):
    async def work() -> None:
        kept = tmp_path / "out"
        async with served_sides(NAME, tmp_path, out=kept, kwargs=OPTIONS) as (both, *_):
            episode = await both.begin(seed=3)
            await both.agent.call_tool("shell", {"episode": episode, "command": "true"})
            told = await both.ask("close", episode=episode)
            assert (told["truncated"], told["info"]["outcome"]) == (True, "scored")
            assert (await both.operator.call_tool("save", {"episode": episode})).is_error
        assert check_record(kept, actions=2)["outcome"] == "scored"

    run(work(), 250)


def test_work_that_is_not_handed_in_is_graded_when_the_connection_ends(tmp_path):
    async def work() -> None:
        given = started(
            NAME, "--out", str(tmp_path / "out"), f"--kwarg=unlimited={str(UNLIMITED).lower()}"
        )
        async with mcp.Client(given, mode=ERAS[1]) as agent:
            await agent.call_tool("shell", {"command": "true"})
        # Clients wait seconds for a server to end; grading may take longer.
        deadline = time.monotonic() + 150
        while not list((tmp_path / "out").glob("*/results/*")):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)

    run(work(), 250)
    assert check_record(tmp_path / "out", actions=2)["outcome"] == "scored"
