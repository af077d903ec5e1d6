"""Validates values from an untrusted process against the declared spaces, and copies them.

The sender may still be able to write to the memory of a value, so every array is copied first and
checked afterwards. The result shares no memory with the value.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ludus.codec.decoding import decode
from ludus.codec.encoding import encode
from ludus.codec.limits import DEFAULT_LIMITS, DecodeLimits
from ludus.errors import CodecError, Inadmissible
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.graph import Graph, GraphInstance
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = ["INFO_LIMITS", "admit", "admit_info"]

_ArraySpace: TypeAlias = Box | Discrete | MultiBinary | MultiDiscrete

INFO_LIMITS = DecodeLimits(
    total_bytes=2**24,
    depth=8,
    items=10_000,
    string_bytes=2**16,
    array_bytes=2**24,
    key_bytes=256,
    int_keys=0,
)
"""Default limits of an info dict: texts as keys, 16 MiB in all."""


def admit(
    space: Space[Any],
    value: Any,
    *,
    limits: DecodeLimits = DEFAULT_LIMITS,
    name: str = "value",
    rounding_steps: int = 0,
) -> Any:
    """Return a copy of ``value`` if it is a member of ``space``.

    Arrays must have the space's dtype and shape. A Python int stays one, a list becomes a tuple
    where the space has tuples, three parts become a ``GraphInstance``. For a custom space the value
    must be plain data that its ``contains`` accepts.

    Args:
        space: The declared space; it is trusted.
        value: The value, for instance from ``decode``.
        limits: Limits on its size where the space sets none.
        name: Name of the value in errors.
        rounding_steps: By how many floating-point numbers a number may exceed a bound; it is then
            replaced by the bound.

    Raises:
        Inadmissible: The value is not a member or too large; ``path`` leads to the part.
    """
    return _Admission(limits, rounding_steps).member(space, value, name)


def admit_info(
    info: Any, limits: DecodeLimits = INFO_LIMITS, *, name: str = "info"
) -> dict[str, Any]:
    """Return a copy of an info: a dict of plain data within the limits.

    Raises:
        Inadmissible: It is something else; ``path`` leads to the part.
    """
    if type(info) is not dict:
        _refuse(name, f"an info is a dict, got {type(info).__name__}")
    copy: dict[str, Any] = decode(_plain_bytes(info, limits, name), limits) if info else {}
    return copy


def _plain_bytes(value: Any, limits: DecodeLimits, name: str) -> bytes:
    try:
        return encode(value, limits, name=name)
    except CodecError as problem:
        raise Inadmissible(str(problem), path=problem.path) from None


def _refuse(path: str, reason: str) -> NoReturn:
    raise Inadmissible(f"{path} is not admitted: {reason}.", path=path)


def _widened(low: Any, high: Any, steps: int) -> tuple[Any, Any]:
    """Return the bounds moved outwards by a number of floating-point numbers."""
    for _ in range(steps):
        low, high = np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
    return low, high


def _by_rounding(value: Any, low: Any, high: Any) -> str:
    """Return a hint if a number is outside its bounds by one rounding step."""
    if value.dtype.kind != "f":
        return ""
    least, most = _widened(low, high, 1)
    if not least <= value <= most:
        return ""
    return (
        f": it is outside by one rounding step of {value.dtype}. Clip it to the bounds in the "
        "environment, or allow it with BoxOptions(rounding_steps=1)"
    )


class _Admission:
    """Validates one value; its parts share the limits."""

    def __init__(self, limits: DecodeLimits, rounding_steps: int = 0) -> None:
        self._limits = limits
        self._rounding_steps = rounding_steps
        self._items = limits.items
        self._bytes = limits.total_bytes

    def member(self, space: Space[Any], value: Any, path: str) -> Any:
        """Return a validated copy of a member of ``space``."""
        check = _CHECKS.get(type(space))
        if check is not None:
            return check(self, space, value, path)
        for kind, check in _CHECKS.items():
            if isinstance(space, kind):
                # A subclass may have narrowed what it contains.
                return self._contained(space, check(self, space, value, path), path)
        plain = _plain_bytes(value, self._limits, path)
        self._spend(0, len(plain), path)
        return self._contained(space, decode(plain, self._limits), path)

    def _contained(self, space: Space[Any], value: Any, path: str) -> Any:
        try:
            inside = space.contains(value)
        except Exception as problem:  # a custom space may raise anything
            _refuse(path, f"{space} cannot judge it: {problem!r}")
        if not inside:
            _refuse(path, f"it is not in {space}")
        return value

    def _spend(self, items: int, size: int, path: str) -> None:
        self._items -= items
        self._bytes -= size
        if self._items < 0 or self._bytes < 0:
            limits = self._limits
            _refuse(
                path,
                f"the whole value exceeds {limits.items} entries or {limits.total_bytes} bytes",
            )

    def _array(
        self, value: Any, dtype: np.dtype[Any], shape: tuple[int | None, ...], path: str
    ) -> NDArray[Any]:
        """Return a copy of an array of this dtype and shape; ``None`` is an axis of any length."""
        if type(value) is not np.ndarray:
            _refuse(path, f"expected an array, got {type(value).__name__}")
        if value.dtype != dtype:
            _refuse(path, f"expected an array of dtype {dtype}, got {value.dtype}")
        if value.ndim != len(shape) or any(
            wanted not in (None, axis) for axis, wanted in zip(value.shape, shape, strict=True)
        ):
            wanted = str(shape).replace("None", "any")
            _refuse(path, f"expected an array of shape {wanted}, got {value.shape}")
        if value.nbytes > self._limits.array_bytes:
            _refuse(path, f"it has {value.nbytes} bytes; {self._limits.array_bytes} are allowed")
        self._spend(0, value.nbytes, path)
        copy: NDArray[Any] = np.array(value, dtype=dtype, order="C")
        if dtype.kind == "b" and copy.size and copy.view(np.uint8).max() > 1:
            _refuse(path, "it holds a byte that is no bool")
        return copy

    def _between(self, array: NDArray[Any], low: Any, high: Any, path: str) -> NDArray[Any]:
        # NaN fails, because it compares as false.
        inside = (array >= low) & (array <= high)
        if inside.all():
            return array
        steps = self._rounding_steps if array.dtype.kind == "f" else 0
        least, most = _widened(low, high, steps)
        near = (array >= least) & (array <= most)
        if near.all():
            clipped: NDArray[Any] = np.clip(array, low, high)
            return clipped
        where = tuple(int(axis) for axis in np.argwhere(~near)[0])
        low, high = (np.broadcast_to(bound, array.shape)[where] for bound in (low, high))
        reason = f"{array[where]} is not within {low} and {high}"
        _refuse(f"{path}{list(where)}", reason + _by_rounding(array[where], low, high))

    def _parts(self, value: Any, count: int | None, path: str) -> tuple[Any, ...]:
        if type(value) not in (tuple, list):
            _refuse(path, f"expected a tuple, got {type(value).__name__}")
        if count is not None and len(value) != count:
            _refuse(path, f"expected {count} parts, got {len(value)}")
        self._spend(len(value), 0, path)
        return tuple(value)

    def admit_array(self, space: _ArraySpace, value: Any, path: str) -> NDArray[Any]:
        """Admit an array within bounds."""
        return self._bounded(space, value, space.shape, path)

    def _bounded(
        self, space: _ArraySpace, value: Any, shape: tuple[int | None, ...], path: str
    ) -> NDArray[Any]:
        array = self._array(value, np.dtype(space.dtype), shape, path)
        return self._between(array, *_bounds(space), path)

    def admit_discrete(self, space: Discrete, value: Any, path: str) -> int | np.integer[Any]:
        """Admit a Python int, or a scalar of the space's dtype."""
        if type(value) is np.ndarray and value.shape == () and value.dtype == space.dtype:
            value = value[()]
        if type(value) is not int and not (
            # Not isinstance(), which an object can deceive by its __class__.
            issubclass(type(value), np.integer) and value.dtype == space.dtype
        ):
            _refuse(path, f"expected an int or a scalar of {space.dtype}, got {_show(value)}")
        low = int(space.start)
        if not low <= int(value) < low + int(space.n):
            _refuse(path, f"{_show(value)} is not within {low} and {low + int(space.n) - 1}")
        admitted: int | np.integer[Any] = value
        return admitted

    def admit_text(self, space: Text, value: Any, path: str) -> str:
        """Admit a text of the space's characters."""
        if type(value) is not str:
            _refuse(path, f"expected a text, got {type(value).__name__}")
        most = min(space.max_length, self._limits.string_bytes)
        if not space.min_length <= len(value) <= most:
            _refuse(path, f"its length {len(value)} is not within {space.min_length} and {most}")
        self._spend(0, len(value), path)
        if not space.character_set.issuperset(value):
            foreign = sorted(set(value) - space.character_set)
            _refuse(path, f"it has characters outside of the space's: {reprlib.repr(foreign)}")
        return value

    def admit_tuple(self, space: Tuple, value: Any, path: str) -> tuple[Any, ...]:
        """Admit a tuple, part by part."""
        parts = self._parts(value, len(space.spaces), path)
        pairs = enumerate(zip(space.spaces, parts, strict=True))
        return tuple([self.member(part, item, f"{path}[{i}]") for i, (part, item) in pairs])

    def admit_dict(self, space: Dict, value: Any, path: str) -> dict[Any, Any]:
        """Admit a dict of exactly the space's keys, in the space's order."""
        self._check_keys(space, value, path)
        return {
            key: self.member(part, value[key], f"{path}[{key!r}]")
            for key, part in space.spaces.items()
        }

    def _check_keys(self, space: Dict, value: Any, path: str) -> None:
        if type(value) is not dict:
            _refuse(path, f"expected a dict, got {type(value).__name__}")
        if value.keys() != space.spaces.keys():
            missing = [_show(key) for key in space.spaces if key not in value][:5]
            foreign = [_show(key) for key in value if key not in space.spaces][:5]
            _refuse(
                path,
                f"missing keys: {', '.join(missing) or 'none'}; "
                f"unknown keys: {', '.join(foreign) or 'none'}",
            )
        self._spend(len(value), 0, path)

    def admit_one_of(self, space: OneOf, value: Any, path: str) -> tuple[np.int64, Any]:
        """Admit a pair of an index and a member of the space it chooses."""
        index, item = self._parts(value, 2, path)
        choice = self.admit_discrete(Discrete(len(space.spaces)), index, f"{path}[0]")
        return np.int64(choice), self.member(space.spaces[int(choice)], item, f"{path}[1]")

    def admit_sequence(self, space: Sequence, value: Any, path: str) -> Any:
        """Admit a tuple of any length, or a batch if the space stacks."""
        if space.stack:
            return self._batch(space.feature_space, value, path)[0]
        parts = self._parts(value, None, path)
        return self._members(space.feature_space, parts, path)

    def _members(self, space: Space[Any], parts: Iterable[Any], path: str) -> tuple[Any, ...]:
        return tuple([self.member(space, item, f"{path}[{i}]") for i, item in enumerate(parts)])

    def admit_graph(self, space: Graph, value: Any, path: str) -> GraphInstance:
        """Admit nodes, edges and links, of which the last two may be ``None``."""
        if type(value) is GraphInstance:
            value = tuple(value)
        nodes, edges, links = self._parts(value, 3, path)
        nodes, node_count = self._batch(space.node_space, nodes, f"{path}.nodes")
        if edges is None and links is None:
            return GraphInstance(nodes, None, None)
        if space.edge_space is None:
            _refuse(f"{path}.edges", "the space has no edges")
        edges, edge_count = self._batch(space.edge_space, edges, f"{path}.edges")
        if type(links) is not np.ndarray or links.dtype.kind not in "iu":
            _refuse(f"{path}.edge_links", f"expected an array of integers, got {_show(links)}")
        ends = self._array(links, links.dtype, (edge_count or 0, 2), f"{path}.edge_links")
        self._between(ends, 0, (node_count or 0) - 1, f"{path}.edge_links")
        return GraphInstance(nodes, edges, ends)

    def _batch(self, space: Space[Any], value: Any, path: str) -> tuple[Any, int | None]:
        """Admit a batch of any size of members; return it and its size, ``None`` if empty of parts.

        Arrays have a leading axis, tuples and dicts are batched part by part, and a batch of
        anything else is a tuple.
        """
        if isinstance(space, Box | Discrete | MultiBinary | MultiDiscrete):
            array = self._bounded(space, value, (None, *space.shape), path)
            return array, len(array)
        if isinstance(space, Dict):
            self._check_keys(space, value, path)
            columns, size = self._columns(
                [(part, value[key], f"{path}[{key!r}]") for key, part in space.spaces.items()], path
            )
            return dict(zip(space.spaces, columns, strict=True)), size
        if isinstance(space, Tuple):
            parts = enumerate(zip(space.spaces, self._parts(value, len(space), path), strict=True))
            columns, size = self._columns(
                [(part, item, f"{path}[{i}]") for i, (part, item) in parts], path
            )
            return tuple(columns), size
        members = self._parts(value, None, path)
        return self._members(space, members, path), len(members)

    def _columns(
        self, columns: list[tuple[Space[Any], Any, str]], path: str
    ) -> tuple[list[Any], int | None]:
        batches = [self._batch(*column) for column in columns]
        sizes = {size for _, size in batches if size is not None}
        if len(sizes) > 1:
            _refuse(path, f"its parts have different numbers of rows: {sorted(sizes)}")
        return [batch for batch, _ in batches], sizes.pop() if sizes else None


def _bounds(space: _ArraySpace) -> tuple[Any, Any]:
    if isinstance(space, Box):
        return space.low, space.high
    if isinstance(space, MultiBinary):
        return 0, 1
    count = space.n if isinstance(space, Discrete) else space.nvec
    return space.start, space.start + (count - 1)


def _show(value: Any) -> str:
    """Return a short text without calling methods of untrusted objects."""
    kind = type(value)
    if kind is int and value.bit_length() > 256:
        return "an int of many digits"
    if kind in (int, bool, float, str, type(None)) or issubclass(kind, np.generic):
        return reprlib.repr(value)
    return f"a {kind.__name__}"


_CHECKS: dict[type[Space[Any]], Callable[[_Admission, Any, Any, str], Any]] = {
    Box: _Admission.admit_array,
    Dict: _Admission.admit_dict,
    Discrete: _Admission.admit_discrete,
    Graph: _Admission.admit_graph,
    MultiBinary: _Admission.admit_array,
    MultiDiscrete: _Admission.admit_array,
    OneOf: _Admission.admit_one_of,
    Sequence: _Admission.admit_sequence,
    Text: _Admission.admit_text,
    Tuple: _Admission.admit_tuple,
}
