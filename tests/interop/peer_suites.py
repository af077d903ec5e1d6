"""Other projects' own tests, on Gymnasium and on Ludus in its place; both must pass the same.

Run it with a folder that holds checkouts of the projects::

    python -m tests.interop.peer_suites FOLDER [PROJECT ...]

Every test runs in both; what passes on Gymnasium and not on Ludus is listed, and makes the exit
status 1. The sentences of messages are Ludus's own, so what ``pytest.raises`` and ``pytest.warns``
match is left out of account in both.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from ludus.interop.gymnasium.launch import VARIABLE, child_environment

TESTS = {
    "Arcade-Learning-Environment": "tests/python",
    "Gymnasium": "tests",
    "Gymnasium-Robotics": "tests",
    "HighwayEnv": "tests",
    "Minigrid": "tests",
    "SuperSuit": "test",
    "stable-baselines3": "tests",
}
"""Where each project has its tests."""


def results_of(project: Path, tests: str, *, alias: bool, report: Path, limit: float) -> dict:
    """Run a project's tests and return the outcome of each, by its name."""
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "MUJOCO_GL": "osmesa"}
    environment.pop(VARIABLE, None)
    if alias:
        environment |= child_environment()
    parts = [str(project), environment.get("PYTHONPATH", ""), str(Path(__file__).parent)]
    environment["PYTHONPATH"] = os.pathsep.join(part for part in parts if part)
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "any_text",
        "-o",
        "addopts=",
        "-n",
        "2",
        "--timeout=300",
    ]
    command = [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", tests]
    subprocess.run(
        command, cwd=project, env=environment, timeout=limit, check=False, capture_output=True
    )
    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = min(kinds, default="passed")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the checkouts are")
    parser.add_argument("projects", nargs="*", default=list(TESTS), help="all, unless named")
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds for one run")
    given = parser.parse_args()
    worse = 0
    for name in given.projects:
        project = given.folder.resolve() / name
        if not project.is_dir():
            print(f"{name}: no checkout")
            continue
        with tempfile.TemporaryDirectory() as folder:
            both = [
                results_of(
                    project,
                    TESTS[name],
                    alias=alias,
                    report=Path(folder, f"{alias}.xml"),
                    limit=given.limit,
                )
                for alias in (False, True)
            ]
        there, here = both
        passed = [test for test, outcome in there.items() if outcome == "passed"]
        lost = [test for test in passed if here.get(test) != "passed"]
        gained = [
            test
            for test, outcome in here.items()
            if outcome == "passed" and there.get(test) != "passed"
        ]
        worse += len(lost)
        print(
            f"{name}: {len(there)} tests, {len(passed)} pass on Gymnasium, of these "
            f"{len(passed) - len(lost)} on Ludus; {len(gained)} only on Ludus",
            flush=True,
        )
        for test in lost:
            print(f"    {here.get(test, 'missing')}: {test}", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
