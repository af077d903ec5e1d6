"""Writes task_yaml.md beside it: the fields of a task's file, from the schema that reads it.

python docs/task_yaml.py
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ludus.research.grading.metrics import METRICS
from ludus.research.task.config import (
    LOWER_IS_BETTER,
    Artefact,
    Commands,
    Evaluation,
    Resources,
    TaskConfig,
)

PAGE = Path(__file__).with_suffix(".md")
PARTS: dict[str, type[BaseModel]] = {
    "": TaskConfig,
    "evaluation": Evaluation,
    "resources": Resources,
    "submission": Artefact,
    "run": Commands,
}
SIZES = ("memory", "disk", "max_bytes")

HEAD = """\
# The fields of task.yaml
<!-- Written by docs/task_yaml.py from the schema; do not edit. -->
A task's file is YAML. Unknown fields, wrong types and duplicate keys are errors, reported with line
and advice. MLGym's documented form is enough: `id`, `name`, `description`, `max_steps`, `timeout`,
`evaluation`, `resources`. [Writing a task](authoring.md) tells of the other files. All fields:

```yaml
id: slopeTask
name: Slope task
description: Predict y from x. Write predictions.csv with the columns id, y.
max_steps: 30
timeout: 300
evaluation:
  metric: mae
  threshold: 0.1
  baseline: 1.567
  floor: 1.706
  reference: 0.0781
resources: {memory: 512M, cpu: 1, gpu: 0, submission_gpu: 0, disk: 64M}
submission:
  - {path: predictions.csv, kind: csv, max_bytes: 64K}
validations: 10
run: {baseline: python baseline.py, reference: python solve.py}
packages: [numpy]
image: lab/slope:1
egress: []
answers: [y]
hidden: [/usr/share/datasets]
code_beside_tests: false
verbose: false
```
"""

TAIL = """\
## Directions and metrics
Where `direction` is not given, lower is better for a metric that is, or ends in, one of:
{lower}. Higher is better for all others.

A task without a `grader` folder is graded by the name of its metric, one of: {metrics}.

`extends: ../other_task` takes the fields and files that a variant lacks from another task: see
[Research tasks](research.md).
"""


def page() -> str:
    """Return the text of the page."""
    parts = [HEAD]
    for name, model in PARTS.items():
        parts.append(_section(name, model))
    lower = ", ".join(f"`{metric}`" for metric in sorted(LOWER_IS_BETTER))
    metrics = ", ".join(f"`{metric}`" for metric in METRICS)
    parts.append(TAIL.format(lower=lower, metrics=metrics))
    return "\n".join(parts)


def _section(name: str, model: type[BaseModel]) -> str:
    told = inspect.getdoc(model) or ""
    intro, _, attributes = told.partition("\n\nAttributes:\n")
    meanings = _meanings(attributes)
    schema = model.model_json_schema()
    head = f"## {name}" if name else "## The task"
    first = "A list. " if name == "submission" else ""
    rows = [
        head,
        first + " ".join(intro.split()),
        "",
        "| field | value | default | |",
        "|---|---|---|---|",
    ]
    for field, about in schema["properties"].items():
        default = "required" if field in schema.get("required", ()) else _default(field, about)
        meaning = meanings.get(field) or f"See [{field}](#{field})."
        rows.append(f"| `{field}` | {_kind(field, about)} | {default} | {meaning} |")
    return "\n".join(rows) + "\n"


def _meanings(text: str) -> dict[str, str]:
    """Return the texts of a docstring's attributes, with Markdown's quotes."""
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text, re.MULTILINE)
    return {
        name: " ".join(told.split()).replace("``", "`").replace("|", "\\|") for name, told in found
    }


def _kind(field: str, about: dict[str, Any]) -> str:
    if "anyOf" in about:
        about = {**about, **about["anyOf"][0]}
    if "$ref" in about:
        return "fields"
    if "enum" in about:
        return ", ".join(f"`{one}`" for one in about["enum"])
    if field in SIZES:
        return "size: bytes, or `64K`, `8M`, `2G`"
    if about["type"] == "array":
        return "list of files" if "$ref" in about["items"] else "list of texts"
    kinds = {"integer": "whole number", "string": "text", "boolean": "`true` or `false`"}
    return kinds.get(about["type"], about["type"]) + _range(about)


def _range(about: dict[str, Any]) -> str:
    if "maxLength" in about:
        return f", at most {about['maxLength']:,} characters"
    parts = []
    if "minimum" in about:
        parts.append(f"{about['minimum']:,} or more")
    if "exclusiveMinimum" in about:
        parts.append(f"above {about['exclusiveMinimum']:,}")
    if "maximum" in about:
        parts.append(f"at most {about['maximum']:,}")
    return ", " + ", ".join(parts) if parts else ""


def _default(field: str, about: dict[str, Any]) -> str:
    value = about.get("default")
    if field == "direction":
        return "see [below](#directions-and-metrics)"
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, dict):
        return "as below" if any(value.values()) else "none"
    if field in SIZES:
        return f"`{value >> 30}G`" if value >= 1 << 30 else f"`{value >> 20}M`"
    return f"`{str(value).lower()}`" if isinstance(value, bool) else f"`{value:g}`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
