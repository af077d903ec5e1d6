"""How actions and observations become columns: one array per leaf of the space, or bytes.

A space of fixed size (``Box``, ``Discrete``, ``MultiDiscrete``, ``MultiBinary``, and ``Dict`` and
``Tuple`` of them) has a column per leaf: ``action``, or ``action/arm``, ``action/0``. A value of
any other space is one text of bytes per row, made by :mod:`ludus.codec`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.codec import DecodeLimits, admit, decode, encode
from ludus.errors import CodecError, RecordDamaged, RecordError
from ludus.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple

__all__ = [
    "LIMITS",
    "Coded",
    "Leaf",
    "Leaves",
    "Values",
    "check_of",
    "encoded",
    "pack_texts",
    "unpack_texts",
    "values_of",
]

LIMITS = DecodeLimits(total_bytes=2**27, items=10_000_000, string_bytes=2**27, array_bytes=2**27)
"""What one row's value may be at most."""

_MOST_LEAVES = 64
_FEW_COLUMNS = 16
_NAME_BYTES = 150
_LENGTH = ".length"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One column of a value: its name, the way to it, and what a row of it is."""

    name: str
    path: tuple[Any, ...]
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


class Leaves:
    """Values of a space whose parts all have a fixed size."""

    def __init__(self, name: str, leaves: Sequence[Leaf], space: Space[Any]) -> None:
        self.name = name
        self.leaves = tuple(leaves)
        self.space = space
        self.is_single = len(leaves) == 1 and not leaves[0].path
        """Whether a value is one array, not a structure of several."""

    def parts(self, value: Any) -> list[Any]:
        """Return the value's leaves, in the order of the columns."""
        if self.is_single:
            return [value]
        return [_follow(value, leaf.path) for leaf in self.leaves]

    def value(self, columns: Sequence[NDArray[Any]], row: int) -> Any:
        """Return one row as a value of the space; arrays in it may be views."""
        return _assembled(self.space, iter([column[row] for column in columns]))


class Coded:
    """Values of a space that has members of any size: bytes, one text per row."""

    leaves: tuple[Leaf, ...] = ()
    is_single = False

    def __init__(self, name: str, space: Space[Any]) -> None:
        self.name = name
        self.space = space

    def decoded(self, text: bytes) -> Any:
        """Return the value in the form that the space gives it; raises ``RecordDamaged``."""
        try:
            value = decode(text, LIMITS)
        except CodecError as problem:
            raise RecordDamaged(f"A recorded {self.name} cannot be read: {problem}") from None
        try:
            return admit(self.space, value, limits=LIMITS)
        except CodecError:
            # Recorded as it was given, though it is no member; the environment took it then.
            return value


Values = Leaves | Coded


def values_of(name: str, space: Space[Any]) -> Values:
    """Return how values of a space are stored in columns whose names begin with ``name``."""
    if not _is_fixed(space):
        return Coded(name, space)
    leaves = list(_leaves(name, (), space))
    names = {leaf.name for leaf in leaves}
    # Keys with slashes in them may give two leaves one name.
    fits = len(names) == len(leaves) and 0 < len(leaves) <= _MOST_LEAVES
    if not fits or any(len(each.encode()) > _NAME_BYTES for each in names):
        return Coded(name, space)
    return Leaves(name, leaves, space)


def _is_fixed(space: Space[Any]) -> bool:
    if isinstance(space, Dict):
        return all(map(_is_fixed, space.spaces.values()))
    if isinstance(space, Tuple):
        return all(map(_is_fixed, space.spaces))
    return isinstance(space, Box | Discrete | MultiBinary | MultiDiscrete)


def _leaves(name: str, path: tuple[Any, ...], space: Space[Any]) -> Iterator[Leaf]:
    if isinstance(space, Dict):
        for key, part in space.spaces.items():
            yield from _leaves(f"{name}/{key}", (*path, key), part)
    elif isinstance(space, Tuple):
        for index, part in enumerate(space.spaces):
            yield from _leaves(f"{name}/{index}", (*path, index), part)
    else:
        yield Leaf(name, path, np.dtype(space.dtype), tuple(space.shape or ()))


