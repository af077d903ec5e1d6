"""Checks of what rewards mean: oracle, floor, canaries, replays."""

from __future__ import annotations

import json
import time
from typing import Any

from ludus.foreign_files import read_text
from ludus.serve.openenv.grading.check import Check, Found, Level, NotChecked
from ludus.serve.openenv.grading.episodes import Plan, plan_of, play, reward_of, seen

__all__ = [
    "CANARY_FLOOR",
    "FLOOR_GAP",
    "NO_SOLUTION_LEAKAGE",
    "ORACLE_MAX",
    "REPLAYABILITY",
    "RESOURCE_ENVELOPE",
    "VERIFIER_DETERMINISM",
]

_LARGEST = 1 << 22
_SHORTEST_SECRET = 16


def _file(subject: Any, location: str) -> str:
    path = subject.root / location
    if not path.resolve().is_relative_to(subject.root.resolve()):
        raise NotChecked(f"{location} is outside of the package")
    try:
        return read_text(path, _LARGEST)
    except (OSError, UnicodeDecodeError) as problem:
        raise NotChecked(f"{location} cannot be read: {type(problem).__name__}") from problem


def _oracle_max(subject: Any) -> Found:
    oracle, declared = subject.manifest.capabilities.oracle, subject.manifest.reward
    if oracle.form != "injected_state":
        raise NotChecked("an oracle that is a script runs in its sandbox")
    text = _file(subject, oracle.location)
    try:
        state = json.loads(text)
    except ValueError:
        state = text.strip()
    reward = reward_of(play(subject, plan_of(subject), injected_state=state))
    least = declared.range[1] - declared.oracle_tolerance
    found = Found(measured={"oracle_reward": reward, "least": least})
    found.expect(reward >= least, f"the oracle has {reward}, less than {least}")
    return found


def _floor_gap(subject: Any) -> Found:
    floor, declared = reward_of(play(subject, plan_of(subject))), subject.manifest.reward
    gap = declared.range[1] - floor
    found = Found(measured={"floor": floor, "gap": gap, "margin": declared.floor_margin})
    found.expect(gap >= declared.floor_margin, f"the plan has {floor}, too near to the maximum")
    return found


def _canary_floor(subject: Any) -> Found:
    declared, plan, found = subject.manifest.reward, plan_of(subject), Found()
    folder = subject.root / subject.manifest.capabilities.canaries
    files = sorted(folder.glob("*.json")) if folder.is_dir() else [folder]
    most = declared.range[1] - declared.floor_margin
    for file in files:
        name = str(file.relative_to(subject.root))
        data = json.loads(_file(subject, name))
        actions = tuple(data["actions"] if isinstance(data, dict) else data)
        reward = reward_of(play(subject, Plan(plan.reset, actions)))
        found.measured[name] = reward
        found.expect(reward <= most, f"{name} has {reward}, more than {most}")
    found.expect(bool(files), "there are no canaries")
    return found


def _no_solution_leakage(subject: Any) -> Found:
    secret = _file(subject, subject.manifest.capabilities.oracle.location).strip()
    if len(secret) < _SHORTEST_SECRET:
        raise NotChecked("the oracle is too short to be looked for")
    told = json.dumps(play(subject, plan_of(subject)))
    quoted = json.dumps(secret)[1:-1]
    return Found(["an observation has the oracle"] if quoted in told or secret in told else [])


def _verifier_determinism(subject: Any) -> Found:
    plan, declared = plan_of(subject), subject.manifest.reward
    rewards = [reward_of(play(subject, plan)) for _ in range(3)]
    spread = max(rewards) - min(rewards)
    found = Found(measured={"rewards": rewards, "spread": spread})
    found.expect(spread <= (declared.variance_tolerance or 0.0), f"rewards differ by {spread}")
    return found


def _replayability(subject: Any) -> Found:
    plan = plan_of(subject)
    recorded = [
        json.loads(row.response_json)["data"]
        for row in subject.runtime_evidence.exchanges
        if row.operation in ("reset", "step")
    ]
    again = play(subject, plan)
    same = seen(recorded)[: len(again)] == seen(again)
    return Found([] if same else ["the recorded episode had other results when it was repeated"])


def _resource_envelope(subject: Any) -> Found:
    plan, most = plan_of(subject), subject.manifest.resources.episode_timeout_s
    began = time.monotonic()
    play(subject, plan)
    took = time.monotonic() - began
    found = Found(measured={"seconds": took, "most": most})
    found.expect(took <= most, f"an episode took {took:.1f} seconds, more than {most}")
    return found


_ORACLE = frozenset({"oracle"})
_SAME = ("runtime.episode_determinism",)
ORACLE_MAX = Check(
    "semantic.oracle_max",
    Level.SEMANTIC,
    _oracle_max,
    "Correct the oracle, or the range of rewards.",
    requires_capabilities=_ORACLE,
    depends_on=_SAME,
)
FLOOR_GAP = Check(
    "semantic.floor_gap",
    Level.SEMANTIC,
    _floor_gap,
    "Reward arbitrary actions less.",
    depends_on=_SAME,
)
CANARY_FLOOR = Check(
    "semantic.canary_floor",
    Level.SEMANTIC,
    _canary_floor,
    "Do not reward the canaries.",
    requires_capabilities=frozenset({"canaries"}),
    depends_on=_SAME,
)
NO_SOLUTION_LEAKAGE = Check(
    "semantic.no_solution_leakage",
    Level.SEMANTIC,
    _no_solution_leakage,
    "Keep the oracle out of observations.",
    requires_capabilities=_ORACLE,
    depends_on=_SAME,
)
VERIFIER_DETERMINISM = Check(
    "semantic.verifier_determinism",
    Level.SEMANTIC,
    _verifier_determinism,
    "Reward the same actions alike.",
    depends_on=_SAME,
)
REPLAYABILITY = Check(
    "semantic.replayability",
    Level.SEMANTIC,
    _replayability,
    "Make episodes depend on seed and actions only.",
    depends_on=_SAME,
)
RESOURCE_ENVELOPE = Check(
    "semantic.resource_envelope",
    Level.SEMANTIC,
    _resource_envelope,
    "Declare a longer time, or be quicker.",
    depends_on=("runtime.startup",),
)
