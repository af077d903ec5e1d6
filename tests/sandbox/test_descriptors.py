"""Whoever forgets to close a job, or cannot start one, costs the host no descriptors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy, Sandbox, open_sandbox
from tests.sandbox.support import ENGINES, needs, why_not

BACKENDS = ("bubblewrap", *ENGINES)
MANY = 8


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.fixture(params=BACKENDS)
def opened(request) -> Iterator[tuple[Sandbox, int]]:
    if reason := why_not(request.param, root=True):
        pytest.skip(reason)
    open_sandbox(backend=request.param).close()
    before = descriptors()
    with open_sandbox(backend=request.param) as box:
        yield box, before


def test_jobs_that_nobody_closed_are_closed_with_their_box(opened):
    box, before = opened
    jobs = [box.spawn(["true"]) for _ in range(MANY)]
    for job in jobs:
        job.wait(10.0)
    running = box.spawn(["sleep", "300"])
    box.close()
    assert descriptors() == before
    assert running.poll() is not None


def test_closed_jobs_leave_nothing_while_the_box_goes_on(opened):
    box, _ = opened
    box.spawn(["true"]).close()
    within = descriptors()
    for _ in range(MANY):
        box.spawn(["true"]).close()
    assert descriptors() == within
    assert len(box._jobs) <= 1


def test_a_job_that_cannot_be_started_leaves_nothing(opened):
    box, _ = opened
    box.run(["true"])
    within = descriptors()
    for _ in range(MANY):
        try:
            box.run(["echo", "x" * (4 << 20)])
        except SandboxError:
            continue
    assert descriptors() == within


@needs("bubblewrap", root=True)
def test_a_box_whose_time_is_over_closes_its_jobs_when_its_owner_lets_go():
    open_sandbox(backend="bubblewrap").close()
    before = descriptors()
    with open_sandbox(Policy(wall=0.3), backend="bubblewrap") as box:
        job = box.spawn(["sleep", "300"])
        assert job.wait(20.0) is not None
    assert descriptors() == before
