"""Names that people take for one: runs of one agent under two of them are not one agent's runs."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

__all__ = ["lookalikes"]

_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})


def lookalikes(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the names that differ in case, spaces, invisible characters or spelling only.

    Spelling is Unicode's: one letter has several forms, composed or not, wide or narrow. Letters
    of different alphabets that look the same are told apart.
    """
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        groups[_skeleton(name)].append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _skeleton(name: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(one for one in folded if unicodedata.category(one) not in _UNSEEN)
