"""Every attack succeeds where there is no box, and fails in each isolating backend."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ludus.errors import PolicyNotEnforceable
from tests.sampling import ALL, sampled
from tests.sandbox.attacks import ATTACKS, THEMES
from tests.sandbox.attacks.attack import Attack, Scene, is_root
from tests.sandbox.support import why_not

# Every attack on bubblewrap always runs; `make test-all` performs them on the other backends too.
ISOLATING = ("bubblewrap", "podman", "docker", "gvisor") if ALL else ("bubblewrap",)
LITTLE = 8 << 30
MISSING_HERE = re.compile(r"ENOSYS|ENOENT|EAFNOSUPPORT|EPROTONOSUPPORT|ENODEV|ENXIO|EOPNOTSUPP")


def named(attacks: Iterable[Attack]) -> list[Any]:
    return [pytest.param(attack, id=attack.name) for attack in attacks]


def theme(case: Any) -> str:
    return next(each.__name__ for each in THEMES if case.values[0] in each.ATTACKS)


@pytest.fixture
def little_memory() -> Iterator[None]:
    """An attack on nothing must not cost the machine more than this."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (LITTLE, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(
    "attack",
    sampled(named(row for row in ATTACKS if not row.cannot_succeed_unboxed), 60, by=theme),
)
def test_succeeds_without_a_box(attack: Attack, tmp_path: Path) -> None:
    if attack.needs_root and not is_root():
        pytest.skip("the proof needs root")
    outcome = attack.perform(Scene("naive", tmp_path))
    if outcome.word == "HELD" and (missing := MISSING_HERE.match(outcome.text)):
        pytest.skip(f"this kernel has no such thing ({missing[0]})")
    assert outcome.word == "BROKE", f"proves nothing, it fails without a box too: {outcome}"


@pytest.mark.parametrize("backend", ISOLATING)
@pytest.mark.parametrize("attack", named(ATTACKS))
def test_fails_in_a_box(attack: Attack, backend: str, tmp_path: Path) -> None:
    if reason := why_not(backend):
        pytest.skip(f"{backend}: {reason}")
    if attack.promised_to_root and not is_root():
        pytest.skip("rests on something that only root can do")
    if backend == "gvisor" and attack.own_kernel:
        pytest.skip(f"nothing is lost by it there: {attack.own_kernel}")
    try:
        outcome = attack.perform(Scene(backend, tmp_path))
    except PolicyNotEnforceable as refusal:
        pytest.skip(f"{backend} refuses the policy: {refusal}")
    assert outcome.word == "HELD", f"{attack.threat}: {outcome}"


@pytest.mark.parametrize(
    "attack", sampled(named(row for row in ATTACKS if row.everywhere), 25, by=theme)
)
def test_fails_without_isolation_too(attack: Attack, tmp_path: Path) -> None:
    outcome = attack.perform(Scene("process", tmp_path))
    assert outcome.word == "HELD", f"{attack.threat}: {outcome}"


def test_names_are_unique() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names)) >= 60
