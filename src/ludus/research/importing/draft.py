"""A task folder in the making, which appears whole or not at all."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from ludus.errors import TaskError
from ludus.research.importing.report import Rows
from ludus.research.task.config_file import parse_config

__all__ = ["Draft", "artefact_kind", "imported_packages", "is_program", "plain_id"]

_KINDS = {
    ".csv": "csv",
    ".json": "json",
    ".npz": "npz",
    ".onnx": "onnx",
    ".py": "code",
    ".safetensors": "safetensors",
}
# Runners of tests take options and commands from them.
_SETTINGS = frozenset({"cargo.toml", "deno.json", "package.json", "pyproject.toml", "pytest.toml"})


@dataclass(slots=True)
class Draft:
    """A task: the fields of its file, and its other files by path.

    Attributes:
        config: The fields of ``task.yaml``.
        files: Contents by path below the task's folder.
        rows: What the report will say.
    """

    config: dict[str, Any]
    files: dict[str, bytes] = field(default_factory=dict)
    rows: Rows = field(default_factory=Rows)

    def add(self, folder: str, files: Mapping[str, bytes]) -> None:
        """Add files below a folder."""
        self.files |= {f"{folder}/{name}": data for name, data in files.items()}

    def add_text(self, path: str, text: str) -> None:
        """Add a text file."""
        self.files[path] = text.encode()

    def write(self, folder: Path) -> None:
        """Write the task to a new folder.

        Raises:
            TaskError: The folder exists, or the fields describe no task.
        """
        # JSON is valid YAML.
        text = json.dumps(self.config, indent=2, ensure_ascii=False) + "\n"
        parse_config(text, "task.yaml")
        folders = {str(one) for name in self.files for one in PurePosixPath(name).parents}
        if both := sorted(folders & self.files.keys()):
            raise TaskError(f"{both[0]} would be a file and a folder; rename one of them.")
        if folder.exists() or folder.is_symlink():
            raise TaskError(f"{folder} is there already; choose another folder, or remove it.")
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=".import-", dir=folder.parent))
        try:
            for name, data in self.files.items():
                path = made / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
            (made / "task.yaml").write_text(text, "utf-8")
            (made / "workspace").mkdir(exist_ok=True)
            made.chmod(0o755)
            made.rename(folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)


def plain_id(name: str) -> str:
    """Return a task id made of a foreign name: characters that no id has become ``-``."""
    cleaned = re.sub(r"[^A-Za-z0-9_.-]+", "-", name).strip("-._")[:80]
    return re.sub(r"-v(\d+)$", r"-\1", cleaned) or "imported"


def artefact_kind(path: str) -> str:
    """Return the kind of a submitted file by its name."""
    return _KINDS.get(PurePosixPath(path).suffix.lower(), "text")


def is_program(path: str) -> bool:
    """Whether a submitted file may be a program, or be run by one; what holds data only is none."""
    name = PurePosixPath(path.lower())
    return name.name in _SETTINGS or name.suffix not in (
        ".csv", ".json", ".jsonl", ".txt", ".md", ".npz", ".npy", ".safetensors", ".html", ".xml",
        ".yaml", ".yml", ".toml", ".log", ".tsv", ".png", ".jpg", ".parquet", ".onnx", ".svg",
    )  # fmt: skip


def imported_packages(sources: Iterable[bytes]) -> tuple[list[str], list[str]]:
    """Return top-level packages that programs import: those that are here, and those that are not.

    Nothing is imported; files that do not parse are ignored.
    """
    names: set[str] = set()
    for source in sources:
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Import):
                    names |= {alias.name.partition(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.partition(".")[0])
    names -= {*sys.stdlib_module_names, "__main__", "__mp_main__", "ludus", "mlebench"}
    here = {name for name in names if name.isascii() and _is_here(name)}
    return sorted(here), sorted(names - here)


def _is_here(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # a module that was made while Python runs, and comes with no package
        return False
