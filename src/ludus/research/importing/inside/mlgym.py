"""Runs an imported MLGym evaluation in the grader's sandbox and reads the metrics it prints.

The evaluation works in a fresh folder with its own files. Submitted functions run in the
submission's sandbox: in the evaluation, a module of the same name passes the calls on. Where the
evaluation needs more of a submission than calls of functions, and only if the import accepted that,
submitted files lie beside the evaluation, in a process of their own that could print anything.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
import runpy
import shutil
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.research.grading import Score, Split, Submission
from ludus.research.importing.inside.programs import run_program
from ludus.untrusted.packages import PACKAGES

__all__ = ["grade", "read_metrics"]

_WORK = Path("/tmp/work")  # noqa: S108 - the sandbox's own
_ID = re.compile(r"(?i:(^|[_ -])id$)|[a-z]I[Dd]$")
_SAMPLE = "sample_submission.csv"
_SHOWN = 4000
_LONGEST = 256 << 20
_MOST_FILES = 2000


def grade(submission: Submission, labels: Path, seed: int, split: Split) -> Score:  # noqa: ARG001
    """Return the metric that the evaluation prints for the submitted files.

    Raises:
        SubmissionRejected: A table repeats an id or lacks one, or an archive is none.
        GradingFailed: The evaluation fails, takes too long, or prints no such metric.
    """
    home = Path(str(sys.modules["grade"].__file__)).parent
    settings = json.loads((home / "settings.json").read_text("utf-8"))
    files = {path: submission.raw(path) for path in settings["paths"]}
    if not submission.folder.is_relative_to("/workspace"):
        raise GradingFailed("Imported evaluations need an isolating sandbox; 'process' is none.")
    _WORK.mkdir()
    with zipfile.ZipFile(home / "files.zip") as archive:
        archive.extractall(_WORK)
    wanted = _wanted(_WORK / _SAMPLE, labels)
    for path, data in files.items():
        if path in settings["calls"]:
            continue
        if path == settings["archive"]:
            _unpack(path, data, settings["own"])
        else:
            _write(_WORK / path, data)
        if path.endswith(".csv"):
            _check_ids(path, data, settings["ids"], settings["repeated"], wanted)
    if (labels / "data").is_dir():
        shutil.rmtree(_WORK / "data", ignore_errors=True)
        (_WORK / "data").symlink_to(labels / "data")
    arguments = _arguments(settings)
    if settings["code_beside_tests"]:
        printed = _run_beside(settings, arguments, labels)
    else:
        stand_ins = [_stand_in(submission, *item) for item in settings["calls"].items()]
        printed = _run_here(settings, arguments, stand_ins, labels)
    try:
        value, metrics = read_metrics(printed, settings["metric"])
    except ValueError as problem:
        raise GradingFailed(f"{problem}\n{printed[-_SHOWN:]}") from None
    return Score(value, {"metrics": metrics, "code_beside_tests": settings["code_beside_tests"]})


def read_metrics(printed: str, metric: str) -> tuple[float, dict[str, float]]:
    """Return a metric, and all numbers, of the last line that is a JSON object, or of the whole.

    Raises:
        ValueError: There is no such line, or no finite number of this name in it.
    """
    for text in (*reversed(printed.splitlines()), printed):
        if text.strip().startswith("{"):
            with contextlib.suppress(ValueError, RecursionError):
                found = json.loads(text)
                break
    else:
        raise ValueError("The evaluation printed no line with metrics in JSON.")
    numbers = {
        str(name)[:80]: float(value)
        for name, value in list(found.items())[:100]
        if type(value) in (int, float) and math.isfinite(value)
    }
    folded = {name.lower(): value for name, value in numbers.items()}
    if metric.lower() not in folded:
        raise ValueError(f"The evaluation printed no finite {metric!r}: {text[:500]}")
    return folded[metric.lower()], numbers


def _arguments(settings: dict[str, Any]) -> list[str]:
    kind = settings["entrypoint"]
    if kind == "CSVSubmissionTasks":
        return ["--submission_file", str(_WORK / "submission.csv")]
    if kind == "ModelSubmissionTasks":
        found = sorted(_WORK.rglob("*.yaml"), key=lambda path: (len(path.parts), path))
        return ["--config_fname", str(found[0])] if found else []
    return []


def _run_here(
    settings: dict[str, Any], arguments: list[str], stand_ins: Iterable[ModuleType], labels: Path
) -> str:
    """Run the evaluation in this process and return what it printed."""
    program = str(_WORK / settings["evaluation"])
    os.environ |= _environment(labels)
    os.chdir(_WORK)
    sys.path[:0] = [str(Path(program).parent), str(_WORK)]
    sys.argv = [program, *arguments]
    sys.modules.update({module.__name__: module for module in stand_ins})
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(program, run_name="__main__")
    except SystemExit as problem:
        if problem.code not in (None, 0):
            raise GradingFailed(
                f"The evaluation ended with {problem.code!r:.200}.\n{output.getvalue()[-_SHOWN:]}"
            ) from None
    except (GradingFailed, SubmissionRejected):
        raise
    except Exception as problem:  # the imported program's own
        trace = "".join(traceback.format_exception(problem))
        raise GradingFailed(f"The evaluation raised:\n{trace[-_SHOWN:]}") from None
    return output.getvalue()


def _run_beside(settings: dict[str, Any], arguments: list[str], labels: Path) -> str:
    """Run the evaluation, and submitted code with it, in a process of its own."""
    environment = {
        **_environment(labels),
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join([PACKAGES, str(_WORK)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    argv = [sys.executable, str(_WORK / settings["evaluation"]), *arguments]
    code, printed = run_program("The evaluation", argv, _WORK, environment, settings["seconds"])
    if code != 0:
        raise GradingFailed(f"The evaluation ended with {code}.\n{printed[-_SHOWN:]}")
    return printed


def _environment(labels: Path) -> dict[str, str]:
    """Return variables: one process of a distributed run, and the hub's tools without a network."""
    hub = labels / "data" / "huggingface"
    return {
        "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500", "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1", **({"HF_HOME": str(hub)} if hub.is_dir() else {}),
    }  # fmt: skip


