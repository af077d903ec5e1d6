"""State files: a state as plain data, with a description of its environment."""

from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from ludus.codec.decoding import decode
from ludus.codec.encoding import digest, encode
from ludus.codec.limits import Limits
from ludus.codec.sealed_file import read_sealed, write_sealed
from ludus.core.types import State
from ludus.errors import CodecError, CustomSpaceError, StateError, StateFileError
from ludus.spaces.errors import SpaceValueError
from ludus.version import __version__

__all__ = ["STATE_LIMITS", "load_state", "save_state"]

STATE_LIMITS = Limits(
    total_bytes=2**30,
    depth=100,
    items=5_000_000,
    string_bytes=2**28,
    array_bytes=2**30,
)
"""Default limits of a state: one gibibyte."""

_MARK, _FORMAT = b"\x93LUDUST\n", 1

_TEXT = reprlib.Repr()
_TEXT.maxstring = 200

_COMPARED = {
    "env": "id",
    "num_envs": "number of environments",
    "layers": "environment and wrappers",
    "arguments": "arguments",
    "observation_space": "observation space",
    "action_space": "action space",
}
"""Fields that must be equal in the file and the environment, and their names in errors."""


def save_state(
    env_or_state: Any, path: str | os.PathLike[str], *, limits: Limits = STATE_LIMITS
) -> None:
    """Write the state of an environment, or one that ``get_state`` returned, to a file.

    An environment, vector environment or stack of wrappers is described in the file, so that
    :func:`load_state` can check whether the state fits another one. The file is replaced
    atomically.

    Raises:
        StateError: The environment cannot save its state, or the state is not plain data; the
            message names the part.
        OSError: The file cannot be written.
    """
    if isinstance(env_or_state, Mapping):
        about, state = None, dict(env_or_state)
    elif callable(getattr(env_or_state, "get_state", None)):
        about, state = _describe(env_or_state), env_or_state.get_state()
    else:
        raise StateError(
            f"Expected an environment, or what its get_state() returned, got "
            f"{type(env_or_state).__name__}."
        )
    try:
        document = {"ludus": __version__, "about": about, "state": state}
        content = encode(document, limits, name="file")
    except CodecError as problem:
        raise StateError(str(problem)) from problem
    write_sealed(path, _MARK, _FORMAT, content)


def load_state(
    path: str | os.PathLike[str], env: Any = None, *, limits: Limits = STATE_LIMITS
) -> State:
    """Return the state in a file; with ``env``, also set it there.

    The file may be untrusted: it contains data, never code. If ``env`` rejects the state, its
    previous state is restored.

    Args:
        path: What :func:`save_state` wrote.
        env: An environment built like the saved one: same id, wrappers, arguments (except the
            render mode) and spaces. To load a state into a different one at your own risk, call
            ``env.set_state(load_state(path))``.
        limits: Limits on the size of the state.

    Raises:
        StateFileError: It is not a state file, is truncated, damaged, too large or of a newer
            format; or the state belongs to another environment.
        OSError: The file cannot be opened.
    """
    try:
        _, content = read_sealed(path, _MARK, _FORMAT, limits.total_bytes)
        document = decode(content, limits)
    except CodecError as problem:
        _fail(path, f"is not a state file that can be read: {problem}", problem)
    if type(document) is not dict or document.keys() != {"ludus", "about", "state"}:
        _fail(path, "holds something else than a state")
    about, state = document["about"], document["state"]
    if type(state) is not dict or type(about) not in (dict, type(None)):
        _fail(path, "holds a state of the wrong structure: expected a dict")
    if env is not None:
        if about is not None:
            _check_description(path, document, _describe(env), limits)
        _restore(path, env, state)
    return state


def _fail(path: Any, reason: str, cause: Exception | None = None) -> NoReturn:
    raise StateFileError(f"{os.fspath(path)} {reason}") from cause


def _describe(env: Any) -> dict[str, Any]:
    spec = getattr(env, "spec", None)
    layers, inner = [type(env).__name__], env
    while inner is not getattr(inner, "unwrapped", inner) and hasattr(inner, "env"):
        inner = inner.env
        layers.append(type(inner).__name__)
    single = "single_" if hasattr(env, "single_observation_space") else ""
    spaces = {
        name: getattr(env, single + name, None) for name in ("observation_space", "action_space")
    }
    return {
        "env": None if spec is None else spec.id,
        "num_envs": getattr(env, "num_envs", None),
        "layers": layers,
        "arguments": None if spec is None else _arguments(spec.kwargs),
        **{name: _fingerprint(space) for name, space in spaces.items()},
        # For messages only, because the printed form of numbers depends on settings.
        "texts": {name: str(space)[:200] for name, space in spaces.items()},
    }


def _arguments(kwargs: dict[str, Any]) -> str | None:
    """Return the hash of the arguments, ``None`` if they are not plain data."""
    try:
        return digest({key: value for key, value in kwargs.items() if key != "render_mode"})
    except CodecError:
        return None


def _fingerprint(space: Any) -> str:
    """Return the hash of a space, or the name of a custom class."""
    from ludus.spaces.serialization import to_dict

    try:
        return digest(to_dict(space), STATE_LIMITS)
    except (CodecError, CustomSpaceError, SpaceValueError, TypeError):
        return type(space).__name__


def _check_description(
    path: Any, document: dict[str, Any], here: dict[str, Any], limits: Limits
) -> None:
    found = document["about"]
    if found.keys() != here.keys() or type(found["texts"]) is not dict:
        _fail(path, "describes its environment in an unknown way")
    for field, what in _COMPARED.items():
        # Compares the encoded bytes, because == of arrays in a forged file may raise.
        if encode(found[field], limits) == encode(here[field]):
            continue
        saved, own = (about["texts"].get(field, about[field]) for about in (found, here))
        _fail(
            path,
            f"belongs to another environment. Its {what}: {_TEXT.repr(saved)}; here: "
            f"{_TEXT.repr(own)}. Build the environment as it was when it was saved, with Ludus "
            f"{_TEXT.repr(document['ludus'])}.",
        )


def _restore(path: Any, env: Any, state: State) -> None:
    before = env.get_state()
    problem = _misfit(before, state, "state")
    if problem:
        _fail(path, f"holds a state of the wrong structure: {problem}.")
    try:
        env.set_state(state)
    except Exception as cause:  # a forged state may make the environment raise anything
        env.set_state(before)
        _fail(path, f"holds a state that {type(env).__name__} refuses: {cause!s:.500}", cause)


def _misfit(own: Any, found: Any, where: str) -> str | None:
    """Return where a state differs in structure from the environment's own, ``None`` if nowhere.

    A value may be absent or ``None`` in one of them, as before a reset; sequences and arrays may
    differ in length.
    """
    if own is None or found is None:
        return None
    for kinds in (dict, (list, tuple), np.ndarray, (str, bytes), (int, float, np.generic)):
        if isinstance(own, kinds) != isinstance(found, kinds):
            return f"{where} is a {type(found).__name__} instead of a {type(own).__name__}"
    if isinstance(own, dict):
        for key in own.keys() & found.keys():
            problem = _misfit(own[key], found[key], f"{where}[{key!r}]")
            if problem:
                return problem
    if isinstance(own, np.ndarray) and (own.dtype, own.ndim) != (found.dtype, found.ndim):
        return (
            f"{where} is an array of {found.dtype} with {found.ndim} axes instead of {own.dtype} "
            f"with {own.ndim}"
        )
    return None
