"""The formats that can be imported, and the import of one source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ludus.errors import TaskError
from ludus.research.importing.report import ImportReport

__all__ = ["FORMATS", "ImportOptions", "import_task"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What a source does not say.

    Attributes:
        submit: Files below the workspace that are handed in.
        data: Folder with raw data.
        threshold: The score that counts as solved.
        metric: Which of the numbers of an evaluation is the score.
        code_beside_tests: Whether imported tests may run submitted programs in their own sandbox,
            where they can forge the score.
    """

    submit: tuple[str, ...] = ()
    data: Path | None = None
    threshold: float | None = None
    metric: str | None = None
    code_beside_tests: bool = False


def _harbor(source: Path, out: Path, options: ImportOptions) -> ImportReport:
    from ludus.research.importing.harbor import import_harbor

    return import_harbor(source, out, options)


def _mle_bench(source: Path, out: Path, options: ImportOptions) -> ImportReport:
    from ludus.research.importing.mle_bench import import_mle_bench

    return import_mle_bench(source, out, options)


def _mlgym(source: Path, out: Path, options: ImportOptions) -> ImportReport:
    from ludus.research.importing.mlgym import import_mlgym

    return import_mlgym(source, out, options)


_IMPORTERS: dict[str, Callable[[Path, Path, ImportOptions], ImportReport]] = {
    "harbor": _harbor,
    "mle-bench": _mle_bench,
    "mlgym": _mlgym,
}
FORMATS = tuple(_IMPORTERS)


def import_task(
    source: str | Path, out: str | Path, *, format: str, options: ImportOptions | None = None
) -> ImportReport:
    """Import a task, or an agent configuration, of another system.

    None of the source's programs is run.

    Args:
        source: Folder or file of the other system.
        out: Folder to create; a file for an agent configuration.
        format: One of ``FORMATS``.
        options: What the source does not say.

    Raises:
        TaskError: The source cannot be imported, or ``out`` exists; the message says what to do.
        OSError: ``out`` cannot be written.
    """
    if format not in _IMPORTERS:
        raise TaskError(f"The format {format!r} is unknown; expected one of {', '.join(FORMATS)}.")
    path = Path(source)
    if not path.exists():
        raise TaskError(f"{path} does not exist; give the folder or file to import.")
    return _IMPORTERS[format](path, Path(out), options or ImportOptions())
