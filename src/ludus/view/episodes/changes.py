"""Changes of the workspace as differences of texts."""

from __future__ import annotations

import difflib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal, TypeAlias

from ludus.view.episodes.episode import EpisodeRecord
from ludus.view.episodes.files import content_of
from ludus.view.episodes.trajectory import Step, count_of, text_of
from ludus.view.model.ansi import LONGEST_LINE, decoded

__all__ = ["FileChange", "changes_of_step"]

Kind: TypeAlias = Literal["add", "cut", "at", "same"]
_LARGEST = 1 << 18
_MOST_LINES = 3000
_MOST_FILES = 50
_MOST_SHOWN = 600
_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file of the workspace that a step has changed.

    Attributes:
        path: In the workspace.
        status: ``added``, ``modified`` or ``deleted``.
        size: Bytes afterwards.
        before: SHA-256 of the content before, if it is kept.
        after: SHA-256 of the content afterwards, if it is kept.
        lines: The difference, each line with its kind.
        note: Why there is none, or that it is cut.
    """

    path: str
    status: str
    size: int | None
    before: str
    after: str
    lines: tuple[tuple[Kind, str], ...]
    note: str = ""


def changes_of_step(episode: EpisodeRecord, step: Step) -> list[FileChange]:
    """Return the changes of a step, of at most 50 files; texts are compared for a few seconds."""
    deadline = time.monotonic() + _SECONDS
    return [_change(episode, one, deadline) for one in step.changes[:_MOST_FILES]]


def _change(episode: EpisodeRecord, told: Mapping[str, Any], deadline: float) -> FileChange:
    before, after = text_of(told.get("before")), text_of(told.get("after"))
    status = text_of(told.get("status"))
    status = status if status in ("added", "modified", "deleted") else "modified"
    old = b"" if status == "added" else content_of(episode, before, _LARGEST)
    new = b"" if status == "deleted" else content_of(episode, after, _LARGEST)
    lines: tuple[tuple[Kind, str], ...] = ()
    note = ""
    if new is None or (old is None and status == "deleted"):
        note = (
            "The content is not kept: it is no small text, or the limit of the record was reached."
        )
    elif b"\0" in new or b"\0" in (old or b""):
        note = "The content is binary."
    elif time.monotonic() > deadline:
        note = "The changes of this step take too long to be compared."
    else:
        lines, note = _difference(old, new)
    return FileChange(
        path=text_of(told.get("path")),
        status=status,
        size=count_of(told.get("bytes")),
        before=before if old else "",
        after=after if new else "",
        lines=lines,
        note=note,
    )


def _difference(old: bytes | None, new: bytes) -> tuple[tuple[tuple[Kind, str], ...], str]:
    """Return the lines that differ with three around them, and a note if something is cut."""
    after = _lines(new)
    if old is None:
        shown: list[tuple[Kind, str]] = [("same", line) for line in after[:_MOST_SHOWN]]
        return tuple(shown), "The content before is not kept; this is the content afterwards."
    before = _lines(old)
    if max(len(before), len(after)) > _MOST_LINES:
        return (), "The texts have too many lines to be compared here."
    found: list[tuple[Kind, str]] = []
    # Without its first two lines, the names.
    for line in islice(difflib.unified_diff(before, after, lineterm="", n=3), 2, None):
        kind: Kind = {"+": "add", "-": "cut", "@": "at"}.get(line[:1], "same")  # type: ignore[assignment]
        found.append((kind, line))
    note = f"{len(found) - _MOST_SHOWN} more lines." if len(found) > _MOST_SHOWN else ""
    return tuple(found[:_MOST_SHOWN]), note


def _lines(content: bytes) -> list[str]:
    text = decoded(content).removesuffix("\n")
    return [line[:LONGEST_LINE] for line in text.split("\n")] if text else []
