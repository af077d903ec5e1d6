"""The files of an MLGym repository: its YAML files, and the paths that they name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ludus.errors import TaskError
from ludus.plain_yaml import YamlError, read_yaml
from ludus.research.importing.draft import Draft
from ludus.research.importing.importer import ImportOptions
from ludus.research.importing.source_files import (
    Budget,
    inside,
    read_source,
    source_bytes,
    source_tree,
)

__all__ = ["ENTRYPOINTS", "TaskSource", "fields_of", "named_files", "root_of"]

ENTRYPOINTS = (
    *("CSVSubmissionTasks", "LMSubmissionTasks", "ModelSubmissionTasks", "PythonSubmissionTasks"),
)
"""Kinds of submission, as MLGym's classes are called."""
_PROGRAM, _PROGRAMS = 1 << 20, 16 << 20
"""Bytes of one program, and of all. A syntax tree takes a hundred times as many."""


def fields_of(file: Path) -> dict[str, Any]:
    """Return the fields of a YAML file.

    Raises:
        TaskError: It cannot be read, or holds something else than fields.
    """
    try:
        found = read_yaml(read_source(file)).data
    except YamlError as problem:
        raise TaskError(f"{file}, line {problem.line}: {problem.problem}.") from problem
    if not isinstance(found, dict):
        raise TaskError(f"{file} holds a {type(found).__name__}; expected fields such as 'id: …'.")
    return found


def root_of(file: Path) -> Path:
    """Return the folder where paths in a file begin.

    That is the folder with the ``configs`` that holds the file, or the file's own. A folder
    ``configs`` that is merely found further up, such as in the user's home, says nothing: a file
    that came alone must not name what lies there.
    """
    folders = file.absolute().parents
    return next((folder.parent for folder in folders if folder.name == "configs"), folders[0])


def named_files(root: Path, name: str, what: str, budget: Budget) -> dict[str, bytes]:
    """Return a named file, or the files of a named folder with its name in front.

    That is where MLGym puts them: into the workspace, under their last name.

    Raises:
        TaskError: There is none, it is outside of the root, or it is too large.
    """
    place = inside(root, name, what)
    if place.is_dir():
        return {f"{place.name}/{path}": data for path, data in source_tree(place, budget).items()}
    if not place.is_file():
        raise TaskError(f"{what} names {name!r:.200}, and there is no {place}.")
    content = source_bytes(place)
    budget.take(place, len(content))
    return {place.name: content}


@dataclass(slots=True)
class TaskSource:
    """A task file, and the files that it names.

    Attributes:
        starter: By their paths in the workspace.
        evaluation: Path of the evaluation among them.
        secret: Paths of those that the agent must not see: secret files, and copies of answers.
        calls: Functions of submitted files that are called in the submission's sandbox.
        budget: What may still be read.
    """

    root: Path
    fields: dict[str, Any]
    draft: Draft
    options: ImportOptions
    starter: dict[str, bytes] = field(default_factory=dict)
    evaluation: str = ""
    secret: tuple[str, ...] = ()
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)

    def read(self, name: str, what: str) -> dict[str, bytes]:
        """Return what :func:`named_files` does; programs in it are small enough to be parsed.

        Raises:
            TaskError: It cannot be read, or is too large.
        """
        found = named_files(self.root, name, what, self.budget)
        long = [
            path for path, data in found.items() if path.endswith(".py") and len(data) > _PROGRAM
        ]
        if long:
            raise TaskError(
                f"{long[0]} has more than {_PROGRAM >> 10:,} KiB, too many for a program. Put "
                "data into another file."
            )
        return found

    def check_programs(self) -> None:
        """Check that all programs together are small enough to be parsed.

        Raises:
            TaskError: They are not.
        """
        size = sum(len(data) for path, data in self.starter.items() if path.endswith(".py"))
        if size > _PROGRAMS:
            raise TaskError(
                f"The programs have {size:,} bytes; at most {_PROGRAMS:,} are read. Leave out "
                "those that are not needed."
            )

    @property
    def entrypoint(self) -> str:
        """The kind of submission; unknown ones are tables."""
        named = self.fields.get("task_entrypoint", "CSVSubmissionTasks")
        return named if named in ENTRYPOINTS else "CSVSubmissionTasks"

    def listed(self, name: str) -> list[str]:
        """Return a field that holds texts."""
        value = self.fields.get(name)
        value = [] if value is None else value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise TaskError(f"{name} is {value!r:.80}; expected a list of paths.")
        return value

    def programs(self, paths: Iterable[str]) -> list[bytes]:
        """Return the sources of Python programs among the starter code."""
        return [self.starter[path] for path in paths if path.endswith(".py")]
