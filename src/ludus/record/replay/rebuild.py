"""Builds the environment of a recording again from its manifest.

A manifest may come from an attacker. Which code runs is decided here: an id leads to what is
registered on this machine, a wrapper to a class of Ludus or of a module that is imported already.
Arguments are data, but some environments open the file that an argument names, or run it; such
arguments are refused.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ludus.core.env import Env
from ludus.core.foreign.env import gymnasium_wrappers, wrap
from ludus.core.spec import EnvSpec
from ludus.core.vector_env import VectorEnv
from ludus.core.vector_wrapper import VectorWrapper
from ludus.core.wrapper import Wrapper
from ludus.errors import Error, ReplayImpossible
from ludus.record.replay.subject import AnyEnv, is_onlooker, layers_of
from ludus.registration.lookup import spec as registered_spec
from ludus.registration.make_env import make
from ludus.registration.make_vec_env import make_vec
from ludus.served_names import own_name

__all__ = ["check_arguments", "find_registered", "rebuild"]


_MOST_ENVS = 2**20
_MOST_PROCESSES = 256
_FORMS: dict[str, tuple[type, ...]] = {
    "id": (str, type(None)),
    "num_envs": (int, type(None)),
    "autoreset_mode": (str, type(None)),
    "kwargs": (dict,),
    "wrappers": (list,),
    "unreplayable": (str, type(None)),
}


def find_registered(subject: Mapping[str, Any]) -> EnvSpec:
    """Return the spec of a recording's id here; raises ``ReplayImpossible`` if there is none."""
    env_id = subject.get("id")
    if not isinstance(env_id, str) or ":" in env_id:
        raise ReplayImpossible(
            f"The recording names no environment that could be built: its id is {env_id!r:.100}."
        )
    try:
        return registered_spec(env_id)
    except (Error, ImportError) as problem:
        raise ReplayImpossible(
            f"{env_id} is not known here, so it cannot be executed again. {problem} Import or "
            "install the package that registers it."
        ) from None


def rebuild(
    subject: Mapping[str, Any], *, render_mode: str | None = None, checked: bool = False
) -> AnyEnv:
    """Build the environment of a recording again; raises ``ReplayImpossible`` with the reason.

    Args:
        subject: Of the recording's manifest.
        render_mode: Takes the place of the recorded one.
        checked: Include the recorded wrappers that only check or count, so that states fit an
            environment that was built as the recorded one was.
    """
    for name, kinds in _FORMS.items():
        if not isinstance(subject.get(name), kinds):
            raise ReplayImpossible(f"The manifest's subject has no proper field {name!r}.")
    if subject["unreplayable"] is not None:
        raise ReplayImpossible(
            f"The environment cannot be built again: {subject['unreplayable']!r:.500}. Pass "
            "env_factory to build it yourself."
        )
    spec = find_registered(subject)
    if spec.nondeterministic:
        raise ReplayImpossible(f"{spec.id} is registered as nondeterministic.")
    check_arguments(spec, subject["kwargs"], subject["num_envs"])
    try:
        if subject["num_envs"] is None:
            return _single(spec, subject, render_mode, checked=checked)
        return _vector(spec, subject, render_mode, checked=checked)
    except ReplayImpossible:
        raise
    except Exception as problem:  # constructors of environments and wrappers
        raise ReplayImpossible(
            f"{spec.id} cannot be built as it was recorded: {type(problem).__name__}: {problem}"
        ) from problem


def _single(
    spec: EnvSpec, subject: Mapping[str, Any], render_mode: str | None, *, checked: bool
) -> Env[Any, Any]:
    bare = dataclasses.replace(
        spec,
        kwargs=_without_window(subject["kwargs"], render_mode),
        max_episode_steps=None,
        order_enforce=False,
        disable_env_checker=True,
        additional_wrappers=(),
    )
    env: Any = make(bare)
    built = layers_of(env)  # by the entry point itself
    for layer, row in zip(built, subject["wrappers"], strict=False):
        own = f"{type(layer).__module__}:{type(layer).__qualname__}"
        if own != _point(row):
            raise ReplayImpossible(f"{spec.id} comes with the wrapper {own}, not {_point(row)}.")
    for row in subject["wrappers"][len(built) :]:
        env = _wrapped(env, row, Wrapper, _points(spec), checked=checked)
    return env  # type: ignore[no-any-return]


def _vector(
    spec: EnvSpec, subject: Mapping[str, Any], render_mode: str | None, *, checked: bool
) -> VectorEnv[Any, Any, Any]:
    kwargs = _without_window(subject["kwargs"], render_mode)
    count = subject["num_envs"]
    limit = _MOST_PROCESSES if kwargs.get("vectorization_mode") == "async" else _MOST_ENVS
    if not 0 < count <= limit or kwargs.get("num_envs", 1) != count:
        raise ReplayImpossible(f"{count} environments are not built for a replay; at most {limit}.")
    wrappers = kwargs.pop("wrappers", [])
    inner = [*subject.get("spec_wrappers", []), *wrappers]
    recorded = dataclasses.replace(
        spec,
        kwargs=kwargs,
        max_episode_steps=subject.get("max_episode_steps"),
        additional_wrappers=(),
        disable_env_checker=spec.disable_env_checker if checked else True,
    )
    known = _points(spec)
    around = [_Wrapping(row, known) for row in inner if not is_onlooker(_point(row))]
    env: Any = make_vec(recorded, wrappers=around or None)
    for row in subject["wrappers"]:
        env = _wrapped(env, row, VectorWrapper, known, checked=checked)
    return env  # type: ignore[no-any-return]


