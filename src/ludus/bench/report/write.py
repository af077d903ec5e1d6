"""Results as a report: one HTML file, and the same facts as Markdown."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ludus.atomic import write_whole
from ludus.bench.report.document import Document, Section
from ludus.bench.report.facts import Facts, ReferenceLike, collect
from ludus.bench.report.html import to_html
from ludus.bench.report.markdown import to_markdown
from ludus.bench.report.sections.aggregates import improvement, overall, profiles, research
from ludus.bench.report.sections.curves import Curve, curves
from ludus.bench.report.sections.passing import solved
from ludus.bench.report.sections.runs import (
    environments,
    failures,
    provenance,
    reproduction,
    verification,
)
from ludus.bench.report.sections.summary import cautions, subtitle, summary, tiles
from ludus.bench.result import Result

__all__ = ["ReportFiles", "build_document", "write_report"]

_SUFFIXES = (".html", ".htm", ".md")


@dataclass(frozen=True, slots=True)
class ReportFiles:
    """Where a report was written."""

    html: Path
    markdown: Path


def write_report(
    results: Iterable[Result],
    path: str | os.PathLike[str],
    *,
    title: str = "Benchmark results",
    references: Mapping[str, ReferenceLike] | None = None,
    provenance: Mapping[str, object] | None = None,
    curves: Mapping[str, Curve] | None = None,
    lower: Collection[str] = (),
    floors: Mapping[str, float] | None = None,
    planned: int | None = None,
) -> ReportFiles:
    """Write a report of results.

    Args:
        results: Any number of them, trusted or not; every text in them is shown as text.
        path: A file ending in ``.html`` or ``.md``, which gets the other beside it, or a folder,
            which gets ``report.html`` and ``report.md``.
        title: Headline.
        references: By environment id: a pair (score that counts as 0, score that counts as 1), a
            :class:`~ludus.bench.statistics.normalise.Reference`, or a suite's reference.
        provenance: Versions, hashes, machine, commit; nested mappings are written out. The entry
            ``command`` (text, or a list of arguments) is shown as the way to reproduce.
        curves: Learning curves by result id, beside those in ``extra["curve"]`` of results.
        lower: Environments where lower is better; needed for those without a reference only.
        floors: By environment id, what an agent's fault counts as; a suite's ``references`` have
            it already.
        planned: How many runs there should be; the report says if some are missing.

    Raises:
        ValueError: A reference is not two different finite numbers.
        OSError: The files cannot be written; existing ones stay as they were.
    """
    document = build_document(
        results,
        title=title,
        references=references,
        provenance=provenance,
        curves=curves,
        lower=lower,
        floors=floors,
        planned=planned,
    )
    target = Path(path)
    if target.suffix.lower() not in _SUFFIXES:
        target = target / "report.html"
    html = target if target.suffix.lower() != ".md" else target.with_suffix(".html")
    markdown = target.with_suffix(".md")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(html, to_html(document).encode(), durable=False)
        write_whole(markdown, to_markdown(document).encode(), durable=False)
    except OSError as problem:
        # The system's error names a temporary file.
        raise OSError(problem.errno, problem.strerror, str(target)) from problem
    return ReportFiles(html, markdown)


def build_document(
    results: Iterable[Result],
    *,
    title: str = "Benchmark results",
    references: Mapping[str, ReferenceLike] | None = None,
    provenance: Mapping[str, object] | None = None,
    curves: Mapping[str, Curve] | None = None,
    lower: Collection[str] = (),
    floors: Mapping[str, float] | None = None,
    planned: int | None = None,
) -> Document:
    """Compute what :func:`write_report` writes.

    Raises:
        ValueError: As there.
    """
    facts = collect(results, references, lower, floors, planned)
    return Document(
        title=title,
        subtitle=subtitle(facts),
        summary=summary(facts),
        tiles=tiles(facts),
        sections=_sections(facts, provenance or {}, curves),
    )


def _sections(
    facts: Facts, given: Mapping[str, object], recorded: Mapping[str, Curve] | None
) -> tuple[Section, ...]:
    first = overall(facts)
    found = (
        Section(first.anchor, first.title, cautions(facts) + first.blocks),
        profiles(facts),
        solved(facts),
        research(facts),
        improvement(facts),
        environments(facts),
        curves(facts, recorded),
        failures(facts),
        verification(facts),
        provenance(facts, given),
        reproduction(facts, given),
    )
    return tuple(section for section in found if section is not None)
