"""Authors are told what is wrong with a kernel, where, and what to write instead."""

from __future__ import annotations

import linecache

import numpy as np
import pytest

from ludus.errors import KernelError
from tests.kernel.written import written_env
from tests.kernel.wrong_kernels import WRONG


def run_single(env_class):
    env = env_class()
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)


def run_batch(env_class):
    envs = env_class.vector(2)
    envs.reset(seed=0)
    envs.step(np.array([0, 1]))


def run_rollout(env_class):
    envs = env_class.vector(2)
    envs.reset(seed=0)
    envs.rollout(np.ones((3, 2), np.int64))


def error_of(run, env_class):
    with pytest.raises(KernelError) as caught:
        run(env_class)
    return caught.value


def check(problem, row):
    assert problem.rule == row.rule
    assert linecache.getline(problem.file, problem.line).strip() == row.line
    message = str(problem)
    assert f"{problem.file}, line {problem.line}, in {problem.function}:\n    {row.line}" in message
    assert row.phrase in message
    assert f"[{row.rule}]" in message
    assert message.startswith("Kernel Written has")


def rows(*found):
    return [pytest.param(row, id=row.id) for row in WRONG if row.found in found]


def test_the_table_is_large_enough():
    assert len(WRONG) >= 40
    assert len({row.id for row in WRONG}) == len(WRONG)


@pytest.mark.parametrize("row", rows("source"))
def test_mistakes_in_the_source(row, tmp_path, monkeypatch):
    """Found when the environment is built, in every execution, before anything is compiled."""
    env_class = written_env(tmp_path, **row.parts)
    messages = set()
    for run in (run_single, run_batch, run_rollout):
        problem = error_of(run, env_class)
        check(problem, row)
        messages.add(str(problem))
    monkeypatch.setenv("LUDUS_JIT", "0")
    if row.rule in ("kernel-print", "kernel-debugger"):
        return  # plain Python is for debugging: another test
    for run in (run_single, run_batch):
        messages.add(str(error_of(run, env_class)))
    assert len(messages) == 1


@pytest.mark.parametrize("row", rows("values"))
def test_mistakes_in_what_is_returned(row, tmp_path, monkeypatch):
    """Plain Python sees the value, the compiler its type; the error is the same."""
    env_class = written_env(tmp_path, **row.parts)
    compiled = error_of(run_single, env_class)
    check(compiled, row)
    check(error_of(run_batch, env_class), row)
    monkeypatch.setenv("LUDUS_JIT", "0")
    for run in (run_single, run_batch):
        assert str(error_of(run, env_class)) == str(compiled)


@pytest.mark.parametrize("row", rows("types"))
def test_mistakes_that_only_the_compiler_finds(row, tmp_path):
    env_class = written_env(tmp_path, **row.parts)
    problem = error_of(run_single, env_class)
    check(problem, row)
    if row.rule != "kernel-float-power":
        assert type(problem.__cause__).__module__.startswith("numba.")
    again = error_of(run_batch, env_class)
    check(again, row)
    assert str(again) == str(problem)