class _Wrapping:
    """A wrapper to be applied later; picklable, for worker processes."""

    def __init__(self, row: Mapping[str, Any], known: set[str]) -> None:
        self._row = row
        self._known = known

    def __call__(self, env: Env[Any, Any]) -> Env[Any, Any]:
        return _wrapped(env, self._row, Wrapper, self._known)  # type: ignore[no-any-return]


def _points(spec: EnvSpec) -> set[str]:
    """Return the wrappers that an environment is registered with on this machine."""
    return {own_name(wrapper.entry_point) for wrapper in spec.additional_wrappers}


def _point(row: Any) -> str:
    point = row.get("entry_point") if isinstance(row, dict) else None
    if not isinstance(point, str) or not isinstance(row.get("kwargs"), dict):
        raise ReplayImpossible(f"A wrapper is described as {row!r:.200}, which cannot be built.")
    return own_name(point)


def _wrapped(
    env: Any, row: Mapping[str, Any], base: type[Any], known: set[str], *, checked: bool = False
) -> Any:
    point = _point(row)
    module, _, attribute = point.partition(":")
    kept = checked and attribute in _HARMLESS
    if is_onlooker(point) and not kept:
        return env
    if module.startswith("ludus.wrappers.") or point in known:
        importlib.import_module(module)
    elif module.partition(".")[0] == "ludus":
        module = ""  # None of its other parts is made for this.
    found: Any = getattr(sys.modules.get(module), attribute, None)
    bases = (base, *gymnasium_wrappers()) if base is Wrapper else (base,)
    if not (isinstance(found, type) and issubclass(found, bases)):
        raise ReplayImpossible(
            f"The wrapper {row.get('name')!r:.100} ({point!r:.200}) is none of Ludus, nor of a "
            "module that is imported. Import its module first (ludus replay --import MODULE)."
        )
    if is_onlooker(f"{found.__module__}:{found.__name__}") and not kept:
        return env
    return wrap(env, found, row["kwargs"])


_HARMLESS = frozenset({"PassiveEnvChecker", "RecordEpisodeStatistics"})
"""Wrappers that change nothing, draw nothing and write nothing."""


def _without_window(kwargs: Mapping[str, Any], render_mode: str | None) -> dict[str, Any]:
    kept = dict(kwargs)
    if render_mode is not None:
        kept["render_mode"] = render_mode
    if kept.get("render_mode") == "human":
        del kept["render_mode"]
    return kept


_NAMING = frozenset({"xml_file", "engine_options"})
"""Arguments of Ludus's own environments that name files or programs."""
_PATH = frozenset("/\\\0")
_MOST_TEXT = 10_000
_MOST_SYNC = 4096
_MOST = 1000
"""The largest whole number: it may be a size, or how often something is done in each step."""


def check_arguments(spec: EnvSpec, kwargs: Mapping[str, Any], num_envs: int | None = None) -> None:
    """Refuse arguments by which a stranger could reach files and programs of this machine.

    Whatever the environment is registered with here is allowed. So are numbers, except whole ones
    by which it could fill the memory or never return from a step. Texts are allowed unless they
    look like a path, name a file that exists, or belong to an argument that names files. What
    environments of other packages do with a text is unknown: there, one with a colon, which may
    name something to import, is refused as well.

    Raises:
        ReplayImpossible: An argument is not allowed; the message names it.
    """
    own = spec.security.trust == "builtin"
    for name, value in kwargs.items():
        if name in spec.kwargs and spec.kwargs[name] == value:
            continue
        texts = [] if name == "wrappers" else list(_texts(value))  # these are chosen elsewhere
        # Of limits, a larger one costs nothing by itself.
        if not name.startswith("max_") and any(abs(one) > _MOST for one in _counts(value)):
            _refuse(spec, name, value, f"has a number beyond {_MOST}")
        if name in _NAMING and value is not None:
            _refuse(spec, name, value, "names a file or a program")
        if sum(map(len, texts)) > _MOST_TEXT:
            _refuse(spec, name, value, f"has more than {_MOST_TEXT} characters")
        refused = _PATH if own else _PATH | {":"}
        if any(not refused.isdisjoint(text) or os.path.lexists(text) for text in texts):
            _refuse(spec, name, value, "could lead to a file or a module")
    if kwargs.get("vectorization_mode") == "sync" and (num_envs or 1) > _MOST_SYNC:
        raise ReplayImpossible(
            f"{num_envs} environments {spec.id} one after the other are not built here; at most "
            f"{_MOST_SYNC}."
        )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from (*_texts(key), *_texts(part))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)


def _counts(value: Any) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, float) and value.is_integer() and math.isfinite(value):
        yield int(value)
    elif isinstance(value, Mapping):
        yield from _counts(list(value.values()))
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _counts(part)


def _refuse(spec: EnvSpec, name: str, value: Any, reason: str) -> None:
    raise ReplayImpossible(
        f"{spec.id} is not built with {name}={value!r:.100}: that {reason}. If you trust where it "
        "comes from, build the environment yourself: pass env_factory."
    )
