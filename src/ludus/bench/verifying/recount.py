"""Counts a recording again, and compares its episodes with those that the unit's budget asks for.

Nothing in the record is trusted. Episodes that are missing, cut short, too many, or started with
another seed or with options are reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ludus.bench.planning.plan import Unit
from ludus.errors import RecordDamaged, ReplayImpossible
from ludus.record.format import canonical
from ludus.record.format.values import values_of
from ludus.record.replay.episode_table import Episode, episodes
from ludus.record.replay.rebuild import check_arguments, find_registered
from ludus.record.replay.replay import EPISODES
from ludus.record.replay.subject import describe
from ludus.record.run.reader import RunReader
from ludus.registration.make_env import make
from ludus.registration.make_vec_env import make_vec
from ludus.registration.table import registry
from ludus.spaces import Box, Dict, Space, Tuple, from_dict

__all__ = ["Recount", "environment_problems", "most_rows", "recount", "size_problems"]


@dataclass(frozen=True, slots=True)
class Recount:
    """What the rows of a recording add up to.

    Attributes:
        returns: Of the episodes that count, in the order in which they ended.
        finished: Of all episodes that ended.
        steps: All steps.
        curve: Steps and return after each episode, of a single environment.
        problems: In which way this is not what the unit asks for.
    """

    returns: tuple[float, ...]
    finished: tuple[float, ...]
    steps: int
    curve: tuple[tuple[int, float], ...]
    problems: tuple[str, ...]


def recount(reader: RunReader, unit: Unit, *, stopped: str | None, whole: bool) -> Recount:
    """Count the episodes of a recording whose chain and blocks were checked.

    ``stopped`` is the limit that is said to have ended it early. Unless it must be ``whole``, a
    beginning is enough, as where the agent failed.

    Raises:
        RecordDamaged: The recording is broken.
    """
    count = unit.agent.num_envs
    if reader.manifest["subject"].get("num_envs") != count:
        raise RecordDamaged(f"the recording is not one of {count or 'a single'} environment(s)")
    found = list(episodes(reader, unfinished=True))
    problems = [*_resets(reader, unit, len(found), whole), *_seeds(found, unit), *_actions(reader)]
    counting = _Counting(unit)
    counts = [counting.take(episode) for episode in found]
    steps = sum(episode.length for episode in found)
    if whole:
        ending = _single_end if count is None else _batch_end
        problems += ending(found, counting, reader.rows, steps, stopped)
    ended = [(one, does) for one, does in zip(found, counts, strict=True) if one.is_finished]
    return Recount(
        returns=tuple(one.total_reward for one, does in ended if does),
        finished=tuple(one.total_reward for one, _ in ended),
        steps=steps,
        curve=tuple((one.first_row + one.length, one.total_reward) for one, _ in ended),
        problems=tuple(problems),
    )


class _Counting:
    """Which episodes count: in a batch, those within the share of their environment."""

    def __init__(self, unit: Unit) -> None:
        budget, count = unit.budget, unit.agent.num_envs or 1
        total = budget.episodes or budget.steps or 0
        self.unit = unit
        self.by_steps = budget.steps is not None
        self.shares = [total // count + (index < total % count) for index in range(count)]
        self.steps = [0] * count
        self.ends = [0] * count
        """The row after which each environment has played its share."""
        # With fewer steps than environments, each of them still plays an episode.
        self.done = [share == 0 and not self.by_steps for share in self.shares]

    def take(self, episode: Episode) -> bool:
        """Tell whether the next episode counts."""
        index = episode.env_index
        counts = not self.done[index]
        self.steps[index] += episode.length
        if episode.is_finished and counts:
            played = self.steps[index] if self.by_steps else episode.number + 1
            self.done[index] = played >= self.shares[index]
            self.ends[index] = episode.first_row + episode.length
        return counts


def _resets(reader: RunReader, unit: Unit, played: int, whole: bool) -> Iterator[str]:
    """Yield resets that no unit makes: an environment that starts elsewhere is another one."""
    made = 0
    for event in reader.events:
        if event.kind == "reset":
            if event.data["options"] is not None:
                yield f"reset {made} was made with options, {event.data['options']!r:.100}"
                return
            made += 1
    wanted = played if unit.agent.num_envs is None else 1
    # An agent may fail between a reset and the first step.
    if made != wanted and (whole or made != wanted + 1):
        yield f"it was reset {made} times, not {wanted}"


def _actions(reader: RunReader) -> Iterator[str]:
    """Yield actions that no agent can have made: an environment may take them, a unit does not.

    Whole numbers that are out of range are refused by the environment itself in the replay.
    """
    told = reader.manifest["subject"]["action_space"]
    if told is None:
        return
    space = from_dict(told)
    leaves = values_of("action", space).leaves
    for block in reader.blocks():
        for leaf in leaves:
            made, part = block[leaf.name], _part(space, leaf.path)
            # Whole numbers are stored in as few bytes as they need. The same number in another
            # precision, or as an unsigned integer, may move or pay differently.
            given, kind = made.dtype, leaf.dtype.kind
            if given != leaf.dtype and (kind == "f" or given.kind not in "biu"):
                yield f"an action is of dtype {given}, and units give it as {leaf.dtype}"
                return
            # Written so that a number which is none fails too.
            if isinstance(part, Box) and not ((made >= part.low) & (made <= part.high)).all():
                yield "an action lies outside of the action space, which is an agent's fault"
                return


def _part(space: Space[Any], path: tuple[Any, ...]) -> Space[Any]:
    for key in path:
        if isinstance(space, Dict | Tuple):
            space = space.spaces[key]
    return space


def _seeds(found: list[Episode], unit: Unit) -> Iterator[str]:
    for episode in found:
        number = episode.number if unit.agent.num_envs is None else episode.env_index
        first = unit.agent.num_envs is None or episode.number == 0
        if first and episode.seed != unit.env_seed(number):
            yield f"episode {episode.number} was not seeded as this unit is"
            return


def _single_end(
    found: list[Episode], counting: _Counting, rows: int, steps: int, stopped: str | None
) -> Iterator[str]:
    budget = counting.unit.budget
    cut = [episode.number for episode in found if not episode.is_finished]
    if cut and (stopped is None or cut != [found[-1].number]):
        yield f"episode {cut[0]} was not played to its end"
    if steps != rows:
        yield f"{rows - steps} of {rows} steps belong to no episode"
    if budget.max_steps is not None and steps > budget.max_steps:
        yield f"{steps} steps were made, and the budget has {budget.max_steps}"
    ended = [episode for episode in found if episode.is_finished]
    if budget.episodes is not None:
        asked, played, before = budget.episodes, len(ended), len(ended) - 1
        what = "episodes"
    else:
        asked, played = budget.steps or 0, steps
        before, what = steps - (found[-1].length if found else 0), "steps"
    if stopped is None and played < asked:
        yield f"{played} {what} were played, and the budget asks for {asked}"
    elif played > asked and before >= asked:
        yield f"{played} {what} were played, more than the budget's {asked}"
    if stopped is not None:
        yield from _early(counting.unit, stopped, steps, played >= asked and not cut, 1)


def _batch_end(
    found: list[Episode], counting: _Counting, rows: int, steps: int, stopped: str | None
) -> Iterator[str]:
    unit, unplayed = counting.unit, counting.done.count(False)
    if stopped is not None:
        yield from _early(unit, stopped, steps, not unplayed, len(counting.done))
    elif unplayed:
        yield f"{unplayed} of {len(counting.done)} environments did not play their share"
    elif rows != max(counting.ends):
        yield f"{rows} batched steps were made, and {max(counting.ends)} play what is asked for"
    if unit.budget.max_steps is not None and steps - len(counting.done) >= unit.budget.max_steps:
        yield f"{steps} steps were made, and the budget has {unit.budget.max_steps}"
    if not found:
        yield "nothing was played"


def _early(unit: Unit, stopped: str, steps: int, enough: bool, width: int) -> Iterator[str]:
    """Yield what is wrong with a limit that is said to have ended the unit early."""
    most = unit.budget.max_steps
    if enough:
        yield f"{stopped} is said to have ended it early, and all that is asked for was played"
    elif stopped == "max_steps":
        if most is None or not steps - width < most <= steps:
            yield f"max_steps is said to have ended it, after {steps} steps of {most}"
    elif stopped != "max_cost" or unit.budget.max_cost is None:
        yield f"{stopped!r:.40} is said to have ended it, which is no limit of this unit"


_MOST_ROWS = 10**9


def size_problems(reader: RunReader, unit: Unit) -> Iterator[str]:
    """Yield in which way a record is larger than the unit can have made it.

    Only events are read for that, no rows and no other files: constant columns and sparse files
    cost their sender almost nothing.

    Raises:
        RecordDamaged: The chain is broken.
        ReplayImpossible: The suite allows more rows than are read.
    """
    most, rows = most_rows(unit), 0
    for event in reader.events:
        if event.kind == "file":
            yield "it holds files of its own, and the record of a unit has none"
            return
        if event.kind == "block":
            rows += event.data["rows"]
            if rows > _MOST_ROWS:
                raise ReplayImpossible(f"a record of more than {_MOST_ROWS:,} rows is not read")
            if most is not None and rows > most:
                yield f"it has more than {most} rows, and the budget allows no more"
                return


def most_rows(unit: Unit) -> int | None:
    """Return how many rows playing a unit can record at most; ``None`` if that is not known."""
    budget, count = unit.budget, unit.agent.num_envs
    spec = registry.get(unit.env_id)
    limit = unit.max_episode_steps or unit.kwargs.get("max_episode_steps")
    if limit is None and spec is not None:
        limit = spec.max_episode_steps
    longest = limit if limit is not None and limit > 0 else None
    share = -(-(budget.episodes or budget.steps or 0) // (count or 1))
    bounds = []
    if longest is not None:
        bounds.append(share * longest if budget.episodes else share - 1 + longest)
    if budget.max_steps is not None:
        bounds.append(budget.max_steps)
    if not bounds:
        return None
    # In a batch, a call after the end of an episode only resets.
    return min(bounds) if count is None else 2 * min(bounds) + 1


_MOST_ENVS, _MOST_PROCESSES = 2**16, 64
_NOT_HERE = {"sandbox", "sandbox_options"}


def environment_problems(reader: RunReader, unit: Unit) -> Iterator[str]:
    """Yield every way in which a record is of another environment than the unit's.

    The unit's environment is made here and described as if it were about to be recorded: id,
    arguments, wrappers, time limit, number of environments, spaces, registration. A module that the
    suite names is not imported for that: a suite may come from anyone.

    Raises:
        ReplayImpossible: The environment is not registered here, or cannot be made.
    """
    if reader.manifest["kind"] != EPISODES:
        yield f"the record is of the kind {reader.manifest['kind']!r:.50}, not of episodes"
        return
    options = json.dumps([dict(unit.kwargs), unit.max_episode_steps], sort_keys=True)
    find_registered({"id": unit.env_id})
    expected = _described(unit.env_id, options, unit.agent.num_envs)
    subject = reader.manifest["subject"]
    for name in sorted(expected.keys() | subject.keys()):
        # As bytes: a list is no tuple, and True is not 1.
        wanted, found = expected.get(name, b"nothing"), canonical.dumps(subject.get(name))
        if wanted != found or name not in subject:
            yield (
                f"the record is of another environment than the suite's: {name} is "
                f"{_shown(found)}, and the suite's is {_shown(wanted)}"
            )


@lru_cache(maxsize=256)  # a suite has few environments, a run many units
def _described(env: str, options: str, num_envs: int | None) -> dict[str, bytes]:
    """Return the subject that a recording of the environment has, each field as canonical JSON."""
    kwargs, limit = json.loads(options)
    most = _MOST_PROCESSES if kwargs.get("vectorization_mode") == "async" else _MOST_ENVS
    if (num_envs or 1) > most or kwargs.keys() & _NOT_HERE or kwargs.get("render_mode") == "human":
        raise ReplayImpossible(
            f"{env} is not made here as the suite says: at most {most} environments at once, no "
            f"window, and none of the arguments {', '.join(sorted(_NOT_HERE))}."
        )
    check_arguments(find_registered({"id": env}), kwargs, num_envs)
    if limit is not None:
        kwargs["max_episode_steps"] = limit
    made: Any
    try:
        if num_envs is None:
            made = make(env, disable_env_checker=True, **kwargs)
        else:
            made = make_vec(env, num_envs=num_envs, **kwargs)
        with made:
            actions = values_of("action", made.action_space)
            observations = values_of("observation", made.observation_space)
            subject = describe(made, actions, observations, stored=False)
        return {name: canonical.dumps(value) for name, value in subject.items()}
    except Exception as problem:  # whatever the environment raises for a suite's arguments
        raise ReplayImpossible(
            f"{env} cannot be made as the suite says: {type(problem).__name__}: {problem}"
        ) from problem


def _shown(content: bytes) -> str:
    text = content.decode()
    return text if len(text) <= 120 else f"{text[:117]}..."
