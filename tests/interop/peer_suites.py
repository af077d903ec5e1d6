"""Other projects' own tests, on Gymnasium and on Ludus in its place; both must pass the same.

Run it with a folder that holds checkouts of the projects::

    python -m tests.interop.peer_suites FOLDER [PROJECT ...]

Every test file runs in both, in a process of its own. The sentences of messages are Ludus's own,
so what ``pytest.raises`` and ``pytest.warns`` match is left out of account in both. ``MEANT`` names
tests that differ for a reason, such as comparing messages in other ways; the table counts them
apart. Other tests that pass on Gymnasium and not on Ludus are listed below the table, and make the
exit status 1. The installed package is tested where the checkout does not contain it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
import zlib
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from fnmatch import fnmatch
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

MEANT = {
    "Gymnasium": {
        "tests.spaces.test_utils::test_all_space_pairs_for_is_space_dtype_shape_equiv*": (
            "it looks for a phrase in the message of an error"
        ),
        "tests.wrappers.test_import_wrappers::test_renamed_wrappers*": (
            "it cuts a name out of the message of an error, by its position"
        ),
        "tests.envs.registration.test_make_vec::test_make_vec_vectorization_mode": (
            "Pendulum has a batch of its own"
        ),
        "tests.vector.test_async_vector_env::test_custom_space_async_vector_env_shared_memory": (
            "observations that do not fit into shared memory go through pipes, without an error"
        ),
        "tests.vector.test_async_vector_env::test_async_vector_subenv_error": (
            "the traceback of a worker is a note of the exception instead of a warning"
        ),
    },
}
"""Tests that are meant to differ, and why."""

OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "-p", "any_text", "-o", "addopts="),
    *("--timeout=900", "--continue-on-collection-errors"),
]
WIDTH = 80
ROW = "{:<27} {:>7} {:>7} {:>14} {:>6} {:>9} {:>11}"


class Comparison(NamedTuple):
    """The outcomes of the same tests on both, by the tests' names."""

    name: str
    gymnasium: dict[str, str]
    ludus: dict[str, str]

    def passed(self) -> list[str]:
        return [test for test, outcome in self.gymnasium.items() if outcome == "passed"]

    def failed(self) -> list[str]:
        """Return the tests that pass on Gymnasium only."""
        return [test for test in self.passed() if self.ludus.get(test) != "passed"]

    def lost(self) -> list[str]:
        """Return those of them that are not meant to differ."""
        return [test for test in self.failed() if not fits(test, MEANT.get(self.name, ()))]

    def meant(self) -> Counter[str]:
        """Return how many tests are meant to differ, by the reason."""
        reasons = MEANT.get(self.name, {}).items()
        return Counter(
            next(reason for pattern, reason in reasons if fits(test, [pattern]))
            for test in set(self.failed()) - set(self.lost())
        )

    def gained(self) -> list[str]:
        passed = [test for test, outcome in self.ludus.items() if outcome == "passed"]
        return [test for test in passed if self.gymnasium.get(test) != "passed"]

    def row(self) -> str:
        passed, failed, lost = len(self.passed()), len(self.failed()), len(self.lost())
        differing = (failed - lost, lost, len(self.gained()))
        return ROW.format(self.name, len(self.gymnasium), passed, passed - failed, *differing)


class Part(NamedTuple):
    """Test files that run in one process."""

    name: str
    files: list[Path]


class Run(NamedTuple):
    """How tests are run."""

    folder: Path
    """Where the checkouts are."""
    reports: Path
    """Where pytest writes its reports."""
    only: list[str]
    """Patterns of the files to run."""
    skip: list[str]
    """Patterns of the files to leave out."""
    together: bool
    """Whether the files of a folder share a process."""
    jobs: int
    """How many processes at a time."""
    limit: float
    """Seconds for one process."""


