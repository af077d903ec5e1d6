"""Import of MLGym's task files, and of what they name; agent files are in ``mlgym_agent.py``.

=================================  =============================================================
field                              counterpart
=================================  =============================================================
``id``, ``name``                   ``id``, ``name``
``description``                    ``description``; ``{dataset_docs}`` is filled in
``task_entrypoint``                ``submission``: a table, code, or an archive
``training_timeout``               ``timeout``
``starter_code``                   ``workspace/``
``baseline_paths``                 ``run.baseline``
``baseline_scores``                ``evaluation.metric`` (the first) and ``evaluation.baseline``
``evaluation_paths``               ``grader/files.zip``, run by ``inside/mlgym.py``
``sample_submission``              ``workspace/sample_submission.csv``
``dataset_configs``                ``data.py``: ``workspace/data``, and the grader's part of it
``secret_files``                   seen by the grader only
``requirements_path``              ``packages``, as programs import them
=================================  =============================================================
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import Any

from ludus.errors import TaskError
from ludus.research.importing.draft import Draft, imported_packages, plain_id
from ludus.research.importing.importer import ImportOptions
from ludus.research.importing.mlgym_agent import import_mlgym_agent
from ludus.research.importing.mlgym_data import import_datasets
from ludus.research.importing.mlgym_files import TaskSource, fields_of, root_of
from ludus.research.importing.mlgym_submission import (
    ARCHIVE,
    SAMPLE,
    TABLE,
    import_submission,
    rows_of,
)
from ludus.research.importing.report import ImportReport
from ludus.research.importing.rewriting import move_paths, rewritten
from ludus.research.task.config import Evaluation

__all__ = ["import_mlgym"]

_WORKSPACE = {"/home/agent/workspace": "/workspace", "/home/agent": "/workspace"}
_SECONDS = 3600.0
_LONGEST, _LONGEST_NAME = 18_000, 80
_SHARES = ("accuracy", "auc", "bleu", "f1", "precision", "r2", "recall")
"""Metrics of at most 1, by their names or parts of them."""
_NULL = '''\
"""The null submission: the sample submission."""


def null_submission(workspace):
    """Return the files by path."""
    return {"submission.csv": (workspace / "sample_submission.csv").read_bytes()}
'''
_PACK = """

