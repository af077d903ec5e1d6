"""Notes that outlive what a model remembers: memory_write, memory_read."""

from __future__ import annotations

import json
import re

from .state import Complaint, folder, write_whole

__all__ = ["memory_read", "memory_write"]

_LARGEST = 256 << 10
_MOST = 20


def memory_write(text: str) -> str:
    """Keep a note."""
    text = text.strip()
    if not text:
        raise Complaint("There is nothing to note: give the text as an argument or as input.")
    notes = [*_notes(), text]
    data = "".join(json.dumps(note) + "\n" for note in notes).encode()
    if len(data) > _LARGEST:
        raise Complaint(f"The notes would take more than {_LARGEST:,} bytes; write a shorter one.")
    write_whole(folder() / "memory.jsonl", data)
    return f"Noted as number {len(notes)}.\n"


def memory_read(query: str = "") -> str:
    """Show the notes, or those that share most words with a query."""
    notes = list(enumerate(_notes(), 1))
    if not notes:
        return "There are no notes.\n"
    if words := _words(query):
        scored = [(len(words & _words(note)), number, note) for number, note in notes]
        best = sorted((s for s in scored if s[0]), key=lambda s: (-s[0], s[1]))
        notes = [(number, note) for _, number, note in best[:_MOST]]
        if not notes:
            return f"No note shares a word with {query!r}.\n"
    return "".join(f"{number}. {note}\n" for number, note in notes)


def _notes() -> list[str]:
    try:
        lines = (folder() / "memory.jsonl").read_text("utf-8").splitlines()
        return [str(json.loads(line)) for line in lines]
    except FileNotFoundError:
        return []
    except ValueError:
        raise Complaint("The file of notes is damaged.") from None


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
