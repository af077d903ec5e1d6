"""Random numbers of graders, derived from an unpredictable nonce of the episode.

Opponents, formulas and other random choices of a grader must not be predictable from the grader's
source, the seed, or earlier episodes. So every episode begins with its own nonce, which neither the
seed nor the machine determines. The test and each validation use different numbers derived from it,
and one says nothing about another.

An episode keeps its nonce in its state and in its record, where it is written before the agent does
anything. An episode that is resumed, or restarted after a fault, draws the same.

Public draws come from the seed alone, so that they can be repeated and predicted. They are for
tests and experiments; records and results say which kind they have.
"""

from __future__ import annotations

import hmac
import os
import re
import secrets
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ludus.errors import ResearchError
from ludus.research.task.contract import Split

__all__ = ["VARIABLE", "DrawKind", "Draws", "draw_kind", "fresh_draw"]

VARIABLE = "LUDUS_RESEARCH_DRAWS"
"""``private`` or ``public``, where the caller does not say."""

DrawKind: TypeAlias = Literal["private", "public"]

_BYTES = 32
_IS_NONCE = re.compile(rf"[0-9a-f]{{{2 * _BYTES}}}").fullmatch
# All JSON readers can represent whole numbers of this size.
_BITS = 53


@dataclass(frozen=True, slots=True)
class Draws:
    """The source of random numbers of one episode's graders.

    Attributes:
        nonce: 64 hexadecimal digits; empty for public draws.

    Raises:
        ValueError: The nonce is neither.
    """

    nonce: str = field(repr=False)

    def __post_init__(self) -> None:
        if self.nonce and not _IS_NONCE(self.nonce):
            raise ValueError(f"a nonce has {2 * _BYTES} hexadecimal digits, this is none")

    @classmethod
    def begin(cls, kind: DrawKind) -> Draws:
        """Return the draws of a new episode."""
        return cls("" if kind == "public" else secrets.token_hex(_BYTES))

    @classmethod
    def from_plain(cls, told: Any) -> Draws:
        """Return the draws that :meth:`plain` described.

        Raises:
            ValueError: The data is malformed.
        """
        if not isinstance(told, dict) or told.keys() != {"kind", "nonce"}:
            raise ValueError("expected a kind of draws and a nonce")
        made = cls(told["nonce"]) if isinstance(told["nonce"], str) else None
        if made is None or made.kind != told["kind"]:
            raise ValueError("the nonce is not of the kind of draws that is named")
        return made

    @property
    def kind(self) -> DrawKind:
        """Whether they can be predicted."""
        return "private" if self.nonce else "public"

    def number(self, task: str, seed: int, split: Split, count: int) -> int:
        """Return the random number of one grading; public draws are the seed itself.

        ``count`` is the number of the validation, from 1; 0 for the test.
        """
        if not self.nonce:
            return seed
        told = f"{task}\0{seed}\0{split}\0{count}".encode()
        digest = hmac.digest(bytes.fromhex(self.nonce), told, "sha256")
        return int.from_bytes(digest, "big") >> (256 - _BITS)

    def plain(self) -> dict[str, str]:
        """Return it as plain data, for states and records; never for an agent."""
        return {"kind": self.kind, "nonce": self.nonce}


def draw_kind(asked: DrawKind | None = None) -> DrawKind:
    """Return the kind of draws: the caller's choice, or else the variable's.

    Raises:
        ResearchError: There is no such kind.
    """
    kind = asked or os.environ.get(VARIABLE) or "private"
    if kind not in ("private", "public"):
        whose = "draws" if asked else VARIABLE
        raise ResearchError(f"{whose} is {kind!r:.60}; expected 'private' or 'public'.")
    return "public" if kind == "public" else "private"


def fresh_draw() -> int:
    """Return a number for one grading that belongs to no episode."""
    return secrets.randbits(_BITS)
