"""Every attack succeeds where there is no box, and fails in each isolating backend."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from ludus.errors import PolicyNotEnforceable
from tests.sandbox.attacks import ATTACKS
from tests.sandbox.attacks.attack import Attack, Scene, is_root
from tests.sandbox.support import why_not

ISOLATING = ("bubblewrap", "podman", "docker", "gvisor")
# Says that docker, too, is to face what aims at mechanics it shares with podman.
ALL = bool(os.environ.get("LUDUS_ALL_ATTACKS"))
LITTLE = 8 << 30
MISSING_HERE = re.compile(r"ENOSYS|ENOENT|EAFNOSUPPORT|EPROTONOSUPPORT|ENODEV|ENXIO|EOPNOTSUPP")

each_attack = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)


@pytest.fixture
def little_memory() -> Iterator[None]:
    """An attack on nothing must not cost the machine more than this."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (LITTLE, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.usefixtures("little_memory")
@each_attack
def test_succeeds_without_a_box(attack: Attack, tmp_path: Path) -> None:
    if attack.cannot_succeed_unboxed:
        pytest.skip(f"not shown: {attack.cannot_succeed_unboxed}")
    if attack.needs_root and not is_root():
        pytest.skip("the proof needs root")
    outcome = attack.perform(Scene("naive", tmp_path))
    if outcome.word == "HELD" and (missing := MISSING_HERE.match(outcome.text)):
        pytest.skip(f"this kernel has no such thing ({missing[0]})")
    assert outcome.word == "BROKE", f"proves nothing, it fails without a box too: {outcome}"


@pytest.mark.parametrize("backend", ISOLATING)
@each_attack
def test_fails_in_a_box(attack: Attack, backend: str, tmp_path: Path) -> None:
    if reason := why_not(backend):
        pytest.skip(f"{backend}: {reason}")
    if attack.promised_to_root and not is_root():
        pytest.skip("rests on something that only root can do")
    if backend == "gvisor" and attack.own_kernel:
        pytest.skip(f"nothing is lost by it there: {attack.own_kernel}")
    common = (attack.everywhere or attack.common_to_engines) and not ALL
    if backend == "docker" and common and why_not("podman") is None:
        pytest.skip("aims at what docker has in common with podman, where it is performed")
    try:
        outcome = attack.perform(Scene(backend, tmp_path))
    except PolicyNotEnforceable as refusal:
        pytest.skip(f"{backend} refuses the policy: {refusal}")
    assert outcome.word == "HELD", f"{attack.threat}: {outcome}"


@pytest.mark.parametrize(
    "attack", [row for row in ATTACKS if row.everywhere], ids=lambda attack: attack.name
)
def test_fails_without_isolation_too(attack: Attack, tmp_path: Path) -> None:
    outcome = attack.perform(Scene("process", tmp_path))
    assert outcome.word == "HELD", f"{attack.threat}: {outcome}"


def test_names_are_unique() -> None:
    names = [attack.name for attack in ATTACKS]
    assert len(names) == len(set(names)) >= 60
