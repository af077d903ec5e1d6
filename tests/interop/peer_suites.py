"""Other projects' own tests, on Gymnasium and on Ludus in its place; both must pass the same.

Run it with a folder that holds checkouts of the projects::

    python -m tests.interop.peer_suites FOLDER [PROJECT ...]

Every test file runs in both, in a process of its own. Tests that pass on Gymnasium and not on
Ludus are listed below the table, and make the exit status 1. The sentences of messages are
Ludus's own, so what ``pytest.raises`` and ``pytest.warns`` match is left out of account in both.
The installed package is tested where the checkout does not contain it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from ludus.interop.gymnasium.launch import VARIABLE, child_environment

TESTS = {
    "stable-baselines3": "tests",
    "Gymnasium-Robotics": "tests",
    "HighwayEnv": "tests",
    "Minigrid": "tests",
    "SuperSuit": "test",
    "Arcade-Learning-Environment": "tests/python",
    "Gymnasium": "tests",
}
"""Where each project has its tests."""

OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "any_text", "-o", "addopts=", "--timeout=900"]
WIDTH = 80
ROW = "{:<27} {:>7} {:>7} {:>14} {:>9} {:>11}"


class Comparison(NamedTuple):
    """The outcomes of the same tests on both, by the tests' names."""

    gymnasium: dict[str, str]
    ludus: dict[str, str]

    def passed(self) -> list[str]:
        return [test for test, outcome in self.gymnasium.items() if outcome == "passed"]

    def lost(self) -> list[str]:
        return [test for test in self.passed() if self.ludus.get(test) != "passed"]

    def gained(self) -> list[str]:
        passed = [test for test, outcome in self.ludus.items() if outcome == "passed"]
        return [test for test in passed if self.gymnasium.get(test) != "passed"]

    def row(self, name: str) -> str:
        passed, lost = len(self.passed()), len(self.lost())
        counts = (len(self.gymnasium), passed, passed - lost, lost, len(self.gained()))
        return ROW.format(name, *counts)


def outcomes(project: Path, file: Path, report: Path, *, alias: bool, limit: float) -> dict:
    """Run one file of tests and return the outcome of each test; none if it did not end."""
    environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "OMP_NUM_THREADS": "1"}
    environment.setdefault("MUJOCO_GL", "osmesa")
    environment.pop(VARIABLE, None)
    if alias:
        environment |= child_environment()
    parts = [environment.get("PYTHONPATH", ""), str(project), str(Path(__file__).parent)]
    environment["PYTHONPATH"] = os.pathsep.join(part for part in parts if part)
    command = [sys.executable, "-m", "pytest", *OPTIONS, f"--junitxml={report}", str(file)]
    with report.with_suffix(".log").open("w") as log:
        try:
            subprocess.run(
                command,
                cwd=project,
                env=environment,
                timeout=limit,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        except subprocess.TimeoutExpired:
            log.write(f"\nended after {limit:.0f} s\n")
    found: dict[str, str] = {}
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
            name = f"{case.get('classname')}::{case.get('name')}"
            found[name] = min(kinds, default="passed")
    return found


def compare(name: str, folder: Path, reports: Path, *, jobs: int, limit: float) -> Comparison:
    """Run every test file of a project on both, and report each file as it ends."""
    project = folder / name
    files = sorted((project / TESTS[name]).rglob("test_*.py"))
    files += sorted((project / TESTS[name]).rglob("*_test.py"))
    whole = Comparison({}, {})

    def on_both(file: Path) -> Comparison:
        label = str(file.relative_to(project).with_suffix("")).replace(os.sep, ".")
        there, here = (reports / f"{name}.{label}.{side}.xml" for side in ("gymnasium", "ludus"))
        return Comparison(
            outcomes(project, file, there, alias=False, limit=limit),
            outcomes(project, file, here, alias=True, limit=limit),
        )

    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(on_both, file): file for file in files}
        for number, done in enumerate(as_completed(running), 1):
            part = done.result()
            whole.gymnasium.update(part.gymnasium)
            whole.ludus.update(part.ludus)
            passed, lost = len(part.passed()), len(part.lost())
            state = "did not end" if not part.gymnasium else f"{passed - lost} of {passed}"
            file = str(running[done].relative_to(project / TESTS[name]))
            print(f"{name} {number}/{len(files)} {file}: {state}"[:WIDTH], flush=True)
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the checkouts are")
    parser.add_argument("projects", nargs="*", default=list(TESTS), help="all, unless named")
    parser.add_argument("--jobs", type=int, default=2, help="files at a time")
    parser.add_argument("--limit", type=float, default=7200.0, help="seconds for one file")
    parser.add_argument("--reports", type=Path, help="where to keep pytest's reports")
    given = parser.parse_args()
    results: dict[str, Comparison] = {}
    with tempfile.TemporaryDirectory() as temporary:
        reports = (given.reports or Path(temporary)).resolve()
        reports.mkdir(parents=True, exist_ok=True)
        for name in given.projects:
            if (given.folder / name).is_dir():
                results[name] = compare(
                    name, given.folder.resolve(), reports, jobs=given.jobs, limit=given.limit
                )
            else:
                print(f"{name}: no checkout")
    print(ROW.format("project", "tests", "passed", "also on Ludus", "differing", "Ludus only"))
    for name, result in results.items():
        print(result.row(name))
    for name, result in results.items():
        for test in result.lost():
            print(f"{name}: {result.ludus.get(test, 'missing')}\n    {test}")
    return 1 if any(result.lost() for result in results.values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
