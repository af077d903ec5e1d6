"""What graders draw from: the episode's seed and a secret of this machine.

Opponents, formulas and whatever else a grader draws would be known to everybody who knows its
source and guesses the seed. So graders get a number that depends on a secret, too, which no box
shows. The same seed gives the same number as long as the secret is the same; records keep the
number, so that anybody can grade again.
"""

from __future__ import annotations

import hmac
import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from ludus.research.cache import cache_folder

__all__ = ["VARIABLE", "grader_seed", "secret_folder"]

VARIABLE = "LUDUS_RESEARCH_SECRET"
"""A secret to use instead of the machine's own, as for several machines that are to agree. An empty
one makes graders draw from the seed alone, for everybody to repeat and to foresee."""

# Whatever reads JSON knows whole numbers of so many bits.
_BITS = 53


def grader_seed(task: str, seed: int, split: str) -> int:
    """Return the number that a grader draws from.

    Args:
        task: The task's id.
        seed: Of the episode.
        split: Which is graded; validations say nothing about draws of the test.
    """
    key = _key()
    if not key:
        return seed
    told = hmac.digest(key, f"{task}\0{seed}\0{split}".encode(), "sha256")
    return int.from_bytes(told, "big") >> (256 - _BITS)


def secret_folder() -> Path:
    """Return the folder of the machine's secret, which no box may show."""
    return cache_folder("secret")


def _key() -> bytes:
    given = os.environ.get(VARIABLE)
    if given is not None:
        return given.encode("utf-8", "surrogateescape")
    place = secret_folder() / "key"
    if not place.exists():
        _make(place)
    return place.read_bytes()


def _make(place: Path) -> None:
    """Write a new secret, whole or not at all; one that somebody else has just written stays."""
    number, draft = tempfile.mkstemp(dir=place.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(secrets.token_bytes(32))
        with suppress(FileExistsError):
            place.hardlink_to(draft)
    finally:
        Path(draft).unlink()
