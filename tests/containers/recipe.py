"""Reads the Dockerfile: its stages, and the instructions of each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["ROOT", "Stage", "global_arguments", "read_stages"]

ROOT = Path(__file__).parents[2]
FILE = ROOT / "Dockerfile"


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: its name, what it begins with, and its instructions in order."""

    name: str
    base: str
    lines: list[tuple[str, str]] = field(default_factory=list)

    def all(self, word: str) -> list[str]:
        """Return what follows each instruction of a kind."""
        return [rest for found, rest in self.lines if found == word]

    def words(self, word: str) -> list[str]:
        """Return the words of the last instruction of a kind, which is a JSON list."""
        rest = self.all(word)[-1]
        return json.loads(rest[rest.index("[") :])


def _lines() -> list[tuple[str, str]]:
    kept = (line for line in FILE.read_text().splitlines() if not line.lstrip().startswith("#"))
    whole = re.sub(r"\\\n", " ", "\n".join(kept))
    return [
        (word.upper(), rest.strip())
        for word, _, rest in (line.partition(" ") for line in whole.splitlines() if line.strip())
    ]


def global_arguments() -> dict[str, str]:
    """Return the arguments before the first stage, with their defaults."""
    found = {}
    for word, rest in _lines():
        if word == "FROM":
            break
        name, _, value = rest.partition("=")
        found[name] = value
    return found


def read_stages() -> dict[str, Stage]:
    """Return the stages by name."""
    stages: dict[str, Stage] = {}
    for word, rest in _lines():
        if word == "FROM":
            base, _, name = re.split(r"\s+(AS)\s+", rest, maxsplit=1)
            stages[name] = current = Stage(name, base)
        elif stages:
            current.lines.append((word, rest))
    return stages
