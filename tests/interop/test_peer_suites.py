"""The harness that compares other projects' tests, and tests of theirs that PyPI has."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.interop import peer_sdists
from tests.interop.peer_suites import Comparison, Run, compare

SUITE = """
import gymnasium
import pytest

def test_same():
    assert gymnasium.make("CartPole-v1").spec.id == "CartPole-v1"

def test_text_is_left_out_of_account():
    with pytest.raises(gymnasium.error.NameNotFound, match="no library says this"):
        gymnasium.make("NoSuchEnvironment-v0")

def test_lost():
    assert not hasattr(gymnasium, "__ludus__")

def test_gained():
    assert hasattr(gymnasium, "__ludus__")

@pytest.mark.skip
def test_skipped():
    pass
"""
BROKEN = "import a_module_that_is_not_there\n"


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path, tmp_path, only=["*"], skip=[], together=True, jobs=1, limit=200)


def suite(folder: Path, **files: str) -> None:
    tests = folder / "Minigrid" / "tests"
    tests.mkdir(parents=True)
    for name, text in files.items():
        (tests / f"{name}.py").write_text(text)


def test_what_differs_is_found(tmp_path: Path, run: Run) -> None:
    suite(tmp_path, test_broken=BROKEN, test_one=SUITE)
    found = compare(run, "Minigrid")
    name = "tests.test_one::test_{}".format
    same = {name("same"), name("text_is_left_out_of_account")}
    assert set(found.passed()) == {*same, name("lost")}
    assert found.failed() == found.lost() == [name("lost")]
    assert found.gained() == [name("gained")]
    assert found.gymnasium[name("skipped")] == found.ludus[name("skipped")] == "skipped"
    assert len(found.gymnasium) == 6  # with the file that cannot be imported
    assert found.row().split() == ["Minigrid", "6", "3", "2", "0", "1", "1"]


def test_settings_of_folders_above_are_not_used(tmp_path: Path, run: Run) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    suite(tmp_path, test_one="def test_it(): __import__('warnings').warn('a warning')")
    assert len(compare(run, "Minigrid").passed()) == 1
    settings = "[tool.pytest.ini_options]\nfilterwarnings = ['error']\n"
    (tmp_path / "Minigrid" / "pyproject.toml").write_text(settings)
    found = compare(run._replace(reports=tmp_path / "Minigrid"), "Minigrid")
    assert set(found.gymnasium.values()) == set(found.ludus.values()) == {"failure"}


def test_reports_are_read_again(tmp_path: Path, run: Run) -> None:
    suite(tmp_path, test_one="def test_it(): pass")
    first = compare(run, "Minigrid")
    (tmp_path / "Minigrid" / "tests" / "test_one.py").write_text("def test_other(): pass")
    assert compare(run, "Minigrid") == first
    (tmp_path / "Minigrid" / "tests" / "test_two.py").write_text("def test_two(): pass")
    assert len(compare(run, "Minigrid").passed()) == 2
    assert compare(run._replace(only=["*two*"], skip=["tests/*"]), "Minigrid").gymnasium == {}


def test_a_suite_that_does_not_end_has_no_outcome(tmp_path: Path, run: Run) -> None:
    suite(tmp_path, test_one="import time; time.sleep(60)")
    found = compare(run._replace(limit=1), "Minigrid")
    assert (found.gymnasium, found.ludus) == ({}, {})


def test_what_is_meant_to_differ_is_counted_apart() -> None:
    name = "tests.wrappers.test_import_wrappers::test_renamed_wrappers[FrameStack]"
    found = Comparison("Gymnasium", {name: "passed"}, {name: "failure"})
    assert (found.failed(), found.lost()) == ([name], [])
    [(reason, count)] = found.meant().items()
    assert count == 1
    assert "message" in reason
    assert Comparison("Minigrid", {name: "passed"}, {name: "failure"}).lost() == [name]


@pytest.mark.parametrize(
    ("project", "module", "only"),
    [
        ("Minigrid", "minigrid", "*/test_scripts.py"),
        ("HighwayEnv", "highway_env", "*"),
        ("Gymnasium-Robotics", "gymnasium_robotics", "*"),
        ("Gymnasium", "gymnasium", "*"),
        ("stable-baselines3", "stable_baselines3", "*/test_envs.py"),
        ("stable-baselines3", "stable_baselines3", "*/test_vec_envs.py"),
    ],
)
def test_suites_on_pypi(project: str, module: str, only: str, tmp_path: Path, run: Run) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    try:
        peer_sdists.download(project, tmp_path)
    except subprocess.CalledProcessError as problem:
        pytest.skip(f"{project} cannot be downloaded: {problem.stderr.strip()[-80:]}")
    found = compare(run._replace(only=[only], limit=1500), project)
    assert found.passed()
    assert found.lost() == []


def test_a_project_without_published_tests_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.interop.peer_sdists",
            tmp_path,
            "Arcade-Learning-Environment",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "needs a checkout" in done.stdout) == (0, True)
