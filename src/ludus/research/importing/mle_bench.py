"""Import of MLE-bench competitions: ``config.yaml``, ``prepare.py``, ``grade.py`` and their files.

===========================  ===================================================================
field or file                counterpart
===========================  ===================================================================
``id``, ``name``             ``id``, ``name``
``description``              ``description``, and ``workspace/description.md``
``preparer``                 ``data.py`` runs it in a sandbox of its own
``grader.grade_fn``          ``grader/competitions/``, called by ``inside/mle_bench.py``
``dataset.answers``          the file of the private data that the grader compares with
``leaderboard.csv``          ``evaluation.direction``, ``threshold`` (gold), ``notes/medals.json``
raw data                     ``raw/``, or the folder that ``LUDUS_DATA_<ID>`` names
===========================  ===================================================================
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ludus.errors import TaskError
from ludus.plain_yaml import YamlError, read_yaml
from ludus.research.data.sources import data_variable
from ludus.research.importing.draft import Draft, imported_packages, plain_id
from ludus.research.importing.importer import ImportOptions
from ludus.research.importing.leaderboard import Leaderboard, read_leaderboard
from ludus.research.importing.report import ImportReport
from ludus.research.importing.source_files import read_source, source_tree

__all__ = ["import_mle_bench"]

SUBMISSION = "submission.csv"
_LONGEST_DESCRIPTION = 18_000
_GRADE = (
    '"""Calls the imported grading function."""\n\n'
    "from ludus.research.importing.inside.mle_bench import grade\n"
)
_DATA = '''\
"""Runs the imported preparation in a sandbox of its own."""

from pathlib import Path

from ludus.research.importing.preparing import prepare_competition


def build(folder, seed):
    """Write public data into the workspace, and private data beside it."""
    prepare_competition(Path(__file__).parent, folder)
'''
_NULL = '''\
"""The null submission: the competition's sample submission."""


def null_submission(workspace):
    """Return the files by path."""
    return {{"submission.csv": (workspace / {sample!r}).read_bytes()}}
