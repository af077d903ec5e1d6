"""What a report says, apart from how it is shown.

HTML and Markdown are written from one and the same document, so they cannot tell different facts.
Every text in it may come from a result, that is from anybody: the writers escape all of it, and
shorten what is marked as a name or as code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ludus.bench.report.markup import Markup

__all__ = [
    "Block",
    "Cell",
    "Code",
    "Column",
    "Document",
    "Figure",
    "Inline",
    "Name",
    "Paragraph",
    "ReportTable",
    "Section",
    "ShellLines",
    "Tile",
    "Tone",
    "code",
    "name",
    "numeric",
    "sentence",
    "status",
    "text",
]

Tone: TypeAlias = Literal["", "good", "bad", "open"]


@dataclass(frozen=True, slots=True)
class Name:
    """An untrusted name: of an agent, an environment, a run."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of text to be read letter by letter: a hash, a path, a budget."""

    text: str


Inline: TypeAlias = str | Name | Code


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text; a legend explains pictures, and is left out where none can be shown."""

    parts: tuple[Inline, ...]
    kind: Literal["text", "legend", "warning"] = "text"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: what it says, and in HTML what it looks like.

    Attributes:
        content: The text.
        tone: How good the news is; shown as colour in addition to the text.
        style: Style of the series that the row belongs to, shown as its mark.
        picture: Shown in place of the text in HTML.
    """

    content: Inline
    tone: Tone = ""
    style: int | None = None
    picture: Markup | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title and what its cells are; pictures are left out where none can be shown."""

    title: str
    kind: Literal["text", "number", "picture"] = "text"


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table; a folded one shows its caption until it is opened."""

    caption: tuple[Inline, ...]
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folding: Literal["", "open", "closed"] = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """Pictures with a caption; ``legend`` names the series by style."""

    caption: tuple[Inline, ...]
    pictures: tuple[Markup, ...]
    legend: tuple[tuple[str, int], ...] = ()
    title: str = ""


@dataclass(frozen=True, slots=True)
class ShellLines:
    """Lines to type into a shell."""

    lines: tuple[str, ...]


Block: TypeAlias = Paragraph | ReportTable | Figure | ShellLines | tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part; ``anchor`` is unique and safe in an address."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Tile:
    """A figure worth seeing first, with what it is a part of."""

    label: str
    value: str
    note: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report."""

    title: str
    subtitle: tuple[Inline, ...]
    summary: Paragraph
    tiles: tuple[Tile, ...]
    sections: tuple[Section, ...]


def sentence(*parts: Inline, kind: Literal["text", "legend", "warning"] = "text") -> Paragraph:
    """A paragraph of these parts."""
    return Paragraph(parts, kind)


def text(content: str, tone: Tone = "") -> Cell:
    """A cell of plain text."""
    return Cell(content, tone)


def name(content: str, style: int | None = None) -> Cell:
    """A cell with an untrusted name."""
    return Cell(Name(content), style=style)


def code(content: str) -> Cell:
    """A cell to be read letter by letter."""
    return Cell(Code(content))


def numeric(*titles: str) -> tuple[Column, ...]:
    """Columns of numbers."""
    return tuple(Column(title, "number") for title in titles)


_STATUS: dict[str, tuple[str, Tone]] = {
    "verified": ("✓ verified", "good"),
    "claimed": ("○ claimed", "open"),
    "failed": ("✗ failed", "bad"),
}


def status(verified: str) -> Cell:
    """A cell with the standing of a result."""
    return Cell(*_STATUS[verified])