Hand in {archive}, an archive of all files that the evaluation needs, with paths relative to the
workspace, such as `python -m zipfile -c {archive} checkpoints src` makes."""
_GENERIC = ("numpy", "pandas", "scipy", "sklearn")
_IGNORED = {
    "benchmark_name": "a suite lists tasks in Ludus",
    "memory_path": "notes begin empty in each episode",
}


def import_mlgym(source: Path, out: Path, options: ImportOptions) -> ImportReport:
    """Import a task or agent file; see :func:`ludus.research.importing.import_task`."""
    if source.is_dir():
        raise TaskError(f"{source} is a folder; give one of the YAML files in configs/tasks.")
    fields = fields_of(source)
    if "system_template" in fields:
        return import_mlgym_agent(source, fields, out)
    draft = Draft({})
    task = TaskSource(root_of(source), fields, draft, options)
    _identify(task)
    _programs(task)
    _evaluation(task)
    _sample(task)
    import_submission(task)
    _describe(task, import_datasets(task))
    _solutions(task)
    _null(task)
    _workspace(task)
    _rest(task)
    draft.write(out)
    return ImportReport("mlgym", "task", draft.config["id"], out, tuple(draft.rows.rows))


def _identify(task: TaskSource) -> None:
    config, rows = task.draft.config, task.draft.rows
    for name in ("id", "name", "description"):
        if not isinstance(task.fields.get(name), str):
            raise TaskError(f"{name} is {task.fields.get(name)!r:.80}; expected a text.")
    config["id"] = plain_id(task.fields["id"])
    config["name"] = task.fields["name"][:200]
    rows.mapped("id", config["id"])
    rows.mapped("name", config["name"])
    seconds = task.fields.get("training_timeout")
    if seconds is None:
        seconds = _SECONDS
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < 6e5:
        raise TaskError(f"training_timeout is {seconds!r:.80}; expected seconds.")
    rows.mapped("training_timeout", f"limit of one command, and of the evaluation: {seconds:g} s")
    config |= {
        "max_steps": 50,
        "timeout": float(seconds),
        "validations": 0,
        "resources": {"memory": "4G", "cpu": 1.0, "gpu": 0, "disk": "4G"},
    }
    rows.adapted("validate", "there is one set of answers, for the test; nothing is validated")


def _programs(task: TaskSource) -> None:
    """Read starter code and evaluation."""
    rows = task.draft.rows
    for name in task.listed("starter_code"):
        task.starter |= task.read(name, "starter_code")
    paths = task.listed("evaluation_paths")
    if not paths:
        raise TaskError("evaluation_paths is empty, so nothing can grade the task.")
    task.evaluation = PurePosixPath(paths[0]).as_posix()
    if task.evaluation not in task.starter:
        task.starter |= task.read(paths[0], "evaluation_paths")
        task.evaluation = PurePosixPath(paths[0]).name
    task.check_programs()
    names = {PurePosixPath(name).name for name in task.listed("secret_files")}
    task.secret = tuple(path for path in task.starter if PurePosixPath(path).name in names)
    rows.mapped("evaluation_paths", f"{paths[0]}, run in the grader's sandbox")
    for path in paths[1:]:
        rows.left_out("evaluation_paths", f"{path}: one evaluation is run, as in MLGym")
    if task.fields.get("evaluation_read_only"):
        rows.mapped("evaluation_read_only", "the grader has files of its own, always")
    else:
        rows.adapted("evaluation_read_only", "the agent may change its copy, to no effect")


def _evaluation(task: TaskSource) -> None:
    rows, options = task.draft.rows, task.options
    scores = task.fields.get("baseline_scores") or [{}]
    first = scores[0] if isinstance(scores, list) and isinstance(scores[0], dict) else None
    if first is None or not all(_is_score(*item) for item in first.items()):
        raise TaskError(f"baseline_scores is {scores!r:.80}; expected a list of numbers by name.")
    metric = options.metric or next(iter(first), None)
    if metric is None:
        raise TaskError("There are no baseline_scores, so give --metric and --threshold.")
    if len(metric) > _LONGEST_NAME:
        raise TaskError(f"The metric's name has more than {_LONGEST_NAME} characters.")
    baseline = {name.lower(): value for name, value in first.items()}.get(metric.lower())
    if baseline is None and options.threshold is None:
        raise TaskError(f"No baseline_scores has {metric!r}, so give --threshold.")
    probe = Evaluation.model_validate({"metric": metric, "threshold": 0.0})
    evaluation: dict[str, Any] = {"metric": metric, "direction": probe.direction}
    if baseline is not None:
        evaluation["baseline"] = float(baseline)
        rows.mapped("baseline_scores", f"{metric} {baseline:g}; {probe.direction} is better")
    if others := [name for name in first if name.lower() != metric.lower()]:
        rows.adapted("baseline_scores", f"kept as details: {', '.join(others)} (--metric chooses)")
    for other in scores[1:]:
        rows.left_out("baseline_scores", f"of another dataset: {other!r:.80}")
    threshold = options.threshold
    if threshold is None:
        threshold = _threshold(metric, baseline or 0.0, lower=probe.direction == "lower")
        rows.adapted(
            "threshold", f"not in MLGym: {threshold:g}, a tenth better; --threshold sets it"
        )
    evaluation["threshold"] = float(threshold)
    task.draft.config["evaluation"] = evaluation
    rows.left_out("evaluation.floor", "unknown until graded: ludus task run FOLDER, then add")


def _threshold(metric: str, baseline: float, *, lower: bool) -> float:
    step = abs(baseline) / 10 or 1.0
    if lower:
        return baseline - step
    is_share = any(word in metric.lower() for word in _SHARES) and baseline <= 1
    return min(baseline + step, (1 + baseline) / 2) if is_share else baseline + step


def _sample(task: TaskSource) -> None:
    if (name := task.fields.get("sample_submission")) is not None:
        found = task.read(str(name), "sample_submission")
        if found.keys() != {PurePosixPath(str(name)).name}:
            raise TaskError(f"sample_submission names {name!r:.200}, a folder; expected a file.")
        (task.starter[SAMPLE],) = found.values()
        task.draft.rows.mapped("sample_submission", f"workspace/{SAMPLE}")


def _describe(task: TaskSource, docs: str) -> None:
    """Fill in what is said of the datasets; what is too long for a description is a file."""
    told = task.fields["description"].replace("{dataset_docs}", docs)
    how = "dataset_docs filled in" if docs else "as it is"
    if len(told) > _LONGEST:
        task.draft.add_text("workspace/DATASETS.md", docs)
        told = task.fields["description"].replace("{dataset_docs}", "(see DATASETS.md)")
        how = "what is said of datasets is in DATASETS.md"
    if any(item["path"] == ARCHIVE for item in task.draft.config["submission"]):
        told += _PACK.format(archive=ARCHIVE)
        how += f"; it asks for {ARCHIVE}"
    told, count = move_paths(told, _WORKSPACE)
    if len(told) > _LONGEST:
        how += f"; cut after {_LONGEST:,} characters"
    task.draft.config["description"] = told[:_LONGEST]
    task.draft.rows.adapted("description", f"{how}; {count} paths rewritten")


def _solutions(task: TaskSource) -> None:
    """Make the baseline; it stands in for the reference, of which MLGym has none."""
    rows, draft = task.draft.rows, task.draft
    paths = task.listed("baseline_paths")
    (*_, handed_in) = [item["path"] for item in draft.config["submission"]]
    command: str | None = None
    if paths and (path := paths[0]) != task.evaluation:
        if path not in task.starter:
            task.starter |= task.read(path, "baseline_paths")
            path = PurePosixPath(path).name
        command = f"python {shlex.quote(path)}"
        if handed_in == ARCHIVE:
            command += f" && python -m zipfile -c {ARCHIVE} $(ls | grep -vx data)"
        rows.mapped("baseline_paths", command)
    elif handed_in in task.starter:
        command = f"test -f {shlex.quote(handed_in)}"
        rows.adapted("baseline_paths", f"the starter code is handed in as it is: {handed_in}")
    elif handed_in == TABLE and SAMPLE in task.starter.keys() - set(task.secret):
        command = f"cp {SAMPLE} {TABLE}"
        rows.adapted("baseline_paths", "none is given; the sample submission stands in for it")
    else:
        rows.left_out("baseline_paths", "none is given, so there is nothing to run")
    for path in paths[1:]:
        rows.left_out("baseline_paths", f"{path}: one baseline is run, as in MLGym")
    for which in ("baseline", "reference"):
        draft.add_text(f"{which}/SOLUTION.md", f"Run: {command}\n")
    if command is not None:
        draft.config["run"] = dict.fromkeys(("baseline", "reference"), command)
        rows.left_out("reference", "MLGym has none; the baseline stands in for it")


def _null(task: TaskSource) -> None:
    """Make the sample submission the null submission if it has as many rows as the answers."""
    draft, sample = task.draft, rows_of(task.starter.get(SAMPLE, b""))
    if [item["path"] for item in draft.config["submission"]] != [TABLE]:
        return
    if SAMPLE in task.secret:
        sample = []
    lengths = {
        len(rows_of(file))
        for path, file in draft.files.items()
        if path.startswith("data/") and path.endswith(".csv")
    }
    if sample and len(sample) in lengths:
        draft.add_text("null.py", _NULL)
        draft.rows.mapped("null submission", f"{SAMPLE}, {len(sample) - 1:,} rows")
    else:
        draft.rows.left_out(
            "null submission", "no sample has as many rows as the answers: add null.py"
        )


def _workspace(task: TaskSource) -> None:
    shown = {path: data for path, data in task.starter.items() if path not in task.secret}
    task.draft.add("workspace", rewritten(shown, _WORKSPACE))
    rows = task.draft.rows
    rows.mapped("starter_code", f"{len(shown)} files are in the workspace")
    if task.evaluation in shown:
        rows.adapted("starter_code", f"{task.evaluation}: a copy, which decides nothing")
    if task.fields.get("secret_files"):
        rows.mapped("secret_files", "for the grader only; MLGym shows them")


def _rest(task: TaskSource) -> None:
    rows, fields = task.draft.rows, task.fields
    here, missing = imported_packages(task.programs(task.starter))
    parts = (part for path in task.starter for part in PurePosixPath(path).parts)
    local = {part.removesuffix(".py") for part in parts}
    generic = [name for name in _GENERIC if find_spec(name) is not None]
    if fields.get("use_generic_conda", True):
        here = sorted({*here, *generic})
        rows.adapted("use_generic_conda", f"of it there are {', '.join(generic)}")
    task.draft.config["packages"] = [name for name in here if name not in local]
    if (path := fields.get("requirements_path")) is not None:
        rows.adapted(
            "requirements_path", f"{path}: packages as programs import them, of this Python"
        )
    if missing := [name for name in missing if name not in local]:
        rows.left_out("packages", f"not here: {', '.join(missing)}")
    for name, how in _IGNORED.items():
        if name in fields:
            rows.left_out(name, how)
    for name in sorted(fields.keys() - _KNOWN):
        rows.left_out(name, f"no counterpart for {str(fields[name])!r:.80}")


def _is_score(name: Any, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME


_KNOWN = {
    *("id", "name", "description", "dataset_configs", "task_entrypoint", "training_timeout"),
    *("requirements_path", "starter_code", "baseline_paths", "baseline_scores", "secret_files"),
    *("sample_submission", "evaluation_paths", "evaluation_read_only", *_IGNORED),
    "use_generic_conda",
}
