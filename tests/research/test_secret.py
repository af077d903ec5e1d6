from __future__ import annotations

import subprocess
import sys

import pytest

from ludus.research.secret import VARIABLE, grader_seed, secret_folder


@pytest.fixture
def machine(monkeypatch, tmp_path):
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_same_seed_gives_the_same_number(machine):
    assert grader_seed("blotto", 0, "test") == grader_seed("blotto", 0, "test")
    code = "from ludus.research.secret import grader_seed; print(grader_seed('blotto', 0, 'test'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert int(done.stdout) == grader_seed("blotto", 0, "test")


def test_tasks_seeds_and_splits_are_apart(machine):
    cases = [("blotto", 0, "test"), ("blotto", 0, "validation"), ("blotto", 1, "test")]
    cases += [("prisonersDilemma", 0, "test")]
    assert len({grader_seed(*case) for case in cases}) == 4
    assert all(0 <= grader_seed(*case) < 2**53 for case in cases)


def test_another_machine_draws_otherwise(machine, monkeypatch, tmp_path):
    here = grader_seed("blotto", 0, "test")
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "another"))
    assert grader_seed("blotto", 0, "test") != here


def test_machines_can_agree(monkeypatch):
    monkeypatch.setenv(VARIABLE, "a laboratory's")
    assert grader_seed("blotto", 0, "test") == 1779030217793879
    monkeypatch.setenv(VARIABLE, "")
    assert grader_seed("blotto", 7, "test") == 7


def test_only_its_owner_can_read_it(machine):
    grader_seed("blotto", 0, "test")
    assert [path.name for path in secret_folder().iterdir()] == ["key"]
    assert (secret_folder() / "key").stat().st_mode & 0o077 == 0
    assert secret_folder().stat().st_mode & 0o077 == 0
