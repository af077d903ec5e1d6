"""Arguments of environments that somebody else chose: in a record, or in a benchmark's suite.

Whoever checks results builds the environments that the results are said to come from. Arguments
are data, but some environments open the file that an argument names, or run it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ludus.core.spec import EnvSpec
from ludus.errors import ReplayImpossible

__all__ = ["check_arguments"]

_NAMING = frozenset({"xml_file", "engine_options"})
"""Arguments of Ludus's own environments that name files or programs."""
_PATH = frozenset("/\\\0")
_MOST_TEXT = 10_000
_MOST_SYNC = 4096
_MOST = 1000
"""The largest whole number: it may be a size, or how often something is done in each step."""


def check_arguments(spec: EnvSpec, kwargs: Mapping[str, Any], num_envs: int | None = None) -> None:
    """Refuse arguments by which a stranger could reach files and programs of this machine.

    Whatever the environment is registered with here is allowed. So are numbers, but for whole ones
    by which it could fill the memory or never return from a step. Texts are
    allowed unless they look like a path, name a file that is there, or belong to an argument that
    names files. Of other packages' environments nobody knows what they do with a text: there, one
    with a colon, which may name something to import, is refused as well.

    Args:
        spec: As the environment is registered on this machine.
        kwargs: What the stranger asks for.
        num_envs: How many environments, if it is a batch.

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
