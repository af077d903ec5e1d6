"""``ludus task new``: a small task that is complete, to be changed into another."""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template

from ludus.errors import TaskError
from ludus.research.task.config_file import parse_config

__all__ = ["new_task"]

_TEMPLATE = Path(__file__).parents[1] / "template"


def new_task(id: str, parent: str | Path = ".", *, name: str | None = None) -> Path:
    """Write the folder of a new task, which passes every check, and return it.

    Args:
        id: The task's id; the folder has its name, in lower case with ``_``.
        parent: Folder in which to write it.
        name: For people; by default made of the id.

    Raises:
        TaskError: The id is invalid, or the folder exists already.
    """
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", id)
    shown = name or " ".join(words).capitalize() or id
    # JSON is valid YAML.
    text = Template((_TEMPLATE / "task.yaml").read_text("utf-8"))
    described = text.substitute(id=json.dumps(id), name=json.dumps(shown))
    parse_config(described, "task.yaml")
    folder = Path(parent, "_".join(words).lower() or id)
    if folder.exists():
        raise TaskError(f"{folder} is there already; choose another id, or remove it.")
    for source in sorted(_TEMPLATE.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts:
            target = folder / source.relative_to(_TEMPLATE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    (folder / "task.yaml").write_text(described, "utf-8")
    return folder