def _follow(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def _assembled(space: Space[Any], parts: Iterator[Any]) -> Any:
    if isinstance(space, Dict):
        return {key: _assembled(part, parts) for key, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple([_assembled(part, parts) for part in space.spaces])
    return next(parts)


def encoded(name: str, value: Any) -> bytes:
    """Return a value as bytes; raises ``RecordError`` if it is not plain data."""
    try:
        return encode(_listed(value), LIMITS, canonical=True, name=name)
    except CodecError as problem:
        raise RecordError(f"The {name} cannot be recorded. {problem}") from None


def _listed(value: Any) -> Any:
    """Return a value with arrays of objects as lists, wherever in it they are."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return [_listed(part) for part in value]
    if isinstance(value, dict):
        return {key: _listed(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple([_listed(part) for part in value])
    return value


def check_of(value: Any) -> bytes:
    """Return the SHA-256 of all bytes in an observation, in the order of its structure.

    Arrays count with their numbers row by row, whatever their order in memory, but a table of a few
    columns column by column; entries of a dict count in the order of their keys.
    """
    if type(value) is np.ndarray and value.dtype.kind != "O":
        ordered = np.ascontiguousarray(value) if value.ndim != 2 else _in_order(value)
        return hashlib.sha256(ordered.data).digest()
    found = hashlib.sha256()
    for piece in _pieces(value):
        found.update(piece)
    return found.digest()


def _in_order(array: NDArray[Any]) -> NDArray[Any]:
    # Compiled batches of short vectors lie in memory so, and putting them into another order would
    # take as long as hashing them.
    if array.ndim == 2 and array.shape[1] <= _FEW_COLUMNS:
        array = array.T
    return np.ascontiguousarray(array)


def _pieces(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key in sorted(value, key=str):
            yield from _pieces(value[key])
    elif isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype.kind == "O"
    ):
        for part in value:
            yield from _pieces(part)
    elif isinstance(value, np.ndarray | np.generic | int | float):
        array = _in_order(np.asarray(value))
        yield encode(value, LIMITS) if array.dtype.kind == "O" else array
    elif value is not None:
        try:
            yield encode(value, LIMITS)
        except CodecError as problem:
            raise RecordError(f"An observation cannot be recorded. {problem}") from None


def pack_texts(name: str, texts: Sequence[bytes]) -> dict[str, NDArray[Any]]:
    """Return bytes of any length per row as two columns: all of them on end, and their lengths."""
    rows, joined = len(texts), b"".join(texts)
    width = -(-len(joined) // rows)
    padded = np.zeros(rows * width, np.uint8)
    padded[: len(joined)] = np.frombuffer(joined, np.uint8)
    lengths = np.array([len(text) for text in texts], np.uint32)
    return {name: padded.reshape(rows, width), name + _LENGTH: lengths}


def unpack_texts(name: str, block: Mapping[str, NDArray[Any]]) -> list[bytes]:
    """Undo :func:`pack_texts`; raises ``RecordDamaged`` if columns are missing or do not fit."""
    try:
        joined, lengths = block[name], block[name + _LENGTH]
    except KeyError as missing:
        raise RecordDamaged(f"A block has no column {missing}.", file="blocks.bin") from None
    flat = joined.reshape(-1)
    is_form = flat.dtype == np.uint8 and lengths.dtype == np.uint32 and lengths.ndim == 1
    ends = np.cumsum(lengths, dtype=np.int64)
    if not is_form or (ends.size and ends[-1] > flat.size):
        raise RecordDamaged(f"The lengths of column {name!r} do not fit.", file="blocks.bin")
    content, starts = flat.tobytes(), [0, *ends[:-1].tolist()]
    return [content[a:b] for a, b in zip(starts, ends.tolist(), strict=True)]