def outcomes(run: Run, project: Path, part: Part, *, alias: bool) -> dict[str, str]:
    """Run a part of a suite and return the outcome of each test; none if it did not end.

    A report that is there already is read instead.
    """
    side = "ludus" if alias else "gymnasium"
    report = run.reports / f"{project.name}.{part.name.replace(os.sep, '.')}.{side}.xml"
    if not report.exists():
        environment = {**os.environ, "SDL_VIDEODRIVER": "dummy", "OMP_NUM_THREADS": "1"}
        environment.setdefault("MUJOCO_GL", "osmesa")
        environment.pop(VARIABLE, None)
        if alias:
            environment |= child_environment()
        parts = [environment.get("PYTHONPATH", ""), str(project), str(Path(__file__).parent)]
        environment["PYTHONPATH"] = os.pathsep.join(part for part in parts if part)
        # Settings of a folder above the project's are not its own.
        settings = project / "pyproject.toml"
        chosen = settings if settings.exists() else os.devnull
        options = [*OPTIONS, f"--rootdir={project}", "-c", str(chosen)]
        files = [str(file) for file in part.files]
        command = [sys.executable, "-m", "pytest", *options, f"--junitxml={report}", *files]
        with report.with_suffix(".log").open("w") as log:
            try:
                subprocess.run(
                    command,
                    cwd=project,
                    env=environment,
                    timeout=run.limit,
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            except subprocess.TimeoutExpired:
                log.write(f"\nended after {run.limit:.0f} s\n")
    return read(report) if report.exists() else {}


def read(report: Path) -> dict[str, str]:
    """Return the outcome of each test in a report of pytest."""
    found: dict[str, str] = {}
    for case in ElementTree.parse(report).iter("testcase"):
        kinds = {child.tag for child in case} & {"failure", "error", "skipped"}
        name = f"{case.get('classname')}::{case.get('name')}"
        found[name] = min(kinds, default="passed")
    return found


def parts_of(run: Run, project: Path) -> list[Part]:
    """Return the files of a project's suite, each alone or those of a folder together."""
    tests = project / TESTS[project.name]
    parts: dict[Path, list[Path]] = {}
    for file in sorted({*tests.rglob("test_*.py"), *tests.rglob("*_test.py")}):
        path = file.relative_to(project)
        wanted, unwanted = (fits(str(path), patterns) for patterns in (run.only, run.skip))
        if wanted and not unwanted:
            parts.setdefault(path.parent if run.together else path.with_suffix(""), []).append(file)
    return [Part(label(project, name, files), files) for name, files in parts.items()]


def fits(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch(text, pattern) for pattern in patterns)


def label(project: Path, path: Path, files: list[Path]) -> str:
    """Return a name that no other set of files has."""
    if len(files) == 1:
        return str(files[0].relative_to(project).with_suffix(""))
    names = " ".join(str(file.relative_to(project)) for file in files)
    return f"{path}-{zlib.crc32(names.encode()):08x}"


def compare(run: Run, name: str) -> Comparison:
    """Run the tests of a project on both, and report each part as it ends."""
    project = run.folder / name
    parts = parts_of(run, project)
    whole = Comparison(name, {}, {})

    def on_both(part: Part) -> Comparison:
        on_gymnasium, on_ludus = (outcomes(run, project, part, alias=a) for a in (False, True))
        return Comparison(name, on_gymnasium, on_ludus)

    with ThreadPoolExecutor(run.jobs) as pool:
        running = {pool.submit(on_both, part): part.name for part in parts}
        for number, done in enumerate(as_completed(running), 1):
            found = done.result()
            whole.gymnasium.update(found.gymnasium)
            whole.ludus.update(found.ludus)
            passed, failed = len(found.passed()), len(found.failed())
            state = f"{passed - failed} of {passed}" if found.gymnasium else "did not end"
            print(f"{name} {number}/{len(parts)} {running[done]}: {state}"[:WIDTH], flush=True)
    return whole


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the checkouts are")
    parser.add_argument("projects", nargs="*", default=list(TESTS), help="all, unless named")
    parser.add_argument("--together", action="store_true", help="one process for a folder's files")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--limit", type=float, default=7200.0, help="seconds for one process")
    parser.add_argument(
        "--only", action="append", metavar="GLOB", help="test files, as tests/spaces/*; repeatable"
    )
    parser.add_argument(
        "--skip", action="append", metavar="GLOB", help="test files to leave out; repeatable"
    )
    parser.add_argument(
        "--reports", type=Path, help="where to keep pytest's reports; those there are read again"
    )
    given = parser.parse_intermixed_args()
    if unknown := sorted(set(given.projects) - set(TESTS)):
        parser.error(f"no project is called {unknown[0]!r}; there are {', '.join(TESTS)}")
    results: list[Comparison] = []
    with tempfile.TemporaryDirectory() as temporary:
        reports = (given.reports or Path(temporary)).resolve()
        reports.mkdir(parents=True, exist_ok=True)
        folder, only, skip = given.folder.resolve(), given.only or ["*"], given.skip or []
        run = Run(folder, reports, only, skip, given.together, given.jobs, given.limit)
        for name in given.projects:
            if (folder / name).is_dir():
                results.append(compare(run, name))
            else:
                print(f"{name}: no checkout")
    print(
        ROW.format(
            "project", "tests", "passed", "also on Ludus", "meant", "differing", "Ludus only"
        )
    )
    for result in results:
        print(result.row())
    for result in results:
        for reason, count in result.meant().items():
            print(f"{result.name}: {count} because {reason}")
        for test in result.lost():
            print(f"{result.name}: {result.ludus.get(test, 'missing')}\n    {test}")
    return 1 if any(result.lost() for result in results) else 0


if __name__ == "__main__":
    raise SystemExit(main())
