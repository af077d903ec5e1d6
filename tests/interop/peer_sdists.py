"""The tests that other projects publish on PyPI, in the versions that are installed.

Run it with a folder for them::

    python -m tests.interop.peer_sdists FOLDER [PROJECT ...]

Of each project's source distribution, only the tests and their settings are unpacked, so that the
installed package is what is tested. A project that is there already is left as it is: put a
checkout there to run a whole suite, because most projects publish a part of theirs.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from tests.interop.peer_suites import TESTS

DISTRIBUTIONS = {
    "stable-baselines3": "stable-baselines3",
    "Gymnasium-Robotics": "gymnasium-robotics",
    "HighwayEnv": "highway-env",
    "Minigrid": "minigrid",
    "SuperSuit": "supersuit",
    "Gymnasium": "gymnasium",
}
"""The names on PyPI. ale-py publishes no tests."""

DOWNLOAD = ["pip", "download", "--quiet", "--no-deps", "--no-binary"]


def download(project: str, folder: Path, *, timeout: float = 300) -> str:
    """Unpack the tests of a project into ``folder/project`` and return its version.

    Raises:
        PackageNotFoundError: The project is not installed.
        CalledProcessError: pip cannot download it; ``stderr`` says why.
    """
    name = DISTRIBUTIONS[project]
    version = importlib.metadata.version(name)
    with tempfile.TemporaryDirectory() as temporary:
        subprocess.run(
            [sys.executable, "-m", *DOWNLOAD, name, f"{name}=={version}"],
            cwd=temporary,
            timeout=timeout,
            check=True,
            capture_output=True,
            text=True,
        )
        [archive] = Path(temporary).glob("*.tar.gz")
        unpack(archive, folder / project, TESTS[project])
    return version


def unpack(archive: Path, target: Path, tests: str) -> None:
    """Unpack one folder of a source distribution, and the settings of pytest."""
    with tarfile.open(archive) as tar:
        for member in tar.getmembers():
            member.name = member.name.partition("/")[2]
            path = Path(member.name)
            if member.isfile() and (path.is_relative_to(tests) or path == Path("pyproject.toml")):
                tar.extract(member, target, filter="data")
    # Some leave it out; without it, `import tests` can find a package of another project.
    (target / tests / "__init__.py").touch()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where to put them")
    parser.add_argument(
        "projects", nargs="*", default=list(DISTRIBUTIONS), help="all, unless named"
    )
    given = parser.parse_args()
    failed = False
    for project in given.projects:
        if project not in DISTRIBUTIONS:
            print(f"{project}: no tests on PyPI; needs a checkout in {given.folder / project}")
        elif (given.folder / project).exists():
            print(f"{project}: there already")
        else:
            try:
                print(f"{project} {download(project, given.folder)}: downloaded")
            except importlib.metadata.PackageNotFoundError:
                print(f"{project}: not installed")
            except subprocess.CalledProcessError as problem:
                lines = [line for line in problem.stderr.splitlines() if "error" in line.lower()]
                print(f"{project}: cannot be downloaded:", *lines[:3], sep="\n    ")
                failed = True
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
