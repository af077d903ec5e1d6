"""The data of imported MLGym tasks: what the agent sees of it, and what only the grader sees.

MLGym shows all data to the agent, labels included. Here files that the evaluation names and no
other program does are the grader's alone, and so are those in ``secret_files``.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ludus.errors import DataMissing, TaskError
from ludus.research.data.sources import data_variable, given_folder
from ludus.research.importing.mlgym_code import imported_files, named_in
from ludus.research.importing.mlgym_files import TaskSource, fields_of
from ludus.research.importing.source_files import inside, plain_paths, source_tree

__all__ = ["AGENT", "GRADER", "divided", "import_datasets", "place_data"]

AGENT, GRADER = "agent", "grader"
"""Folders of given data that is divided already."""
_FIELDS = {
    "data_path",
    "description",
    "is_local",
    "name",
    "test_split",
    "train_split",
    "valid_split",
}
_DATA = '''\
"""Divides the imported data between agent and grader."""

from pathlib import Path

from ludus.research.importing.mlgym_data import place_data


def build(folder, seed):
    """Write what the agent sees into the workspace, and the grader's data beside it."""
    place_data(Path(__file__).parent, folder)
'''


def import_datasets(task: TaskSource) -> str:
    """Take over data that is here, say what is missing, and return MLGym's text of all datasets."""
    configs = [_dataset(task, name) for name in task.listed("dataset_configs")]
    data: dict[str, bytes] = {}
    missing: list[str] = []
    for one in configs:
        name, place = one["name"], one["data_path"]
        if not one.get("is_local"):
            missing.append(
                f"{name}: huggingface-cli download --repo-type dataset {place}; the evaluation "
                f"looks for a cache (HF_HOME) in {GRADER}/huggingface"
            )
        elif found := source_tree(inside(task.root, place, "data_path"), task.budget):
            data |= found
        else:
            missing.append(f"{name}: MLGym keeps it in {place}, which has no files here")
    if task.options.data is not None:
        data, missing = source_tree(task.options.data), []
    if configs or data:
        _add(task, data, missing)
    return "".join(f"{one['name'].upper()}:\n{one['description']}\n\n" for one in configs)


def _dataset(task: TaskSource, name: str) -> dict[str, Any]:
    """Return the fields of a dataset file; its path begins at MLGym's folder of configurations."""
    folder = task.root / "configs"
    file = inside(folder if folder.is_dir() else task.root, name, "dataset_configs")
    found = fields_of(file)
    for field in ("data_path", "description", "name"):
        if not isinstance(found.get(field), str):
            raise TaskError(f"{file}: {field} is {found.get(field)!r:.80}; expected a text.")
    for field in sorted(found):
        if field.endswith("_split"):
            how = "agent and grader have the files that their programs name"
            task.draft.rows.adapted(f"{name}: {field}", how)
        elif field not in _FIELDS:
            task.draft.rows.left_out(f"{name}: {field}", f"no counterpart for {found[field]!r:.60}")
    return found


def _add(task: TaskSource, data: dict[str, bytes], missing: list[str]) -> None:
    rows, draft = task.draft.rows, task.draft
    evaluating = {task.evaluation, *imported_files(task.evaluation, task.starter)}
    settings = {
        "id": draft.config["id"],
        "missing": missing,
        "evaluated": named_in(task.programs(evaluating)),
        "used": named_in(task.programs(task.starter.keys() - evaluating)),
        "secret": task.listed("secret_files"),
    }
    draft.add_text("data.json", json.dumps(settings, indent=2))
    draft.add_text("data.py", _DATA)
    if missing:
        how = f"give --data, or set {data_variable(draft.config['id'])}"
        for one in missing:
            rows.left_out("dataset_configs", f"not here: {one}; {how}")
        return
    draft.add("data", data)
    shown, graded = divided(data, settings, lambda name: io.BytesIO(data[name]))
    rows.mapped("dataset_configs", f"for the agent: {_listed(set(shown))}")
    rows.adapted("labels", f"for the grader only: {_listed(set(graded) - set(shown))}")
    hidden = {_digest(io.BytesIO(data[name])): name for name in set(graded) - set(shown)}
    for path, content in task.starter.items():
        if content and (same := hidden.get(_digest(io.BytesIO(content)))):
            task.secret = (*task.secret, path)
            rows.left_out(path, f"it has the content of {same}, which holds the answers")
    if both := set(shown) & set(graded):
        rows.adapted("dataset_configs", f"for agent and grader: {_listed(both)}")


def _listed(names: set[str]) -> str:
    first = sorted(names)[:8]
    more = len(names) - len(first)
    return ", ".join([*first, *([f"{more} more"] if more else [])]) or "none"


def divided(
    names: Iterable[str], settings: Mapping[str, Any], content: Callable[[str], IO[bytes]]
) -> tuple[list[str], list[str]]:
    """Return the paths of data files that the agent sees, and those that the grader sees.

    ``settings`` has the names that the evaluation mentions (``evaluated``), those that other
    programs do (``used``), and ``secret`` paths. If the evaluation mentions none of the files,
    the grader sees all. Copies of what the agent does not see are not shown either; ``content``
    opens a file for that. Data in folders ``agent`` and ``grader`` is divided already.
    """
    names = sorted(names)
    if any(_top(name) in (AGENT, GRADER) for name in names):
        return [n for n in names if _top(n) == AGENT], [n for n in names if _top(n) == GRADER]
    secret = {name for name in names if _named(name, settings["secret"])}
    evaluated = {name for name in names if _named(name, settings["evaluated"])}
    alone = {name for name in evaluated if not _named(name, settings["used"])}
    hidden = secret | alone
    if hidden:
        digests = {name: _digest(content(name)) for name in names}
        answers = {digests[name] for name in hidden} - {_digest(io.BytesIO())}
        hidden |= {name for name in names if digests[name] in answers}
    shown = [name for name in names if name not in hidden]
    graded = sorted(hidden | evaluated) if hidden or evaluated else names
    return shown, graded


def _digest(file: IO[bytes]) -> str:
    """Return the SHA-256 of a file without its white space: line ends make no other file."""
    found = hashlib.sha256()
    with file:
        while chunk := file.read(1 << 20):
            found.update(chunk.translate(None, b"\t\n\r "))
    return found.hexdigest()


def place_data(task: Path, folder: Path) -> None:
    """Write an imported task's data to ``workspace/data`` and ``test/data``.

    Args:
        task: Folder of the imported task.
        folder: As for ``build`` of a task's ``data.py``.

    Raises:
        DataMissing: It is not here.
        TaskError: Something in it is neither a file nor a folder.
    """
    settings = json.loads((task / "data.json").read_text("utf-8"))
    name = settings["id"]
    places = (task / "data", given_folder(name))
    source = next((place for place in places if place and place.is_dir()), None)
    if source is None:
        raise DataMissing(
            f"The data of {name} is not here: {'; '.join(settings['missing'])}. Put it into "
            f"{task / 'data'}, or name its folder in the variable {data_variable(name)}. Its files "
            f"are divided between agent and grader, unless it has folders '{AGENT}' and '{GRADER}'."
        )
    paths = {path.relative_to(source).as_posix(): path for path in plain_paths(source)}
    shown, graded = divided(paths, settings, lambda name: paths[name].open("rb"))
    for place, part in (("workspace", shown), ("test", graded)):
        for name in part:
            target = (
                folder / place / "data" / name.removeprefix(f"{AGENT}/").removeprefix(f"{GRADER}/")
            )
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(paths[name], target)


def _top(name: str) -> str:
    return PurePosixPath(name).parts[0]


def _named(name: str, patterns: Sequence[str]) -> bool:
    """Whether the last part of a path is that of one of the patterns."""
    last = PurePosixPath(name).name
    return any(fnmatchcase(last, PurePosixPath(pattern).name) for pattern in patterns)