'''


def import_mle_bench(source: Path, out: Path, options: ImportOptions) -> ImportReport:
    """Import a competition folder; see :func:`ludus.research.importing.import_task`."""
    config = _config(source)
    name = _text(config, "id")
    draft = Draft({"id": plain_id(name), "name": str(config.get("name") or name)[:200]})
    rows = draft.rows
    rows.mapped("id", draft.config["id"])
    board = _leaderboard(draft, source)
    _evaluation(draft, board, options)
    programs = {path: data for path, data in source_tree(source).items() if path.endswith(".py")}
    entries = {
        "grade": _entry(str(_table(config, "grader").get("grade_fn", "")), name, "grade", programs),
        "prepare": _entry(str(config.get("preparer", "")), name, "prepare", programs),
    }
    answers, sample = (_data_path(config, which) for which in ("answers", "sample_submission"))
    _describe(draft, source, config, sample)
    preparer = f"{entries['prepare'].partition(':')[0]}.py"
    needed = {path: data for path, data in programs.items() if path != preparer}
    draft.add(f"grader/competitions/{name}", needed)
    # The preparation needs a copy of its own, since the grader's folder is the grader's only.
    draft.add(f"prepare/competitions/{name}", programs)
    settings = {"id": name, **entries, "answers": answers, "sample": sample}
    draft.add_text("grader/settings.json", json.dumps(settings))
    draft.add_text("prepare/settings.json", json.dumps(settings))
    draft.add_text("grader/grade.py", _GRADE)
    draft.add_text("data.py", _DATA)
    for solution in ("baseline", "reference"):
        draft.add_text(f"{solution}/README.md", "The sample submission is handed in.\n")
    draft.add_text("null.py", _NULL.format(sample=f"data/{sample}"))
    rows.mapped("grader.grade_fn", f"{entries['grade']}, called in the grader's sandbox")
    rows.mapped("preparer", f"{entries['prepare']}, called in a sandbox of its own")
    rows.mapped("dataset.answers", f"{answers}, seen by the grader only")
    draft.config |= {
        "max_steps": 100,
        "timeout": 3600.0,
        "validations": 0,
        "resources": {"memory": "4G", "cpu": 1.0, "gpu": 0, "disk": "4G"},
        "submission": [{"path": SUBMISSION, "kind": "csv", "max_bytes": "256M"}],
        "run": dict.fromkeys(("baseline", "reference"), f"cp data/{sample} {SUBMISSION}"),
    }
    rows.adapted("validation", "a competition has one private set, so there is no validation")
    rows.adapted("baseline", "the sample submission is baseline and reference")
    here, missing = imported_packages(programs.values())
    draft.config["packages"] = sorted({*here, "pandas"})
    if missing:
        rows.left_out("packages", f"not here: {', '.join(missing)}")
    _raw(draft, options)
    for field in sorted(config.keys() - _KNOWN):
        rows.left_out(field, f"no counterpart for {config[field]!r:.80}")
    draft.write(out)
    return ImportReport("mle-bench", "task", draft.config["id"], out, tuple(rows.rows))


_KNOWN = {"id", "name", "description", "dataset", "grader", "preparer"}


def _config(source: Path) -> dict[str, Any]:
    file = source / "config.yaml"
    if not file.is_file():
        raise TaskError(f"{source} has no config.yaml; give the folder of one competition.")
    try:
        found = read_yaml(read_source(file)).data
    except YamlError as problem:
        raise TaskError(f"{file}, line {problem.line}: {problem.problem}.") from problem
    if not isinstance(found, dict):
        raise TaskError(f"{file} holds a {type(found).__name__}; expected fields such as 'id: …'.")
    return found


def _leaderboard(draft: Draft, source: Path) -> Leaderboard | None:
    file = source / "leaderboard.csv"
    if not file.is_file():
        draft.rows.left_out("leaderboard.csv", "not there; the direction is guessed as higher")
        return None
    text = read_source(file)
    if text.startswith("version https://git-lfs"):
        raise TaskError(f"{file} is a Git LFS pointer; fetch the file itself with git lfs pull.")
    return read_leaderboard(text)


def _evaluation(draft: Draft, board: Leaderboard | None, options: ImportOptions) -> None:
    direction = "higher" if board is None else board.direction
    threshold = options.threshold
    if threshold is None:
        if board is None:
            raise TaskError(
                "Without leaderboard.csv it is not known which score is good; give one with "
                "--threshold."
            )
        threshold = board.medals()["gold"]
    evaluation: dict[str, Any] = {
        "metric": "score", "direction": direction, "threshold": float(threshold),
    }  # fmt: skip
    if board is not None:
        medals = board.medals()
        notes = {"teams": len(board.scores), "median": board.median, "medals": medals}
        draft.add_text("notes/medals.json", json.dumps(notes, indent=2) + "\n")
        shown = ", ".join(f"{name} {score:g}" for name, score in medals.items())
        draft.rows.mapped("leaderboard.csv", f"{direction} is better; threshold: gold")
        draft.rows.adapted("medals", f"kept in notes/medals.json: {shown}")
    draft.config["evaluation"] = evaluation
    draft.rows.left_out("evaluation.floor", "unknown until graded: ludus task run FOLDER, then add")


def _describe(draft: Draft, source: Path, config: Mapping[str, Any], sample: str) -> None:
    named = PurePosixPath(str(config.get("description") or "description.md")).name
    text = read_source(source / named)
    draft.add_text("workspace/description.md", text)
    task = (
        f"The competition is described in description.md; its data is in the folder data. Hand in "
        f"{SUBMISSION}, in the form of data/{sample}. The score is computed on private data.\n\n"
    )
    shown = text[:_LONGEST_DESCRIPTION]
    draft.config["description"] = task + shown
    cut = "" if shown == text else f"; the first {_LONGEST_DESCRIPTION} characters"
    draft.rows.mapped("description", f"{named}{cut}")


def _raw(draft: Draft, options: ImportOptions) -> None:
    place = options.data
    if place is None:
        variable = data_variable(draft.config["id"])
        draft.rows.left_out("raw data", f"set {variable}, or put it into the folder raw")
        return
    files = source_tree(place)
    if not files:
        raise TaskError(f"{place} has no files; --data names the folder with the raw data.")
    draft.add("raw", files)
    draft.rows.mapped("raw data", f"{len(files)} files are in the folder raw")


def _entry(name: str, id: str, default: str, programs: Mapping[str, bytes]) -> str:
    """Return ``module:function`` of a program in the competition's folder."""
    module, _, function = name.partition(":")
    file = module.rpartition(".")[2] or default
    function = function or default
    if not (file.isidentifier() and function.isidentifier()) or f"{file}.py" not in programs:
        raise TaskError(
            f"The competition {id} names {name!r:.120}; expected a function of a file in its "
            f"folder, such as mlebench.competitions.{id}.{default}:{default}."
        )
    return f"{file}:{function}"


def _data_path(config: Mapping[str, Any], name: str) -> str:
    """Return what follows ``public/`` or ``private/`` in a path."""
    given = str(_table(config, "dataset").get(name) or "")
    parts = PurePosixPath(given).parts
    for index, part in enumerate(parts):
        if part in ("public", "private"):
            parts = parts[index + 1 :]
            break
    if not parts or ".." in parts or parts[0] == "/" or not re.fullmatch(r"[\w. /-]+", given):
        raise TaskError(
            f"config.yaml: dataset.{name} is {given!r:.120}; expected a path such as "
            "my-competition/prepared/private/test.csv."
        )
    return PurePosixPath(*parts).as_posix().replace(" ", "_")


def _table(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = config.get(name)
    if not isinstance(value, dict):
        raise TaskError(f"config.yaml: {name} is {value!r:.80}; expected fields below it.")
    return value


def _text(config: Mapping[str, Any], name: str) -> str:
    value = config.get(name)
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][\w.-]{0,79}", value):
        raise TaskError(f"config.yaml: {name} is {value!r:.80}; expected letters, digits and '-'.")
    return value
