"""One research episode: a scripted model on a local server, an agent, a sandbox, a grade.

The server speaks HTTP like real ones, and nothing leaves this machine.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from ludus.bench.result import Result
from ludus.bench.running.runner import RunSettings
from ludus.distribution import pip_install
from ludus.errors import PolicyNotEnforceable, SandboxError
from ludus.record import read_run
from ludus.research.episode.agent_sandbox import agent_policy
from ludus.research.model_server.policies import Call, Reaction, by_step
from ludus.research.model_server.server import ModelServer
from ludus.research.running import EpisodeOptions, parse_agent, run_research
from ludus.research.running.story import Story, tell
from ludus.research.task.discovery import load_task
from ludus.sandbox import open_sandbox

__all__ = ["TASK", "DemoSkipped", "ResearchDemo", "research_episode"]

TASK = "battleOfSexes"
_MARK = "Two players choose 0 or 1"
_STUBBORN = '''\
def strategy(mine, theirs):
    """Insist on what pays most: the other player follows the first move."""
    return 0
'''
_SCRIPT: tuple[Reaction, ...] = (
    Call("shell", {"command": "cat README.md"}, "First the rules, and what is known of the other."),
    Call(
        "shell",
        {"command": f"cat > strategy.py <<'END'\n{_STUBBORN}END\npython try_it.py"},
        "It gives way to what I showed at first, so I always show 0.",
    ),
    Call("validate", {}, "Does that beat the baseline?"),
    Call("submit", {}, "It does."),
)
_LONGEST = 60


class DemoSkipped(Exception):
    """There can be no episode on this machine; the message says why."""


@dataclass(frozen=True, slots=True)
class ResearchDemo:
    """The result of the demo.

    Attributes:
        rows: For a table: thought, action and reward of each step.
        summary: The outcome, in a sentence.
        record: The folder of the record, for ``ludus verify``.
    """

    rows: tuple[tuple[str, str, str], ...]
    summary: str
    record: Path


def research_episode(folder: Path) -> ResearchDemo:
    """Let a scripted model solve a small task in the default sandbox, and grade its work.

    Args:
        folder: Of the run; it must not exist.

    Raises:
        DemoSkipped: No isolating sandbox works here, or a package is missing.
        Error: The episode failed.
    """
    if importlib.util.find_spec("openai") is None:
        raise DemoSkipped(f"the agent needs the package openai; {pip_install('research')}")
    options = _possible_options()
    with ModelServer(by_step({_MARK: _SCRIPT})) as server:
        options = options.model_copy(update={"base_url": server.base_url})
        done = run_research(
            [TASK],
            [parse_agent("react", {"model": server.model})],
            out=folder,
            runs=1,
            options=options,
            settings=RunSettings(engine="serial"),
        )
    result = done.results[0]
    if result.record is None:
        raise DemoSkipped(result.reason or "the episode failed")
    record = done.folder / result.record
    return ResearchDemo(_rows(tell(read_run(record).events)), _summary(result), record)


def _possible_options() -> EpisodeOptions:
    """Return how episodes can be played here: with all limits, or without some."""
    task = load_task(TASK)
    for options in (EpisodeOptions(), EpisodeOptions(unlimited=True)):
        try:
            open_sandbox(agent_policy(task, options.policy)).close()
        except PolicyNotEnforceable as problem:
            reason = str(problem)
        except SandboxError as problem:
            raise DemoSkipped(f"no sandbox that isolates works here: {problem}") from problem
        else:
            return options
    raise DemoSkipped(f"no sandbox here can be held to what the task asks for: {reason}")


def _rows(story: Story) -> tuple[tuple[str, str, str], ...]:
    rows = []
    for step in story.steps:
        action = step.get("action", "")
        if isinstance(action, dict):
            action = str(action["tool"])
        line = action.partition("\n")[0]
        shown = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
        rows.append((str(step.get("thought", "")), shown, f"{step['reward']:+.3f}"))
    return tuple(rows)


def _summary(result: Result) -> str:
    scale = load_task(TASK).scale
    if result.score is None:
        counted = scale.counted(result.outcome, result.score)
        worth = "does not count" if counted is None else f"counts as {counted:g}"
        return f"The work has no score and {worth}: {result.reason}"
    return (
        f"Graded on games that it never saw: {result.score:.3f} (baseline {scale.baseline:g}, "
        f"goal {scale.threshold:g}), normalised {float(str(result.extra['normalised'])):.2f}, in "
        f"{result.steps} steps and {result.seconds:.1f} s."
    )
