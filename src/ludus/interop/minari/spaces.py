"""Spaces as Minari writes them: JSON texts, and one dataset per leaf."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludus.errors import RecordDamaged, RecordError
from ludus.interop.minari.plain_json import parse_json
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple
from ludus.spaces import from_dict as space_from_dict

__all__ = ["SpaceLeaf", "assembled", "follow", "leaves_of", "read_space", "write_space"]

_KINDS = (Box, Discrete, MultiBinary, MultiDiscrete, Text)
_MOST_LEAVES = 256
_MOST_DEPTH = 16


@dataclass(frozen=True, slots=True)
class SpaceLeaf:
    """A part of a space that has a dataset of its own."""

    name: str
    """Of the dataset below ``observations`` or ``actions``; empty if it is that one itself."""
    path: tuple[Any, ...]
    """Keys that lead from a value to its part."""
    space: Space[Any]

    @property
    def is_text(self) -> bool:
        """Whether its values are strings."""
        return isinstance(self.space, Text)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one value."""
        return () if self.is_text else tuple(self.space.shape or ())


def leaves_of(space: Space[Any]) -> tuple[SpaceLeaf, ...]:
    """Return the leaves in the order of the space.

    Raises:
        RecordError: Minari has no form for it.
    """
    found = tuple(_walk((), (), space))
    if not 0 < len(found) <= _MOST_LEAVES:
        raise RecordError(f"A space of {len(found)} parts cannot be a Minari dataset: {space!r}")
    return found


def _walk(names: tuple[str, ...], path: tuple[Any, ...], space: Space[Any]) -> Iterator[SpaceLeaf]:
    if isinstance(space, Dict):
        for key, part in space.spaces.items():
            if not isinstance(key, str) or {"/", "\0"} & set(key) or key in ("", ".", ".."):
                raise RecordError(
                    f"Minari cannot store the key {key!r:.100} of {space!r:.200}; keys are texts "
                    "without slashes."
                )
            yield from _walk((*names, key), (*path, key), part)
    elif isinstance(space, Tuple):
        for index, part in enumerate(space.spaces):
            yield from _walk((*names, f"_index_{index}"), (*path, index), part)
    elif isinstance(space, _KINDS):
        yield SpaceLeaf("/".join(names), path, space)
    else:
        raise RecordError(
            f"Minari has no form for values of {space!r:.200}; it has one for Box, Dict, Discrete, "
            "MultiBinary, MultiDiscrete, Text and Tuple. Export to Parquet instead."
        )


def follow(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the part of a value that a path leads to."""
    for key in path:
        value = value[key]
    return value


def assembled(space: Space[Any], parts: Iterator[Any]) -> Any:
    """Return a value from its leaves, in the order of :func:`leaves_of`."""
    if isinstance(space, Dict):
        return {key: assembled(part, parts) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple([assembled(part, parts) for part in space.spaces])
    return next(parts)


def write_space(space: Space[Any]) -> str:
    """Return a space as the text in a dataset's metadata.

    Raises:
        RecordError: Minari has no form for it.
    """
    leaves_of(space)
    return json.dumps(_written(space))


def _written(space: Any) -> dict[str, Any]:
    kind = next(cls for cls in _WRITERS if isinstance(space, cls))
    return {"type": kind.__name__, **_WRITERS[kind](space)}


_WRITERS: dict[type, Callable[[Any], dict[str, Any]]] = {
    Box: lambda space: {
        "dtype": str(space.dtype),
        "shape": list(space.shape),
        "low": space.low.tolist(),
        "high": space.high.tolist(),
    },
    Dict: lambda space: {"subspaces": {key: _written(part) for key, part in space.spaces.items()}},
    Discrete: lambda space: {"dtype": "int64", "start": int(space.start), "n": int(space.n)},
    MultiBinary: lambda space: {"n": space.n if isinstance(space.n, int) else list(space.n)},
    MultiDiscrete: lambda space: {
        "dtype": str(space.dtype),
        "nvec": space.nvec.tolist(),
        "start": space.start.tolist(),
    },
    Text: lambda space: {
        "max_length": space.max_length,
        "min_length": space.min_length,
        "charset": space.characters,
    },
    Tuple: lambda space: {"subspaces": [_written(part) for part in space.spaces]},
}


def read_space(text: Any, what: str) -> Space[Any]:
    """Return the space that a text in a dataset's metadata describes; it need not be trusted.

    Raises:
        RecordDamaged: It describes none, or one too large.
    """
    try:
        space = space_from_dict(_rewritten(parse_json(text), _MOST_DEPTH))
        leaves_of(space)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecordError) as problem:
        raise RecordDamaged(
            f"metadata.json: {what} is no space that can be read: {problem!r:.300}.",
            file="metadata.json",
        ) from None
    return space


def _rewritten(data: Any, depth: int) -> dict[str, Any]:
    """Return Minari's form of a space in that of :mod:`ludus.spaces`, which checks it."""
    if not isinstance(data, dict) or not depth:
        raise ValueError("it is nested too deeply, or no object")
    kind = data["type"]
    if kind == "Dict":
        parts = dict(data["subspaces"])
        spaces = [_rewritten(part, depth - 1) for part in parts.values()]
        return {"type": kind, "keys": list(parts), "spaces": spaces, "sort_keys": False}
    if kind == "Tuple":
        return {"type": kind, "spaces": [_rewritten(part, depth - 1) for part in data["subspaces"]]}
    if kind == "Box":
        bounds = {name: _bound(data[name], data["shape"]) for name in ("low", "high")}
        return {"type": kind, "shape": data["shape"], "dtype": data["dtype"], **bounds}
    if kind == "MultiDiscrete":
        nvec = np.array(data["nvec"], np.int64)
        start = np.array(data.get("start", np.zeros_like(nvec)), np.int64)
        numbers = {"nvec": nvec.ravel().tolist(), "start": start.ravel().tolist()}
        return {"type": kind, "shape": list(nvec.shape), "dtype": data["dtype"], **numbers}
    fields = {
        "Discrete": ("n", "start", "dtype"),
        "MultiBinary": ("n",),
        "Text": ("max_length", "min_length", "charset"),
    }
    if kind not in fields:
        raise ValueError(f"the type {kind!r:.50} is not known")
    return {"type": kind, **{name: data[name] for name in fields[kind]}}


def _bound(values: Any, shape: Any) -> Any:
    array = np.array(values, dtype=object)
    if list(array.shape) != shape:
        raise ValueError(f"bounds of shape {list(array.shape)} for a Box of shape {shape!r:.50}")
    return [_number(entry) for entry in array.ravel().tolist()]


def _number(entry: Any) -> Any:
    if isinstance(entry, bool):
        return int(entry)
    return str(entry) if isinstance(entry, float) and np.isinf(entry) else entry
