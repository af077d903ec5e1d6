"""Spaces in Minari's format: JSON in the metadata, one HDF5 dataset per leaf."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ludus.errors import RecordDamaged, RecordError
from ludus.optional import require
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Text, Tuple
from ludus.spaces import from_dict as space_from_dict

__all__ = [
    "MAX_BYTES",
    "SpaceLeaf",
    "assembled",
    "follow",
    "leaves_of",
    "load_h5py",
    "parse_json",
    "read_space",
    "write_space",
]

MAX_BYTES = 2**24
"""Limit of the size of a JSON text."""
_KINDS = (Box, Discrete, MultiBinary, MultiDiscrete, Text)
_MOST_LEAVES = 256
_MOST_DEPTH = 16


def load_h5py() -> Any:
    """Import h5py.

    Raises:
        DependencyNotInstalled: It is missing.
    """
    return require("h5py", extra="minari", purpose="A Minari dataset, which is HDF5 files,")


def parse_json(text: Any) -> Any:
    """Parse untrusted JSON; infinities are allowed, as Minari writes them.

    Raises:
        ValueError: The text is not JSON, too long or nested too deeply.
    """
    if not isinstance(text, str | bytes) or len(text) > MAX_BYTES:
        raise ValueError(f"it is not a text of at most {MAX_BYTES} bytes")
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


@dataclass(frozen=True, slots=True)
class SpaceLeaf:
    """A part of a space that is stored as one HDF5 dataset."""

    name: str
    """Path of the dataset below ``observations`` or ``actions``; empty if there is one only."""
    path: tuple[Any, ...]
    """Keys of the part in a value of the whole space."""
    space: Space[Any]

    @property
    def is_text(self) -> bool:
        """Whether its values are strings."""
        return isinstance(self.space, Text)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one value."""
        return () if self.is_text else tuple(self.space.shape or ())


def leaves_of(space: Space[Any]) -> tuple[SpaceLeaf, ...]:
    """Return the leaves of a space in order.

    Raises:
        RecordError: Minari does not support the space.
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
                    f"Minari cannot store the key {key!r:.100} of {space!r:.200}; keys must be "
                    "strings without slashes."
                )
            yield from _walk((*names, key), (*path, key), part)
    elif isinstance(space, Tuple):
        for index, part in enumerate(space.spaces):
            yield from _walk((*names, f"_index_{index}"), (*path, index), part)
    elif isinstance(space, _KINDS):
        yield SpaceLeaf("/".join(names), path, space)
    else:
        raise RecordError(
            f"Minari does not support {space!r:.200}, only Box, Dict, Discrete, MultiBinary, "
            "MultiDiscrete, Text and Tuple. Export to Parquet instead."
        )


def follow(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the part of a value at a path of keys."""
    for key in path:
        value = value[key]
    return value


def assembled(space: Space[Any], parts: Iterator[Any]) -> Any:
    """Build a value from its leaves, in the order of :func:`leaves_of`."""
    if isinstance(space, Dict):
        return {key: assembled(part, parts) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple([assembled(part, parts) for part in space.spaces])
    return next(parts)


def write_space(space: Space[Any]) -> str:
    """Return a space as JSON for the metadata.

    Raises:
        RecordError: Minari does not support the space.
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
    """Return the space that untrusted JSON in the metadata describes.

    Raises:
        RecordDamaged: It is not a space, or too large.
    """
    try:
        space = space_from_dict(_rewritten(parse_json(text), _MOST_DEPTH))
        leaves_of(space)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecordError) as problem:
        raise RecordDamaged(
            f"metadata.json: {what} is not a readable space: {problem!r:.300}.",
            file="metadata.json",
        ) from None
    return space


def _rewritten(data: Any, depth: int) -> dict[str, Any]:
    """Convert Minari's description of a space to that of :mod:`ludus.spaces`."""
    if not isinstance(data, dict) or not depth:
        raise ValueError("it is nested too deeply, or not an object")
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
