"""Forms in which a column of answers may be hidden: encoded, renamed, scaled, as raw bytes."""

from __future__ import annotations

import base64
import codecs
import math
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Numbers",
    "bits",
    "column_bytes",
    "counts_up",
    "encoded",
    "is_scaled",
    "numbers",
    "raw_arrays",
    "renames",
]

Numbers = NDArray[np.float64]

_ENCODERS: dict[str, Callable[[str], str]] = {
    "reversed": lambda text: text[::-1],
    "as base64": lambda text: base64.b64encode(text.encode()).decode(),
    "as base64 without padding": lambda text: base64.b64encode(text.encode()).decode().rstrip("="),
    "as hex": lambda text: text.encode().hex(),
    "as upper-case hex": lambda text: text.encode().hex().upper(),
    "as rot13": lambda text: codecs.encode(text, "rot13"),
}
_EXACT = 1e-3
"""Root mean square of what a line leaves over, in standard deviations."""
_HALF, _CLEAR = 2.0**-10, 0.05
_HEADER = 4096
_KINDS = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "u1", ">f8", ">f4", ">i4")


def encoded(values: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the texts in other encodings, with a name for each."""
    for how, encode in _ENCODERS.items():
        made = [encode(value) for value in values]
        if made != values:
            yield how, made


def bits(values: list[str]) -> float:
    """Return how many bits it takes to tell the order of these values."""
    counts, total = Counter(values).values(), len(values)
    return -sum(count * math.log2(count / total) for count in counts)


def renames(values: list[str], answers: list[str]) -> bool:
    """Whether values are few answers under other names, in the same order."""
    different = len(set(answers))
    if different > len(answers) / 4 or len(set(values)) != different:
        return False
    return len(set(zip(values, answers, strict=True))) == different


def numbers(values: list[str]) -> Numbers | None:
    """Return texts as finite numbers, or ``None``."""
    try:
        found = np.array(values, np.float64)
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


def counts_up(answers: Numbers) -> bool:
    """Whether answers are 0, 1, 2, … or another line, which any column may be."""
    steps = np.diff(answers)
    return bool(np.allclose(steps, steps[0])) if len(steps) else True


def is_scaled(values: Numbers, answers: Numbers) -> bool:
    """Whether ``values`` are ``a * answers + b``, within the precision of half floats."""
    if counts_up(answers):
        return False
    with np.errstate(all="ignore"):
        x, y = answers - answers.mean(), values - values.mean()
        spread = float(y.std())
        if not (spread > 0 and np.isfinite(spread)):
            return False
        rest = y - x * (float(x @ y) / float(x @ x))
        if float(rest.std()) <= _EXACT * spread:
            return True
        step = _HALF * float(np.abs(values).max())
        is_half = np.array_equal(values.astype(np.float16).astype(np.float64), values)
    return bool(is_half and step <= _CLEAR * spread and np.abs(rest).max() <= step)


def column_bytes(values: list[str]) -> Iterator[bytes]:
    """Yield a column of numbers as arrays of the usual types would hold it."""
    found = numbers(values)
    if found is None:
        return
    whole = bool(np.all(found == np.trunc(found))) and np.abs(found).max(initial=0) < 2**31
    kinds = ("u1", "<i2", "<i4", "<i8", "<f4", "<f8", ">i4") if whole else ("<f8", "<f4", "<f2")
    for kind in kinds:
        with np.errstate(all="ignore"):
            held = found.astype(kind) if kind != "u1" or found.min(initial=0) >= 0 else None
        if held is not None and (not whole or np.array_equal(held.astype(float), found)):
            yield held.tobytes()


def raw_arrays(data: bytes, count: int) -> Iterator[Numbers]:
    """Yield a file's bytes as arrays of ``count`` numbers of the usual types, behind a header."""
    for kind in _KINDS:
        before = len(data) - count * np.dtype(kind).itemsize
        if 0 <= before <= _HEADER:
            with np.errstate(all="ignore"):
                found = np.frombuffer(data, kind, count, before).astype(np.float64)
            if np.isfinite(found).all():
                yield found
