"""Asks submitted code for the next byte of a text that it must not have seen.

Passages are cut into windows, one after the other::

    | context, CONTEXT bytes | targets, RUN bytes | nothing, GAP bytes |

Round ``t`` asks for target ``t`` of all windows in one call, with the bytes right before each; the
next round begins after the answer. So no question holds a byte that is still to be predicted, and
remembering earlier calls does not help. The gap is never shown, so that the context of the next
window says next to nothing about the targets; the end of a passage has one too, since a training
text may begin there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.research.grading.answers import described
from ludus.research.grading.submission import Code

__all__ = ["CONTEXT", "GAP", "RUN", "cut_windows", "mean_bits"]

CONTEXT, RUN, GAP = 192, 32, 64

_BYTES = 256
_NUMBER, _HEADER = 16, 1 << 12
_SLACK = 1e-3
_FLOOR = 1e-6


def cut_windows(passages: Sequence[bytes], *, most: int, seed: int) -> NDArray[np.uint8]:
    """Return at most ``most`` windows as rows of ``CONTEXT + RUN`` bytes, in a seeded random order.

    Raises:
        GradingFailed: every passage is too short.
    """
    width = CONTEXT + RUN
    rows = [
        np.frombuffer(passage, np.uint8, width, start)
        for passage in passages
        for start in range(0, len(passage) - width - GAP + 1, width + GAP)
    ]
    if not rows:
        raise GradingFailed(f"No passage of the text has {width + GAP} bytes.")
    order = np.random.default_rng(seed).permutation(len(rows))[:most]
    return np.stack(rows)[order]


def mean_bits(code: Code, windows: NDArray[np.uint8], *, seconds: float) -> float:
    """Return the mean of -log2 of the probability of each target; 8 is uniform guessing.

    The code has a function ``predict(contexts)``: it takes an array of bytes (uint8) of the shape
    (windows, ``CONTEXT``) and returns the probabilities of all 256 next bytes, an array of the
    shape (windows, 256). All calls together may take ``seconds``.

    Raises:
        SubmissionRejected: an answer is no such array, or a row is not a distribution.
    """
    bits = np.empty((RUN, len(windows)))
    rows = np.arange(len(windows))
    before = code.seconds
    most = _HEADER + _NUMBER * _BYTES * len(windows)
    for turn in range(RUN):
        contexts = np.ascontiguousarray(windows[:, turn : turn + CONTEXT])
        # A time of 0 would mean the usual one.
        left = max(seconds - (code.seconds - before), 1e-3)
        answer = code.call("predict", contexts, timeout=left, max_bytes=most)
        chances = _distributions(answer, len(windows))
        bits[turn] = -np.log2(chances[rows, windows[:, turn + CONTEXT]])
    return float(bits.mean())


def _distributions(answer: Any, count: int) -> NDArray[np.float64]:
    """Return probabilities that add up to 1 and of which none is 0."""
    shape = (count, _BYTES)
    if type(answer) is not np.ndarray or answer.dtype.kind != "f" or answer.shape != shape:
        told = f"predict must return a NumPy array of floats of the shape {shape}"
        raise SubmissionRejected(
            f"{told}: for each context the probabilities of the {_BYTES} bytes. It returned "
            f"{described(answer)}.",
            told=f"{told}.",
        )
    chances: NDArray[np.float64] = answer.astype(np.float64)
    sums = chances.sum(axis=1)
    # Written so that nan fails too.
    if not ((chances >= 0).all() and (np.abs(sums - 1) <= _SLACK).all()):
        told = "predict must return rows of numbers of at least 0 that add up to 1"
        raise SubmissionRejected(
            f"{told} within {_SLACK:g}; the smallest is {chances.min():.6g}, the sums lie between "
            f"{sums.min():.6g} and {sums.max():.6g}.",
            told=f"{told}.",
        )
    chances *= (1 - _FLOOR) / sums[:, None]
    chances += _FLOOR / _BYTES
    return chances
