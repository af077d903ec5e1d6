"""Names that people take for one: runs of one agent under two of them are not one agent's runs."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

__all__ = ["lookalikes"]

_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
# Letters and marks that are drawn as nothing: joiners, fillers, variation selectors, blank Braille.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Small letters of Cyrillic and Greek that look like Latin ones, themselves or as capitals.
_LATIN = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0455\u0456\u0458\u04bb\u04cf\u0501\u051b\u051d"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7",
    "abekmhopctyxsijhldqwabezhikmvoptux",
)


def lookalikes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return groups of names that differ only in what a reader does not see.

    That is case, spaces, invisible characters, the several forms that Unicode has for one letter
    (composed or not, wide or narrow), and Cyrillic or Greek letters in place of Latin ones.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        groups[_skeleton(name)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _skeleton(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (one for one in folded if unicodedata.category(one) not in _UNSEEN)
    return _BLANK.sub("", "".join(seen)).translate(_LATIN)