def _stand_in(submission: Submission, path: str, names: list[str]) -> ModuleType:
    """Return a module whose functions are called in the submission's sandbox."""
    code = submission.code(path)
    module = ModuleType(PurePosixPath(path).stem)

    def caller(name: str) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            return code.call(name, *arguments)

        call.__name__ = name
        return call

    for name in names:
        setattr(module, name, caller(name))
    return module


def _unpack(name: str, data: bytes, own: list[str]) -> None:
    """Extract an archive: plain files, below the folder, of limited size; no file of its ``own``.

    Raises:
        SubmissionRejected: It is something else.
    """
    text = f"{name} is no archive that can be unpacked: "
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [item for item in archive.infolist() if not item.is_dir()]
            if len(members) > _MOST_FILES or sum(item.file_size for item in members) > _LONGEST:
                text += "it has too many files, or too large ones."
                raise SubmissionRejected(text, told=text)
            for item in members:
                path = PurePosixPath(item.filename)
                if path.is_absolute() or ".." in path.parts:
                    text += "a path in it leads out."
                    raise SubmissionRejected(text, told=text)
                if path.as_posix() not in own:
                    _write(_WORK / path, archive.read(item))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError) as problem:
        text += f"{type(problem).__name__}."
        raise SubmissionRejected(text, told=text) from None


def _write(target: Path, data: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)


def _check_ids(
    path: str, data: bytes, ids: list[str], repeated: list[str], wanted: set[str]
) -> None:
    """Refuse a table that repeats an id, or has others than ``wanted``, if that is known.

    Many evaluations join by ids: they would count a row twice, or leave out those that are hard.

    Raises:
        SubmissionRejected: It is no table, or has not each id once.
    """
    try:
        rows = _rows(data)
    except (ValueError, csv.Error) as problem:
        text = f"{path} is no table: {type(problem).__name__}."
        raise SubmissionRejected(text, told=text) from None
    for index, name in enumerate(rows[0] if rows else []):
        if name in repeated or not (name in ids or _ID.search(name)):
            continue
        values = [_plain(row[index]) for row in rows[1:] if index < len(row)]
        if len(set(values)) < len(values):
            text = f"{path}: the column {name[:80]!r} has a value more than once."
            raise SubmissionRejected(text, told=text)
        if wanted and name in ids and set(values) != wanted:
            text = f"{path}: the column {name[:80]!r} has not the ids of {_SAMPLE}."
            raise SubmissionRejected(text, told=text)


def _rows(table: bytes) -> list[list[str]]:
    """Return the rows of a table.

    Raises:
        ValueError: It is no text.
        csv.Error: It is no table.
    """
    return list(csv.reader(io.StringIO(table.decode("utf-8-sig"), newline=""), strict=True))


def _wanted(sample: Path, labels: Path) -> set[str]:
    """Return the ids of the sample submission if it has as many rows as a file of answers."""
    known: list[list[str]] = []
    for file in (sample, *sorted((labels / "data").rglob("*.csv"))):
        with contextlib.suppress(ValueError, csv.Error, FileNotFoundError):
            rows = _rows(file.read_bytes())
            if file == sample:
                known = rows
            elif len(rows) == len(known) > 1:
                return {_plain(row[0]) for row in known[1:] if row}
    return set()


def _plain(value: str) -> str:
    """Return a value without what a reader of tables ignores: 1, 1.0 and ' 1' are one id."""
    value = value.strip()
    try:
        if re.fullmatch(r"[-+]?[0-9]+", value):
            return str(int(value))
        number = float(value)
    except ValueError:
        return value
    return str(int(number)) if number.is_integer() else repr(number)
