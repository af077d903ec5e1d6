"""BLEU of a whole corpus: shared runs of up to four words, and not too few words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

__all__ = ["bleu", "words_of"]

LONGEST = 4
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")


def words_of(caption: str) -> list[str]:
    """Return the words of a caption in small letters, without punctuation."""
    return _WORD.findall(caption.lower())


def bleu(pairs: Iterable[tuple[str, Sequence[str]]]) -> float:
    """Return BLEU-4 from 0 to 1, without smoothing.

    ``BP * (p1 p2 p3 p4)^(1/4)``: of all runs of n words in all captions, ``pn`` is the share that
    the references have too, a run counting as often as it is in one of them at most.
    ``BP = exp(1 - r/c)`` if the captions' length c is less than r, the sum of the lengths of the
    references that are nearest in length, the shorter of two.

    Args:
        pairs: captions, each with its references, of which there is at least one.
    """
    shared, runs = [0] * LONGEST, [0] * LONGEST
    length = wanted = 0
    for caption, references in pairs:
        words, others = words_of(caption), [words_of(reference) for reference in references]
        length += len(words)
        wanted += min((abs(len(other) - len(words)), len(other)) for other in others)[1]
        for n in range(1, LONGEST + 1):
            found = _runs(words, n)
            most: Counter[tuple[str, ...]] = Counter()
            for other in others:
                most |= _runs(other, n)
            shared[n - 1] += (found & most).total()
            runs[n - 1] += found.total()
    if not all(shared):
        return 0.0
    logs = [math.log(hit / count) for hit, count in zip(shared, runs, strict=True)]
    penalty = min(0.0, 1 - wanted / length)
    return math.exp(penalty + sum(logs) / LONGEST)


def _runs(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))
