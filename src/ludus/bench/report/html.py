"""The document as one HTML file that needs nothing else and asks for nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

from ludus.bench.report.chart_frame import series_class, swatch
from ludus.bench.report.document import (
    Block,
    Cell,
    Code,
    Column,
    Document,
    Figure,
    Inline,
    Name,
    Paragraph,
    ReportTable,
    Section,
    ShellLines,
    Tile,
)
from ludus.bench.report.markup import Markup, element, join, plain
from ludus.bench.report.text import shorten
from ludus.terminal_text import visible

__all__ = ["sections_of", "to_html"]

_NAME, _CODE, _LABEL, _TITLE = 80, 300, 600, 2000


def to_html(document: Document) -> str:
    """The whole file.

    Its policy forbids scripts, forms, frames and every request; the one style sheet is let in by
    its hash.
    """
    css = _style_sheet()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", shorten(document.title, 200)),
        element("style", Markup(css)),
    )
    body = element(
        "body",
        element("a", "Skip to the results", class_="skip", href="#results"),
        _header(document),
        element("main", *map(_section, document.sections), id="results"),
        element("footer", element("p", "Written by Ludus. This file is complete in itself.")),
    )
    return "<!doctype html>\n" + element("html", head, Markup("\n"), body, lang="en") + "\n"


def sections_of(document: Document) -> list[tuple[Section, Markup]]:
    """The sections and their markup, for a page with a style sheet of its own."""
    return [(section, _section(section)) for section in document.sections]


@lru_cache(maxsize=1)
def _style_sheet() -> str:
    return (files("ludus.bench.report") / "style.css").read_text(encoding="utf-8")


def _header(document: Document) -> Markup:
    links = (
        element("a", section.title, href=f"#{section.anchor}") for section in document.sections
    )
    return element(
        "header",
        element("p", "Benchmark report", class_="kicker"),
        element("h1", _named("bdi", document.title, 200)),
        element("p", *map(_inline, document.subtitle), class_="subtitle"),
        element("p", *map(_inline, document.summary.parts), class_="summary"),
        element("dl", *map(_tile, document.tiles), class_="tiles"),
        element("nav", *links, aria_label="Sections"),
    )


def _tile(tile: Tile) -> Markup:
    return element(
        "div",
        element("dt", tile.label),
        element("dd", tile.value, class_="value"),
        element("dd", tile.note, class_="of"),
        class_=f"tile {tile.tone}".strip(),
    )


def _section(section: Section) -> Markup:
    return element(
        "section",
        element("h2", section.title, id=f"{section.anchor}-title"),
        *map(_block, section.blocks),
        id=section.anchor,
        aria_labelledby=f"{section.anchor}-title",
    )


def _block(block: Block) -> Markup:
    match block:
        case Paragraph():
            class_ = {"text": None, "legend": "legend-text", "warning": "warning"}[block.kind]
            return element("p", *map(_inline, block.parts), class_=class_)
        case ReportTable():
            return _table(block)
        case Figure():
            return _figure(block)
        case ShellLines():
            return element("pre", element("code", join(block.lines, "\n")), tabindex=0)
        case _:
            return element("div", *map(_figure, block), class_="grid")


def _inline(part: Inline) -> Markup:
    match part:
        case Name():
            return _named("bdi", part.text, _NAME)
        case Code():
            return _named("code", part.text, _CODE)
        case _:
            return plain(part)


def _named(tag: str, content: str, limit: int) -> Markup:
    whole = visible(content)
    short = shorten(whole, limit)
    return element(tag, short, title=None if short == whole else shorten(whole, _TITLE))


def _figure(figure: Figure) -> Markup:
    parts = [element("h3", _named("bdi", figure.title, _NAME))] if figure.title else []
    parts.append(element("div", *figure.pictures, class_="pictures"))
    if figure.legend:
        entries = (
            element("li", swatch(style), _named("bdi", label, _NAME))
            for label, style in figure.legend
        )
        parts.append(element("ul", *entries, class_="legend"))
    parts.append(element("figcaption", *map(_inline, figure.caption)))
    return element("figure", *parts)


def _table(table: ReportTable) -> Markup:
    label = shorten("".join(p if isinstance(p, str) else p.text for p in table.caption), _LABEL)
    heads = (element("th", one.title, scope="col", class_=_kind(one)) for one in table.columns)
    grid = element(
        "table",
        element("thead", element("tr", *heads)),
        element("tbody", *(_row(row, table.columns) for row in table.rows)),
        aria_label=label,
    )
    # The caption stays outside of the box, where it wraps instead of scrolling away.
    box = element("div", grid, class_="scroll", tabindex=0, role="region", aria_label=label)
    caption = join(map(_inline, table.caption))
    if not table.folding:
        return element("figure", element("figcaption", caption), box, class_="table")
    opened = "" if table.folding == "open" else None
    return element("details", element("summary", caption), box, open=opened)


def _row(cells: Iterable[Cell], columns: Iterable[Column]) -> Markup:
    return element(
        "tr",
        *(
            _cell(cell, column, header=index == 0)
            for index, (cell, column) in enumerate(zip(cells, columns, strict=True))
        ),
    )


def _cell(cell: Cell, column: Column, *, header: bool) -> Markup:
    content = cell.picture if cell.picture is not None else _inline(cell.content)
    if cell.style is not None:
        content = element(
            "span", swatch(cell.style), content, class_=f"series {series_class(cell.style)}"
        )
    class_ = " ".join(filter(None, (_kind(column), cell.tone))) or None
    if header:
        return element("th", content, scope="row", class_=class_)
    return element("td", content, class_=class_)


def _kind(column: Column) -> str | None:
    return None if column.kind == "text" else column.kind
