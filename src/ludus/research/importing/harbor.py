"""Import of Harbor and terminal-bench tasks: ``task.toml``, ``instruction.md`` and their folders.

=================================  =============================================================
field or file                      counterpart
=================================  =============================================================
``task.name``                      ``id``; ``task.description`` is the name
``instruction.md``                 ``description``
``artifacts``, or named in tests   ``submission``
``agent.timeout_sec``              ``timeout``
``verifier.timeout_sec``           limit of the verifier's run
``environment.cpus`` …             ``resources``
``environment/``                   ``workspace/``: files that the Dockerfile copies
``tests/``                         ``grader/tests/``, run by ``inside/harbor.py``
``solution/``                      ``reference/solution/``
=================================  =============================================================

The working folder, ``/tests``, ``/logs`` and ``/solution`` lie elsewhere in Ludus's sandboxes;
their paths are rewritten in text files.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from ludus.errors import TaskError
from ludus.research.importing.dockerfile import Image, read_dockerfile
from ludus.research.importing.draft import (
    Draft,
    artefact_kind,
    imported_packages,
    is_program,
    plain_id,
)
from ludus.research.importing.importer import ImportOptions
from ludus.research.importing.report import ImportReport
from ludus.research.importing.rewriting import move_paths, packed, rewritten
from ludus.research.importing.source_files import read_source, source_tree

__all__ = ["import_harbor"]

_HERE = {"/tests": "/tmp/tests", "/logs": "/tmp/logs", "/solution": "/workspace/solution"}  # noqa: S108
_IGNORED = ("schema_version", "source", "metadata", "steps", "multi_step_reward_strategy")
_GRADE = (
    '"""Runs the imported tests."""\n\nfrom ludus.research.importing.inside.harbor import grade\n'
)
_NULL = '''\
"""The null submission: empty files."""


def null_submission(workspace):
    """Return the files by path."""
    return dict.fromkeys({paths!r}, b"")
'''


def import_harbor(source: Path, out: Path, options: ImportOptions) -> ImportReport:
    """Import a Harbor task folder; see :func:`ludus.research.importing.import_task`."""
    if not (source / "task.toml").is_file():
        raise TaskError(f"{source} has no task.toml; give the folder of a Harbor task.")
    try:
        settings = tomllib.loads(read_source(source / "task.toml"))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise TaskError(f"{source / 'task.toml'} is no TOML: {problem}.") from problem
    tests, environment = source_tree(source / "tests"), source_tree(source / "environment")
    solution = source_tree(source / "solution")
    if "test.sh" not in tests:
        raise TaskError(f"{source / 'tests'} has no test.sh, so nothing can verify the work.")
    image = read_dockerfile(environment)
    environment_settings = _table(settings, "environment")
    workdir = str(environment_settings.get("workdir") or image.workdir or "/app").rstrip("/")
    moved = {**_HERE, workdir or "/app": "/workspace"}
    draft = Draft({})
    _describe(draft, source, settings, moved)
    paths = _submission(draft, settings, tests, workdir, image, options)
    _resources(draft, environment_settings)
    _workspace(draft, image, moved)
    # Tests work in a folder of their own, on copies of the inputs that no agent can change.
    verifying = {**_HERE, workdir or "/app": "/tmp/work"}  # noqa: S108 - in the sandbox
    draft.add("grader/tests", _moved(draft, "tests", tests, verifying))
    draft.files["grader/files.zip"] = packed(rewritten(image.files, verifying))
    draft.add_text("grader/grade.py", _GRADE)
    seconds = _seconds(_table(settings, "verifier").get("timeout_sec"), 600.0)
    draft.rows.mapped("verifier.timeout_sec", f"the tests may take {seconds:g} s")
    limits = {"seconds": seconds, "code_beside_tests": options.code_beside_tests, "bounds": [0, 1]}
    draft.add_text("grader/settings.json", json.dumps({"paths": paths, **limits}))
    draft.add_text("null.py", _NULL.format(paths=paths))
    _solutions(draft, solution, paths, moved)
    here, missing = imported_packages(tests.values())
    draft.config["packages"] = sorted({*here, "pytest"})
    if missing:
        draft.rows.left_out("tests", f"they import {', '.join(missing)}, which is not here")
    _rest(draft, settings)
    draft.write(out)
    return ImportReport("harbor", "task", draft.config["id"], out, tuple(draft.rows.rows))


def _describe(draft: Draft, source: Path, settings: Any, moved: Mapping[str, str]) -> None:
    task = _table(settings, "task")
    name = str(task.get("name") or source.resolve().name)
    draft.config["id"] = plain_id(name.rpartition("/")[2])
    draft.config["name"] = str(task.get("description") or name)[:200]
    draft.rows.mapped("task.name", f"id: {draft.config['id']}")
    instruction, count = move_paths(read_source(source / "instruction.md"), moved)
    if len(instruction) > 20_000:
        raise TaskError(
            f"{source / 'instruction.md'} has {len(instruction):,} characters; a description has "
            "at most 20,000."
        )
    draft.config["description"] = instruction
    draft.rows.mapped("instruction.md", f"description; {count} paths rewritten")
    agent = _seconds(_table(settings, "agent").get("timeout_sec"), 1800.0)
    draft.config |= {"timeout": agent, "max_steps": 100, "validations": 0}
    draft.rows.adapted("agent.timeout_sec", f"limit of one command: {agent:g} s; 100 steps")
    draft.rows.adapted("reward", "score of the test split, 0 to 1; there is no validation split")
    draft.config["evaluation"] = {
        "metric": "reward", "direction": "higher", "threshold": 1.0, "baseline": 0.0, "floor": 0.0,
    }  # fmt: skip


def _submission(
    draft: Draft,
    settings: Any,
    tests: Mapping[str, bytes],
    workdir: str,
    image: Image,
    options: ImportOptions,
) -> list[str]:
    given = [
        item["source"] if isinstance(item, dict) and "source" in item else item
        for item in _list(settings, "artifacts")
    ]
    declared = [str(item) for item in given if isinstance(item, str)]
    if options.submit:
        paths, how = list(options.submit), "given by --submit"
    elif declared:
        paths, how = declared, "listed in artifacts"
    else:
        paths, how = _named(tests, workdir, image.files), "not listed: found in the tests"
    prefix = f"{workdir}/"
    paths = sorted({path.removeprefix(prefix) for path in paths})
    if not paths or any(path.startswith("/") or path.endswith("/") for path in paths):
        raise TaskError(
            "It is not clear which files the agent hands in: task.toml lists no artifacts that are "
            f"files below {workdir}. Name them with --submit, such as --submit result.txt."
        )
    programs = [path for path in paths if is_program(path)]
    if programs and not options.code_beside_tests:
        raise TaskError(
            f"{programs[0]} is a program. Tests would run it in their own sandbox, where it can "
            "write the reward itself. Leave it out with --submit, or accept that with "
            "--code-beside-tests."
        )
    note = "adapted" if how.startswith("not") or programs else "mapped"
    warning = "; submitted programs run beside the tests and can forge rewards" if programs else ""
    getattr(draft.rows, note)("artifacts", f"{', '.join(paths)} ({how}){warning}")
    kinds = {path: artefact_kind(path) for path in paths}
    # Programs run where the tests run them, so no sandbox of their own is opened.
    if programs:
        draft.config["code_beside_tests"] = True
    draft.config["submission"] = [
        {"path": path, "kind": "text" if kind in ("code", "onnx") else kind}
        for path, kind in kinds.items()
    ]
    return paths


def _named(tests: Mapping[str, bytes], workdir: str, given: Mapping[str, bytes]) -> list[str]:
    """Return files below the working folder that tests name and the environment does not have."""
    pattern = re.compile(rf"(?<![\w./-]){re.escape(workdir)}/([\w./-]+\.\w+)")
    texts = [data.decode("utf-8", "replace") for data in tests.values()]
    found = {match for text in texts for match in pattern.findall(text)}
    return sorted(found - given.keys())


def _resources(draft: Draft, settings: Mapping[str, Any]) -> None:
    sizes = {"memory": ("memory_mb", 2048), "disk": ("storage_mb", 1024)}
    resources: dict[str, Any] = {"gpu": 0, "cpu": 1.0}
    for name, (field, default) in sizes.items():
        value = settings.get(field, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        resources[name] = f"{int(value) if is_number and 16 <= value <= 1 << 20 else default}M"
    cpus = settings.get("cpus", 1)
    if isinstance(cpus, int | float) and 0 < cpus <= 1024:
        resources["cpu"] = float(cpus)
    draft.config["resources"] = resources
    draft.rows.mapped("environment", ", ".join(f"{k} {v}" for k, v in resources.items()))
    for field, value in settings.items():
        if field in ("cpus", "memory_mb", "storage_mb", "workdir"):
            continue
        if field == "network_mode" and value == "no-network":
            draft.rows.mapped("environment.network_mode", "sandboxes have no network")
        else:
            draft.rows.left_out(f"environment.{field}", f"no counterpart for {value!r:.60}")


def _workspace(draft: Draft, image: Image, moved: Mapping[str, str]) -> None:
    draft.add("workspace", rewritten(image.files, moved))
    draft.rows.mapped("environment/", f"{len(image.files)} files are in the workspace")
    for line in image.left_out:
        draft.rows.left_out("Dockerfile", f"not carried out: {line:.120}")


def _solutions(
    draft: Draft, solution: Mapping[str, bytes], paths: list[str], moved: Mapping[str, str]
) -> None:
    places = [(shlex.quote(str(PurePosixPath(path).parent)), shlex.quote(path)) for path in paths]
    lines = [f"mkdir -p {folder} && touch {path}" for folder, path in places]
    draft.add_text("baseline/baseline.sh", "\n".join([*lines, ""]))
    run = {"baseline": "bash baseline.sh", "reference": "bash baseline.sh"}
    draft.config["run"] = run
    if "solve.sh" in solution:
        run["reference"] = "bash solution/solve.sh"
        draft.add("reference/solution", _moved(draft, "solution", solution, moved))
    else:
        draft.add_text("reference/baseline.sh", "\n".join([*lines, ""]))
        draft.rows.left_out("solution/", "there is no solve.sh; the baseline stands in for it")


def _rest(draft: Draft, settings: Mapping[str, Any]) -> None:
    for field in _IGNORED:
        if field in settings and field != "schema_version":
            draft.rows.left_out(field, "no counterpart")
    for field, value in _table(settings, "verifier").items():
        if field == "environment_mode":
            how = "the verifier always has a sandbox of its own"
            (draft.rows.mapped if value == "separate" else draft.rows.adapted)(field, how)
        elif field != "timeout_sec":
            draft.rows.left_out(f"verifier.{field}", "no counterpart")
    draft.rows.adapted(
        "tests/test.sh", "no network: installers do nothing, pytest is this Python's"
    )


def _moved(
    draft: Draft, name: str, files: Mapping[str, bytes], moved: Mapping[str, str]
) -> dict[str, bytes]:
    made = rewritten(files, moved)
    changed = sum(made[path] != files[path] for path in files)
    draft.rows.adapted(f"{name}/", f"{len(files)} files, paths rewritten in {changed}")
    return made


def _table(settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = settings.get(name, {})
    if not isinstance(value, dict):
        raise TaskError(f"task.toml: {name} is {value!r:.80}; expected a table [{name}].")
    return value


def _list(settings: Mapping[str, Any], name: str) -> Iterable[Any]:
    value = settings.get(name, [])
    if not isinstance(value, list):
        raise TaskError(f"task.toml: {name} is {value!r:.80}; expected a list.")
    return value


def _seconds(value: Any, default: float) -> float:
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 604_800:
        raise TaskError(f"task.toml: timeout_sec is {value!r:.80}; expected seconds up to 604800.")
    return float(value)
