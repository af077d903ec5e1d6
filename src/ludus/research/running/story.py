"""The contents of an episode's record: how far it has come, and its result.

The events of a record, in their order::

    open
    draws    {kind, nonce}                           what graders draw from, once and first
    earlier  {lives, steps, seconds, …}              used in abandoned records, if any
    tree     {files, left_out}                       the workspace before the first step
    ask      {n, call, messages, reply, …}           a model has answered, see conversation
    act      {n, action, thought, cost, state}       the agent has decided; or {n, stop, message}
    file     …                                       a file of the record, see log
    grading  {n, split, files}                       begun; its result is in the step
    tested   {outcome, …}                            result of the test, before its step is written
    step     {n, action, output, reward, …}          the action was executed
    end      {n, stop, …}                            the same where the agent stopped
    fault    {n, reason}                             the infrastructure failed; tried again
    result   {metric, value, outcome, …}
    close

A killed episode may have begun a step or a grading that never ended: it is repeated, and the record
shows both. The agent was told nothing of the first one.

An episode that cannot be resumed is restarted in a fresh sandbox. Its used steps, seconds, money
and validations still count: an agent that causes a fault gains no second budget. Each start is a
*life* of the episode.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from ludus.errors import RecordDamaged
from ludus.record import read_run
from ludus.record.format.event import EVENTS, Event
from ludus.research.episode.workspace_changes import LARGEST_TEXT
from ludus.research.grading.draws import Draws
from ludus.research.running.conversation import Asks
from ludus.research.task.outcome import Graded

__all__ = [
    "ABANDONED",
    "KIND",
    "OUTPUTS",
    "Story",
    "Used",
    "abandoned_records",
    "tell",
    "used_before",
    "used_in",
]

KIND = "research"
"""Of the runs that episodes are recorded as."""


ABANDONED = "abandoned"
"""The folder of records that could not be resumed."""
OUTPUTS = "outputs"
"""The folder of a record with outputs that are too long for an event."""


@dataclass(frozen=True, slots=True)
class Used:
    """What earlier lives of an episode have used.

    Attributes:
        lives: How many there were.
        steps: Actions that were decided on, whether or not their step was recorded.
        seconds: Of the episode's time.
        cost: What the agent has spent.
        validations: Completed ones.
        validation_faults: Those that failed because of the infrastructure.
        waited: Seconds of waiting for the agent's model.
    """

    lives: int = 0
    steps: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    validations: int = 0
    validation_faults: int = 0
    waited: float = 0.0

    @classmethod
    def from_plain(cls, data: Mapping[str, Any]) -> Self:
        """Return what :meth:`plain` returned; the data need not be trusted.

        Raises:
            TypeError: There are other fields, or other types.
            ValueError: A number is negative or not finite.
        """
        made = cls(**data)
        for name, value in made.plain().items():
            expected = float if name in ("seconds", "cost", "waited") else int
            if type(value) is not expected:
                raise TypeError(f"{name} is {value!r:.40}")
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is {value!r:.40}")
        return made

    def plain(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


@dataclass(slots=True)
class Story:
    """An episode, as far as it is recorded.

    Attributes:
        draws: What graders draw from; ``None`` until that is recorded.
        earlier: What abandoned records have used.
        steps: The data of each ``step``, and of the ``end``, in order.
        decided: The data of the ``act`` whose step is not recorded.
        last_act: The data of the last ``act``.
        gradings: The data of each ``grading``.
        handed_in: The data of the first ``grading`` on the test split. Nothing else is ever tested.
        tested: Its result, once that is known.
        files: The bytes of all stored files of the workspace, by their SHA-256.
        text_bytes: Bytes of those of them that are small.
        outputs: SHA-256 and bytes of stored outputs, by their paths.
        has_tree: Whether the first workspace is recorded.
        asks: The calls of the agent's model.
        faults: Infrastructure faults, in words.
        resumed: How often the record was continued.
        result: The data of the last ``result``.
        closed: When the record was closed, if it was.
    """

    draws: Draws | None = None
    earlier: Used = field(default_factory=Used)
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    decided: Mapping[str, Any] | None = None
    last_act: Mapping[str, Any] | None = None
    gradings: list[Mapping[str, Any]] = field(default_factory=list)
    handed_in: Mapping[str, Any] | None = None
    tested: Mapping[str, Any] | None = None
    files: dict[str, int] = field(default_factory=dict)
    text_bytes: int = 0
    outputs: dict[str, tuple[str, int]] = field(default_factory=dict)
    has_tree: bool = False
    asks: Asks = field(default_factory=Asks)
    faults: list[str] = field(default_factory=list)
    resumed: int = 0
    result: Mapping[str, Any] | None = None
    closed: str | None = None

    def take(self, event: Event) -> None:
        """Process the next event, which need not be trusted.

        Raises:
            RecordDamaged: It does not follow from the previous ones.
        """
        try:
            _TAKE.get(event.kind, _ignore)(self, event.data)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as problem:
            line = event.n + 1
            raise RecordDamaged(
                f"{EVENTS} line {line}: no event {event.kind!r} of an episode can be this one: "
                f"{problem}.",
                file=EVENTS,
                position=line,
            ) from problem
        self.closed = event.time if event.kind == "close" else None

    @property
    def is_over(self) -> bool:
        """Whether the work was graded, or could not be."""
        return bool(self.steps) and bool(self.steps[-1].get("final"))

    @property
    def rewards(self) -> list[float]:
        """Of all steps."""
        return [float(step["reward"]) for step in self.steps]

    @property
    def final(self) -> Graded | None:
        """The test, if the episode is over."""
        return Graded.from_plain(self.steps[-1]["final"]) if self.is_over else None

    @property
    def validations(self) -> list[tuple[int, Graded]]:
        """Those that were carried out, each with the number of its step."""
        graded = [(step["n"], step["graded"]) for step in self.steps if step.get("graded")]
        made = [(n, Graded.from_plain(one)) for n, one in graded]
        return [(n, one) for n, one in made if one.outcome.kind != "infrastructure_fault"]

    @property
    def validation_faults(self) -> int:
        """How many validations could not be carried out, for no fault of the agent."""
        return sum(bool(step.get("graded")) for step in self.steps) - len(self.validations)


def tell(events: Iterable[Event]) -> Story:
    """Return the story of events, which need not be trusted.

    Raises:
        RecordDamaged: They do not follow from each other.
    """
    story = Story()
    for event in events:
        story.take(event)
    return story


def _draws(story: Story, data: Mapping[str, Any]) -> None:
    if story.draws is not None or story.last_act is not None or story.gradings:
        raise ValueError("what graders draw from is known from the beginning")
    story.draws = Draws.from_plain(dict(data))


def _earlier(story: Story, data: Mapping[str, Any]) -> None:
    if story.earlier.lives or story.last_act is not None or story.gradings:
        raise ValueError("what was used before is known from the beginning")
    story.earlier = Used.from_plain(data)


def _ask(story: Story, data: Mapping[str, Any]) -> None:
    _check_number(story, data)
    if story.decided is not None:
        raise ValueError("the agent has decided already")
    story.asks.take(data)


def _act(story: Story, data: Mapping[str, Any]) -> None:
    _check_number(story, data)
    story.decided = story.last_act = data
    story.asks.decided()


def _step(story: Story, data: Mapping[str, Any]) -> None:
    _check_number(story, data)
    if story.decided is None:
        raise ValueError("nobody has decided on it")
    for name in ("action", "stop"):
        if data.get(name) != story.decided.get(name):
            raise ValueError(f"its {name} is not what was decided on")
    _ = float(data["reward"])
    for name in ("graded", "final"):
        if data.get(name) is not None:
            _ = data[name]["outcome"]
    story.steps.append(data)
    story.decided = None


def _check_number(story: Story, data: Mapping[str, Any]) -> None:
    if story.result is not None or story.is_over:
        raise ValueError("the episode is over")
    if data["n"] != len(story.steps):
        raise ValueError(f"it has number {data['n']!r:.20} after {len(story.steps)} steps")


def _grading(story: Story, data: Mapping[str, Any]) -> None:
    _ = data["n"], data["split"], data["files"]
    story.gradings.append(data)
    if data["split"] == "test":
        if story.handed_in is not None and story.handed_in["files"] != data["files"]:
            raise ValueError("other files were tested before")
        story.handed_in = data


def _tested(story: Story, data: Mapping[str, Any]) -> None:
    if story.handed_in is None or story.tested is not None:
        raise ValueError("nothing is being tested")
    _ = data["outcome"]
    story.tested = data


def _file(story: Story, data: Mapping[str, Any]) -> None:
    path, digest, size = data["path"], data["sha256"], data["bytes"]
    if path.startswith(f"{OUTPUTS}/"):
        story.outputs[path] = (digest, size)
    elif not story.asks.file(data):
        story.files[digest] = size
        story.text_bytes += size if size <= LARGEST_TEXT else 0


def _tree(story: Story, _: Mapping[str, Any]) -> None:
    if story.has_tree or story.steps:
        raise ValueError("the first workspace is known before the first step, once")
    story.has_tree = True


def _fault(story: Story, data: Mapping[str, Any]) -> None:
    story.faults.append(str(data["reason"]))


def _resume(story: Story, _: Mapping[str, Any]) -> None:
    story.resumed += 1


def _result(story: Story, data: Mapping[str, Any]) -> None:
    if story.result is not None:
        raise ValueError("there is a result already")
    _ = data["outcome"], data["unit"]
    story.result = data


def _ignore(*_: object) -> None:
    pass


_TAKE = {
    "act": _act,
    "ask": _ask,
    "draws": _draws,
    "earlier": _earlier,
    "end": _step,
    "fault": _fault,
    "file": _file,
    "grading": _grading,
    "result": _result,
    "resume": _resume,
    "step": _step,
    "tested": _tested,
    "tree": _tree,
}


def used_in(story: Story, events: Iterable[Event]) -> Used:
    """Return what an episode has used at the end of a life, earlier ones included.

    A decision whose step is not recorded counts as a step: it may be what ended the life.
    """
    last = story.steps[-1] if story.steps else {}
    decided, before = story.decided or {}, story.earlier
    return Used(
        lives=before.lives + 1,
        steps=before.steps + sum("action" in one for one in (*story.steps, decided)),
        seconds=float(last.get("spent", before.seconds)) + _pending(events, len(story.steps)),
        cost=float(last.get("cost", before.cost))
        + (float(decided.get("cost", 0.0)) if decided else story.asks.cost),
        waited=float(last.get("waited", before.waited)),
        validations=before.validations + len(story.validations),
        validation_faults=before.validation_faults + story.validation_faults,
    )


def abandoned_records(folder: str | Path, unit: str) -> list[Path]:
    """Return the abandoned records of a unit in a run's folder, in their order."""
    found: list[Path] = []
    while (path := Path(folder, ABANDONED, f"{unit}-{len(found) + 1}")).exists():
        found.append(path)
    return found


def used_before(folder: str | Path, unit: str) -> Used:
    """Return what the abandoned lives of a unit have used.

    Raises:
        RecordError: The record of one is damaged.
    """
    paths = abandoned_records(folder, unit)
    if not paths:
        return Used()
    events = list(read_run(paths[-1]).events)
    return used_in(tell(events), events)


def _pending(events: Iterable[Event], number: int) -> float:
    """Return the seconds from a decision without a step to the last event before a resumption."""
    since = until = None
    for event in events:
        if event.kind == "act" and event.data.get("n") == number:
            since = event.time
        if since is not None:
            if event.kind == "resume":
                break
            until = event.time
    if since is None or until is None:
        return 0.0
    passed = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return max(0.0, passed.total_seconds())
