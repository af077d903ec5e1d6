"""The choice of cases is stable, covers every kind and can be switched off."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sampling import sampled

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
