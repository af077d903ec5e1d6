"""The document as Markdown: the same facts, tables in place of charts."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ludus.bench.report.document import (
    Block,
    Code,
    Document,
    Inline,
    Name,
    Paragraph,
    ReportTable,
    Section,
    ShellLines,
)
from ludus.bench.report.text import shorten
from ludus.terminal_text import visible

__all__ = ["to_markdown"]

_LIMIT = 600
_SPECIAL = re.compile(r"([\\`*_\[\]|~$])|(?<=www)(\.)|(?<=[a-z])(:)(?=//)", re.IGNORECASE)


def to_markdown(document: Document) -> str:
    """The whole file, in GitHub's dialect, readable as plain text."""
    lines = [f"# {_escaped(shorten(visible(document.title), 200))}", ""]
    lines += [_joined(document.subtitle), "", _joined(document.summary.parts), ""]
    lines += [
        f"- {_escaped(f'{tile.label}: {tile.value}, {tile.note}')}" for tile in document.tiles
    ]
    for section in document.sections:
        lines += ["", *_section(section)]
    return "\n".join(lines).rstrip() + "\n"


def _section(section: Section) -> list[str]:
    lines = [f"## {_escaped(section.title)}"]
    for block in section.blocks:
        written = _block(block)
        if written:
            lines += ["", *written]
    return lines


def _block(block: Block) -> list[str]:
    match block:
        case Paragraph(kind="warning"):
            return [f"> **Note:** {_joined(block.parts)}"]
        case Paragraph(kind="legend"):
            return []
        case Paragraph():
            return [_joined(block.parts)]
        case ReportTable():
            return _table(block)
        case ShellLines():
            return [f"    {visible(line)}" for line in block.lines]
        case _:
            return []


def _table(table: ReportTable) -> list[str]:
    kept = [index for index, column in enumerate(table.columns) if column.kind != "picture"]
    heads = [_escaped(table.columns[index].title) for index in kept]
    rules = ["---:" if table.columns[index].kind == "number" else "---" for index in kept]
    lines = [f"**{_joined(table.caption)}**", "", _line(heads), _line(rules)]
    lines += [_line(_inline(row[index].content) for index in kept) for row in table.rows]
    return lines


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _joined(parts: Iterable[Inline]) -> str:
    return "".join(map(_inline, parts))


def _inline(part: Inline) -> str:
    # Code spans are not used: within a table a pipe cannot be written in one.
    match part:
        case Name() | Code():
            return _escaped(shorten(visible(part.text), _LIMIT))
        case _:
            return _escaped(visible(part))


def _escaped(content: str) -> str:
    """Text that no reader of Markdown takes for markup, a link or a tag."""
    shown = _SPECIAL.sub(r"\\\g<0>", content)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
