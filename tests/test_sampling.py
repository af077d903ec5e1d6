"""The choice of cases is stable, covers every kind and can be switched off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.expensive import EXPENSIVE
from tests.sampling import ALL, sampled

CASES = [f"{kind}-{number}" for kind in "abc" for number in range(40)]


def kind_of(case):
    return case[0]


def some(*args, **kwargs):
    return sampled(*args, everything=False, **kwargs)


def test_keeps_the_number_and_the_order():
    chosen = some(CASES, 17)
    assert len(chosen) == 17
    assert chosen == [case for case in CASES if case in chosen]
    assert some(CASES, 1000) == CASES


def test_keeps_one_of_each_kind():
    cases = [*CASES, "rare-0"]
    assert {kind_of(case) for case in some(cases, 4, by=kind_of)} == {"a", "b", "c", "r"}
    assert len(some(cases, 1, by=kind_of)) == 4
    assert len(some(cases, 30, by=kind_of)) == 30


def test_depends_on_names_only():
    assert set(some(reversed(CASES), 9)) == set(some(CASES, 9))
    assert set(some(CASES, 9)) <= set(some(CASES, 20))
    assert set(some(CASES, 9)) != set(some(CASES, 9, name=lambda case: f"other {case}"))
    params = [pytest.param(object(), id=case) for case in CASES]
    assert [param.id for param in some(params, 9)] == some(CASES, 9)


def test_refuses_what_cannot_be_stable():
    with pytest.raises(ValueError, match="give name="):
        some([object(), object()], 1)
    with pytest.raises(ValueError, match="at least 1"):
        some(CASES, 0)


@pytest.mark.parametrize(("value", "expected"), [("", 9), ("0", 9), ("1", len(CASES))])
def test_one_variable_brings_all(value, expected):
    code = "from tests.sampling import sampled; from tests.test_sampling import CASES"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(len(sampled(CASES, 9)))"],
        capture_output=True,
        check=True,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "LUDUS_TEST_ALL": value},
        text=True,
        timeout=60,
    )
    assert int(done.stdout) == expected


@pytest.mark.parametrize("test", EXPENSIVE)
def test_every_expensive_test_exists(test):
    path, _, name = test.partition("::")
    assert f"def {name}(" in (Path(__file__).parent / path).read_text()


FILE = """
import pytest

@pytest.mark.parametrize("case", range(40))
def test_many(case):
    pass

def test_long():
    pass

def test_quick():
    pass
"""
SETTINGS = """
from tests import expensive
expensive.EXPENSIVE.update({"test_it.py::test_many": 3, "test_it.py::test_long": 0})
from tests.conftest import pytest_collection_modifyitems
"""


@pytest.mark.skipif(ALL, reason="LUDUS_TEST_ALL=1 leaves nothing out")
@pytest.mark.parametrize(
    ("arguments", "expected"), [(["test_it.py"], 4), (["test_it.py::test_long"], 1)]
)
def test_cases_of_expensive_tests_are_left_out_unless_named(tmp_path, arguments, expected):
    (tmp_path / "test_it.py").write_text(FILE)
    (tmp_path / "conftest.py").write_text(SETTINGS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), "PYTEST_ADDOPTS": ""},
        text=True,
        timeout=120,
    )
    assert f"{expected} passed" in done.stdout
    assert ("38 deselected" in done.stdout) is (expected == 4)
