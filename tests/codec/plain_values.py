"""Strategies for plain data, and what "the same" means for it."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ludus.codec.wire import DTYPES

NUMBER_DTYPES = [dtype.newbyteorder("=") for dtype in DTYPES.values()]

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
keys = texts | st.integers(-(2**63), 2**64 - 1)
big_ints = st.integers(-(2**900), 2**900)


@st.composite
def _arrays(draw: Any) -> Any:
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    kind = draw(st.sampled_from([*NUMBER_DTYPES, np.dtype("S3"), np.dtype("U3")]))
    size = int(np.prod(shape)) * kind.itemsize
    if kind.kind == "U":
        return draw(hnp.arrays(kind, shape, elements=st.text("aß漢😀", max_size=3)))
    raw = draw(st.binary(min_size=size, max_size=size))
    if kind.kind == "b":
        raw = bytes(byte & 1 for byte in raw)
    return np.frombuffer(raw, kind).reshape(shape) if size else np.zeros(shape, kind)


arrays = _arrays()
scalars = st.sampled_from(NUMBER_DTYPES).flatmap(
    lambda kind: st.binary(min_size=kind.itemsize, max_size=kind.itemsize).map(
        lambda raw: np.frombuffer(
            bytes(byte & 1 for byte in raw) if kind.kind == "b" else raw, kind
        )[0]
    )
)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**65)
    | big_ints
    | st.floats()
    | texts
    | st.binary(max_size=300)
    | scalars
    | arrays
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=20)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(keys, inner, max_size=5)
    ),
    max_leaves=30,
)


def same(left: Any, right: Any) -> bool:
    """Whether two values agree in type and to the bit, order of dicts included."""
    if type(left) is not type(right):
        return False
    if isinstance(left, np.ndarray | np.generic):
        return bool(
            left.dtype == right.dtype
            and left.shape == right.shape
            and left.tobytes() == right.tobytes()
        )
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return struct.pack(">d", left) == struct.pack(">d", right)
    return bool(left == right)
