"""Converts spaces to JSON and back.

A space becomes an object whose ``"type"`` is the name of its class, with the constructor's
arguments. Bounds are exact, infinite ones are the strings ``"-inf"`` and ``"inf"``. The state of
the random generator is not included.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ludus.errors import CustomSpaceError
from ludus.spaces.box import Box
from ludus.spaces.dict import Dict
from ludus.spaces.discrete import Discrete
from ludus.spaces.errors import SpaceTypeError, SpaceValueError
from ludus.spaces.graph import Graph
from ludus.spaces.multi_binary import MultiBinary
from ludus.spaces.multi_discrete import MultiDiscrete
from ludus.spaces.oneof import OneOf
from ludus.spaces.plain_data import DTYPES, Node
from ludus.spaces.sequence import Sequence
from ludus.spaces.space import Space, is_integer
from ludus.spaces.text import Text
from ludus.spaces.tuple import Tuple

__all__ = ["from_dict", "from_json", "to_dict", "to_json"]


def to_json(space: Space[Any]) -> str:
    """Return a space as JSON text.

    Raises:
        CustomSpaceError: It is, or contains, a custom space.
        SpaceValueError: A dtype or key cannot be represented in JSON.
        SpaceTypeError: It is not a space.

    Example:
        >>> to_json(Discrete(3))
        '{"type": "Discrete", "n": 3, "start": 0, "dtype": "int64"}'
        >>> from_json(to_json(Discrete(3)))
        Discrete(3)
    """
    return json.dumps(to_dict(space), allow_nan=False)


def from_json(text: str | bytes) -> Space[Any]:
    """Return the space of a result of ``to_json``; the text may be untrusted.

    Raises:
        SpaceValueError: The text is not JSON, describes no space, is nested too deeply or describes
            bounds of too many entries; the message contains the place.
        SpaceTypeError: It is not a text.
    """
    if not isinstance(text, (str, bytes, bytearray)):
        raise SpaceTypeError(f"Expected JSON text, actual type: {type(text)}")
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        raise SpaceValueError(f"Not the JSON text of a space: {problem}") from problem
    return from_dict(data)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError(f"an object has the same key twice: {[key for key, _ in pairs]}")
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; infinite bounds are the strings '-inf' and 'inf'")


def to_dict(space: Space[Any]) -> dict[str, Any]:
    """Return a space as dictionaries, lists, strings, ints and floats; see ``to_json``."""
    if not isinstance(space, Space):
        raise SpaceTypeError(f"Expected a Space, actual type: {type(space)}")
    # Exact classes only, because a subclass would be read as its base class.
    if type(space) not in _WRITERS:
        raise CustomSpaceError(
            f"{space} is of the custom type {type(space)}, which has no form in JSON; supported "
            f"are {sorted(kind.__name__ for kind in _WRITERS)}"
        )
    return {"type": type(space).__name__, **_WRITERS[type(space)](space)}


def from_dict(data: dict[str, Any]) -> Space[Any]:
    """Return the space of a result of ``to_dict``; see ``from_json``."""
    return _read(Node.root(data))


def _read(node: Node) -> Space[Any]:
    kind = node.kind(_READERS)
    try:
        space = _READERS[kind](node)
    except (SpaceValueError, SpaceTypeError) as problem:
        node.fail(str(problem), problem)
    node.check_all_read()
    return space


def _write_dtype(dtype: np.dtype[Any]) -> str:
    if dtype.name not in DTYPES or not dtype.isnative:
        raise SpaceValueError(
            f"dtype {dtype.str!r} has no portable form in JSON; use one of {', '.join(DTYPES)} in "
            "native byte order"
        )
    return dtype.name


def _write_numbers(array: NDArray[Any], infinite: NDArray[np.bool_], infinity: str) -> Any:
    """Return the entries row by row, or a single one if all are the same to the bit."""
    flat, infinite = array.ravel(), infinite.ravel()
    if array.dtype.kind == "b":
        flat = flat.astype(np.int8)
    if flat.size > 1 and _is_uniform(flat) and _is_uniform(infinite):
        # Avoids creating millions of equal objects.
        flat, infinite = flat[:1], infinite[:1]
    entries = [
        infinity if unbounded else _write_number(entry)
        for entry, unbounded in zip(flat.tolist(), infinite.tolist(), strict=True)
    ]
    if entries and len(set(map(str, entries))) == 1:
        return entries[0]
    return entries


def _is_uniform(flat: NDArray[Any]) -> bool:
    """Return whether all entries have the same bits; 0.0 and -0.0 have not."""
    rows = flat.view(np.uint8).reshape(flat.size, flat.itemsize)
    return bool((rows == rows[0]).all())


def _write_number(entry: float) -> float | str:
    return str(entry) if entry in (np.inf, -np.inf) else entry


def _write_box(space: Box) -> dict[str, Any]:
    return {
        "low": _write_numbers(space.low, ~space.bounded_below, "-inf"),
        "high": _write_numbers(space.high, ~space.bounded_above, "inf"),
        "shape": list(space.shape),
        "dtype": _write_dtype(space.dtype),
    }


def _read_box(node: Node) -> Box:
    dtype, shape = node.dtype("dtype"), node.shape("shape")
    low, unbounded_below = node.numbers("low", shape, dtype, "-inf")
    high, unbounded_above = node.numbers("high", shape, dtype, "inf")
    box = Box(low, high, shape, dtype)
    # An infinite bound of an integer is the extreme of its dtype, which looks finite.
    box.bounded_below, box.bounded_above = ~unbounded_below, ~unbounded_above
    return box


def _write_discrete(space: Discrete) -> dict[str, Any]:
    return {"n": int(space.n), "start": int(space.start), "dtype": _write_dtype(space.dtype)}


def _read_discrete(node: Node) -> Discrete:
    return Discrete(node.integer("n"), start=node.integer("start"), dtype=node.dtype("dtype"))


def _write_multi_binary(space: MultiBinary) -> dict[str, Any]:
    return {"n": space.n if isinstance(space.n, int) else list(space.n)}


def _read_multi_binary(node: Node) -> MultiBinary:
    if isinstance(node.get("n"), list):
        return MultiBinary(node.shape("n"))
    node.spend(node.integer("n"))
    return MultiBinary(node.integer("n"))


def _write_multi_discrete(space: MultiDiscrete) -> dict[str, Any]:
    finite = np.zeros(space.shape, dtype=bool)
    return {
        "nvec": _write_numbers(space.nvec, finite, ""),
        "start": _write_numbers(space.start, finite, ""),
        "shape": list(space.shape),
        "dtype": _write_dtype(space.dtype),
    }


def _read_multi_discrete(node: Node) -> MultiDiscrete:
    dtype, shape = node.dtype("dtype"), node.shape("shape")
    nvec, start = (node.numbers(name, shape, dtype)[0] for name in ("nvec", "start"))
    return MultiDiscrete(nvec, dtype=dtype, start=start)


def _write_text(space: Text) -> dict[str, Any]:
    return {
        "max_length": space.max_length,
        "min_length": space.min_length,
        "charset": "".join(space.character_list),
    }


def _read_text(node: Node) -> Text:
    return Text(
        node.integer("max_length"),
        min_length=node.integer("min_length"),
        charset=node.text("charset"),
    )


def _write_spaces(space: Tuple | OneOf) -> dict[str, Any]:
    return {"spaces": [to_dict(part) for part in space.spaces]}


def _read_spaces(node: Node) -> list[Space[Any]]:
    return [_read(part) for part in node.children("spaces")]


def _write_dict(space: Dict) -> dict[str, Any]:
    keys: list[Any] = list(space.spaces)
    wrong = [key for key in keys if not (isinstance(key, str) or is_integer(key))]
    if wrong:
        raise SpaceValueError(f"Keys of a Dict must be str or int to have a form in JSON: {wrong}")
    # Two lists, because the keys of a JSON object are strings and may lose their order.
    return {
        "keys": [key if isinstance(key, str) else int(key) for key in keys],
        "spaces": [to_dict(part) for part in space.spaces.values()],
        "sort_keys": bool(space.sort_keys),
    }


def _read_dict(node: Node) -> Dict:
    keys, parts = node.keys("keys"), node.children("spaces")
    if len(keys) != len(parts):
        node.fail(f"there are {len(keys)} keys, but {len(parts)} spaces")
    pairs = [(key, _read(part)) for key, part in zip(keys, parts, strict=True)]
    return Dict(pairs, sort_keys=node.flag("sort_keys"))


def _write_sequence(space: Sequence) -> dict[str, Any]:
    return {"space": to_dict(space.feature_space), "stack": bool(space.stack)}


def _read_sequence(node: Node) -> Sequence:
    stack = node.flag("stack")
    return Sequence(_read(node.child("space", copies=2 if stack else 1)), stack=stack)


def _write_graph(space: Graph) -> dict[str, Any]:
    edges = None if space.edge_space is None else to_dict(space.edge_space)
    return {"node_space": to_dict(space.node_space), "edge_space": edges}


def _read_graph(node: Node) -> Graph:
    edges = None if node.get("edge_space") is None else _read(node.child("edge_space", copies=2))
    return Graph(_read(node.child("node_space", copies=2)), edges)


_FORMS: list[tuple[type, Callable[[Any], dict[str, Any]], Callable[[Node], Space[Any]]]] = [
    (Box, _write_box, _read_box),
    (Dict, _write_dict, _read_dict),
    (Discrete, _write_discrete, _read_discrete),
    (Graph, _write_graph, _read_graph),
    (MultiBinary, _write_multi_binary, _read_multi_binary),
    (MultiDiscrete, _write_multi_discrete, _read_multi_discrete),
    (OneOf, _write_spaces, lambda node: OneOf(_read_spaces(node))),
    (Sequence, _write_sequence, _read_sequence),
    (Text, _write_text, _read_text),
    (Tuple, _write_spaces, lambda node: Tuple(_read_spaces(node))),
]
_WRITERS = {kind: write for kind, write, _ in _FORMS}
_READERS = {kind.__name__: read for kind, _, read in _FORMS}
