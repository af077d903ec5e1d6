"""Templates: pages as HTML, with filters for untrusted text, numbers and times."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any
from urllib.parse import quote, urlencode

import jinja2
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from ludus.view.assets import asset
from ludus.view.model.ansi import ansi, cut_lines, shown

__all__ = ["link", "page", "render"]

NOTHING = "–"
_LONGEST = 200_000
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page made from a template.

    Templates get ``request``, ``nav`` (title and address of the main pages), ``here`` (the path of
    this page) and the values.
    """
    text = render(
        template, request=request, nav=request.app.state.nav, here=request.url.path, **values
    )
    return HTMLResponse(text.encode("utf-8", "replace"), status)


def render(template: str, **values: Any) -> str:
    """Return a template as text; for parts of pages."""
    return _environment().get_template(template).render(**values)


def link(*parts: str, **query: object) -> str:
    """Return the address of a page: names, quoted, and a query without its empty values."""
    path = "/" + "/".join(quote(part, safe="@~+-_.") for part in parts)
    given = {name: str(value) for name, value in query.items() if value not in (None, "", False)}
    return f"{path}?{urlencode(given)}" if given else path


def _clock(text: object) -> Markup:
    """Return a time in UTC, with the ISO text that a script shows in local time."""
    try:
        moment = datetime.fromisoformat(str(text)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        return escape(NOTHING)
    return Markup('<time datetime="{}">{}</time>').format(
        moment.isoformat(timespec="seconds"), f"{moment:%Y-%m-%d %H:%M}"
    )


def _duration(seconds: object) -> str:
    value = _finite(seconds)
    if value is None:
        return NOTHING
    if value < 10:
        return f"{value:.2f} s" if value < 1 else f"{value:.1f} s"
    if value < _MINUTE:
        return f"{value:.0f} s"
    if value < _HOUR:
        return f"{int(value // _MINUTE)} min {int(value % _MINUTE):02d} s"
    if value < _DAY:
        return f"{int(value // _HOUR)} h {int(value % _HOUR // _MINUTE):02d} min"
    return f"{int(value // _DAY)} d {int(value % _DAY // _HOUR):02d} h"


def _number(value: object, digits: int = 4) -> str:
    found = _finite(value)
    return NOTHING if found is None else f"{found:.{digits}g}"


def _count(value: object) -> str:
    found = _finite(value)
    return NOTHING if found is None else f"{found:,.0f}"


def _money(value: object) -> str:
    found = _finite(value)
    if found is None:
        return NOTHING
    if found == 0:
        return "0"
    return f"{found:.2f}" if found >= 0.995 else f"{found:.2g}"


def _size(value: object) -> str:
    found = _finite(value)
    if found is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB", "GiB"):
        if found < 1024 or unit == "GiB":
            return f"{found:.0f} {unit}" if unit == "B" or found >= 100 else f"{found:.1f} {unit}"
        found /= 1024
    return NOTHING


def _finite(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        found = float(value) if is_number else math.nan  # type: ignore[arg-type]
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _line(value: object, most: int = 160) -> Markup:
    """Return the beginning of a text as one visible line."""
    text = " ".join(str(value)[: 4 * most].split())
    return shown(text if len(text) <= most else f"{text[: most - 1]}…")


def _block(value: object) -> Markup:
    """Return output of a program: colours of terminals, visible characters, cut lines."""
    text = str(value)
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]}\n[… {len(text) - _LONGEST:,} more characters]"
    return ansi(cut_lines(text))


def _as_json(value: object) -> str:
    """Return what a record says, written out; it may hold what is no JSON, and be nested deeply."""
    try:
        return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):
        return "[This cannot be shown.]"


def _with(query: Mapping[str, str], **changes: object) -> str:
    """Return a query string with some values replaced; for links that sort and filter."""
    merged: dict[str, object] = {**query, **changes}
    kept = {name: str(one) for name, one in merged.items() if one not in (None, "")}
    return "?" + urlencode(kept)


_FILTERS: dict[str, Callable[..., Any]] = {
    "ansi": _block,
    "as_json": _as_json,
    "clock": _clock,
    "count": _count,
    "duration": _duration,
    "line": _line,
    "money": _money,
    "number": _number,
    "size": _size,
    "shown": shown,
}


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("ludus.view"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters.update(_FILTERS)
    made.globals |= {"asset": asset, "link": link, "with_query": _with, "NOTHING": NOTHING}
    return made
