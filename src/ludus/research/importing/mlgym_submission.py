"""What is handed in to an imported MLGym task, and in which sandbox it runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import PurePosixPath

from ludus.errors import TaskError
from ludus.research.importing.draft import artefact_kind, is_program
from ludus.research.importing.mlgym_code import called_functions, imported_files, named_in
from ludus.research.importing.mlgym_files import TaskSource
from ludus.research.importing.rewriting import packed, rewritten

__all__ = ["ARCHIVE", "SAMPLE", "TABLE", "import_submission", "rows_of"]

ARCHIVE = "submission.zip"
TABLE = "submission.csv"
SAMPLE = "sample_submission.csv"
_WORK = {"/home/agent/workspace": "/tmp/work", "/home/agent": "/tmp/work"}  # noqa: S108
_KINDS = {
    "CSVSubmissionTasks": "a table",
    "LMSubmissionTasks": "an archive of the trained model and its code",
    "ModelSubmissionTasks": "an archive of checkpoints, their configuration and code",
    "PythonSubmissionTasks": "code",
}
_GRADE = (
    '"""Runs the imported evaluation."""\n\n'
    "from ludus.research.importing.inside.mlgym import grade\n"
)


def import_submission(task: TaskSource) -> None:
    """Decide what is handed in, and in which sandbox it runs."""
    kind, rows, options = task.entrypoint, task.draft.rows, task.options
    named = task.fields.get("task_entrypoint", kind)
    if named != kind:
        rows.adapted("task_entrypoint", f"{named!r:.60} is unknown: taken as {kind}")
    paths = list(options.submit) or _usual(task)
    if own := sorted({task.evaluation, *task.secret}.intersection(paths)):
        raise TaskError(f"{own[0]} is the grader's, and cannot be handed in.")
    source = "given by --submit" if options.submit else _KINDS[kind]
    programs = [path for path in paths if is_program(path)]
    if kind == "PythonSubmissionTasks":
        graded = {name: data for name, data in task.starter.items() if name not in paths}
        for path in [path for path in programs if path in task.starter]:
            functions = called_functions(path, {**graded, path: task.starter[path]})
            if functions is not None:
                task.calls[path] = functions
    beside = [path for path in programs if path not in task.calls]
    if beside and not options.code_beside_tests:
        raise TaskError(
            f"The evaluation needs {beside[0]} beside it, where submitted code can print any "
            "score. Name other files with --submit, or accept that with --code-beside-tests."
        )
    if beside:
        task.calls = {}
        rows.adapted(
            "task_entrypoint", f"{source}; it runs beside the evaluation, can forge scores"
        )
    elif task.calls:
        called = ", ".join(f"{path}: {', '.join(names)}" for path, names in task.calls.items())
        rows.adapted("task_entrypoint", f"{called}; called in a sandbox of its own")
        if task.draft.config["evaluation"]["direction"] == "lower":
            rows.adapted("calls", "they take time of their own; times do not compare with MLGym's")
    else:
        rows.mapped("task_entrypoint", f"{', '.join(paths)} ({source})")
    task.draft.config["submission"] = [
        {
            "path": path,
            "kind": "code" if path in task.calls else _kind(path),
            "max_bytes": "256M" if path == ARCHIVE else "64M",
        }
        for path in paths
    ]
    if beside:
        task.draft.config["code_beside_tests"] = True
    if kind == "CSVSubmissionTasks" and not _reads_answers(task):
        rows.adapted("evaluation", "it names no data, so the score may be what is handed in")
    ids, repeated = _columns(task)
    settings = {
        "paths": paths, "archive": ARCHIVE, "calls": task.calls, "entrypoint": kind,
        "evaluation": task.evaluation, "metric": task.draft.config["evaluation"]["metric"],
        "ids": ids, "repeated": repeated, "seconds": task.draft.config["timeout"],
        "code_beside_tests": bool(beside), "own": [task.evaluation, *task.secret],
    }  # fmt: skip
    task.draft.add_text("grader/settings.json", json.dumps(settings))
    task.draft.add_text("grader/grade.py", _GRADE)
    graded = {path: data for path, data in task.starter.items() if path not in task.calls}
    task.draft.files["grader/files.zip"] = packed(rewritten(graded, _WORK))


def _usual(task: TaskSource) -> list[str]:
    """Return what is handed in if nobody says."""
    if task.entrypoint == "CSVSubmissionTasks":
        return [TABLE]
    if task.entrypoint != "PythonSubmissionTasks":
        return [ARCHIVE]
    imported = imported_files(task.evaluation, task.starter)
    told = task.fields["description"]
    found = [path for path in sorted(imported) if PurePosixPath(path).name in told]
    if len(found) != 1:
        raise TaskError(
            "It is not known which file is handed in; name it with --submit. The evaluation "
            f"imports {', '.join(sorted(imported)) or 'none'}."
        )
    return found


def rows_of(table: bytes) -> list[list[str]]:
    """Return the rows of a CSV file, the header first; none if it is no such file."""
    try:
        return list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline=""), strict=True))
    except (ValueError, csv.Error):
        return []


def _columns(task: TaskSource) -> tuple[list[str], list[str]]:
    """Return the column of the sample submission that seems to hold ids, and those that do not."""
    rows = rows_of(task.starter.get(SAMPLE, b""))
    columns = zip(*rows, strict=True) if len({len(row) for row in rows}) == 1 else ()
    repeated = [name for name, *values in columns if len(set(values)) < len(values)]
    is_named = len(rows) > 2 and len(rows[0]) > 1 and rows[0][0] not in repeated
    return (rows[0][:1] if is_named else []), repeated


def _reads_answers(task: TaskSource) -> bool:
    """Whether the evaluation seems to read something besides the submission."""
    programs = task.programs({task.evaluation, *imported_files(task.evaluation, task.starter)})
    fetches = any(b"load_dataset" in program for program in programs)
    return fetches or bool(set(named_in(programs)) - {TABLE, SAMPLE})


def _kind(path: str) -> str:
    # Programs that lie beside the evaluation have no sandbox of their own.
    kind = artefact_kind(path)
    return "text" if kind in ("code", "onnx") else kind
