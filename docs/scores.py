"""Writes scores.md beside it: the recorded scores of the bundled tasks, with the commands.

python docs/scores.py
"""

from __future__ import annotations

import json
from pathlib import Path

from ludus.research.task.discovery import bundled_tasks

PAGE = Path(__file__).with_suffix(".md")
ROUNDING = 1e-6

HEAD = """\
# Recorded scores
<!-- Written by docs/scores.py from the tasks' scores.json; do not edit. -->
Each command runs a solution of a bundled task at seed 0, in a sandbox, and prints its score on the
test split. `--draws public` has graders draw from the seed alone, so that everybody gets the same
score; episodes of agents have [private draws](research.md#how-it-is-graded). Nothing else has to be
set. Solutions that train with floating-point numbers may differ by the tolerance on other machines
and with other versions of NumPy or scikit-learn. `ludus task check ID --run` runs all three of a
task.

| command | score | tolerance |
|---|---|---|
"""

TAIL = """
`imageClassificationFMnist` needs its data: `ludus task fetch imageClassificationFMnist`. The tasks
{without} have no recorded scores, since their data comes with no package.
"""


def page() -> str:
    """Return the text of the page."""
    rows, without = [], []
    for task in sorted(bundled_tasks(), key=lambda task: task.id.lower()):
        file = task.folder / "scores.json"
        if not file.is_file():
            without.append(f"`{task.id}`")
            continue
        record = json.loads(file.read_text("utf-8"))
        for solution in ("null", "baseline", "reference"):
            command = f"ludus task run {task.id} --solution {solution} --draws public"
            tolerance = record["tolerance"]
            shown = f"{tolerance:g}" if tolerance > ROUNDING else "exact"
            rows.append(f"| `{command}` | {record[solution]:.6g} | {shown} |\n")
    named = f"{', '.join(without[:-1])} and {without[-1]}"
    return HEAD + "".join(rows) + TAIL.format(without=named)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
