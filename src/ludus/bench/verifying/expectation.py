"""The environment that a suite asks for, described as a recording of it must be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ludus.bench.planning.unit import Unit
from ludus.errors import ReplayImpossible
from ludus.record.format import canonical
from ludus.record.format.values import values_of
from ludus.record.replay.rebuild import check_arguments, find_registered
from ludus.record.replay.replay import EPISODES
from ludus.record.replay.subject import describe
from ludus.record.run.reader import RunReader
from ludus.registration.make_env import make
from ludus.registration.make_vec_env import make_vec

__all__ = ["environment_problems"]

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
