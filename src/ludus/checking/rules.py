"""The rules for environments, with their severities and exceptions.

Every finding names its rule, so that findings can be counted and suppressed by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ludus.checking.rule import Rule
from ludus.errors import Error
from ludus.findings import RuleBook

__all__ = ["BOOK", "RULES", "known_rules"]

_TABLE = """
# The environment and its spaces
error not-an-env: the object is an Env
    Derive the class from ludus.Env.
warning wrapped-env: the environment is checked without wrappers
    Check env.unwrapped.
error missing-space: action_space and observation_space exist
    Assign both spaces in __init__.
error space-type: spaces are Space objects
    Use the classes of ludus.spaces, or derive from ludus.spaces.Space.
error space-shape: the bounds of a space have the space's shape
    Create a new space instead of assigning to its attributes.
error empty-space: spaces are not empty
    Give every dimension at least one value.
warning equal-bounds: the bounds of a Box differ
    Remove the constant dimension, or widen its bounds.
warning inverted-bounds: a Box's low is not above its high
    Swap the bounds.
warning infinite-bounds: a Box has finite bounds
    Give the actual range of the values.
warning action-not-normalized: a Box of actions is [-1, 1] or [0, 1]
    Rescale in step(), or use the RescaleAction wrapper.
# reset()
warning seed-method: there is no seed() method
    Seed with reset(seed=...).
warning return-info: reset() has no return_info parameter
    Always return (obs, info).
error reset-no-seed: reset() accepts seed
    Write `def reset(self, *, seed=None, options=None)`.
error reset-no-options: reset() accepts options
    Write `def reset(self, *, seed=None, options=None)`.
warning reset-seed-default: reset()'s seed defaults to None
    Write `seed=None`.
error reset-arguments: reset() works with a seed and with options
    Call super().reset(seed=seed) and accept any dict of options.
error reset-result: reset() returns (obs, info)
    End reset() with `return obs, info`.
error reset-unseeded: reset(seed=...) seeds np_random
    Begin reset() with super().reset(seed=seed).
error reset-nondeterministic: equal seeds give equal first observations
    Draw from self.np_random only, or register with nondeterministic=True.
warning reset-inexact: equal seeds give identical first observations
    Look for sums whose order varies, or state that survives reset().
# Observations and infos, from both reset() and step()
warning obs-type: observations have the space's Python type and dtype
    Return the type and dtype that observation_space.sample() returns.
error obs-structure: observations have the keys or length of their Dict or Tuple space
    Return one entry per sub-space.
error obs-outside-space: observations are in the observation space
    Compare dtype, shape and bounds with env.observation_space.
error info-type: infos are dicts
    Return a dict, which may be empty.
warning info-keys: infos have string keys
    Use string keys; vector environments merge infos by key.
error data-reuse: each call returns new observations and infos
    Return a copy: obs.copy(), dict(info).
# step()
error step-result: step() returns (obs, reward, terminated, truncated, info)
    End step() with `return obs, reward, terminated, truncated, info`.
warning step-old-api: step() returns two flags, not one
    Split done into terminated (the task ended) and truncated (a limit was reached).
warning done-type: terminated and truncated are booleans
    Convert with bool(...).
warning reward-type: rewards are numbers
    Convert with float(reward).
warning reward-not-finite: rewards are finite
    Check the divisions and logarithms in the reward.
error truncated-at-once: the first step does not truncate
    Return truncated=True only when a limit is reached.
error step-nondeterministic: equal seeds and actions give equal first steps
    Draw from self.np_random only, or register with nondeterministic=True.
warning step-inexact: equal seeds and actions give identical first steps
    Look for sums whose order varies, or state that survives reset().
# render() and close()
warning render-modes: metadata['render_modes'] is a list of strings
    Write `metadata = {'render_modes': [...], 'render_fps': 30}`.
warning render-fps: metadata['render_fps'] is a positive number
    Write `metadata = {'render_modes': [...], 'render_fps': 30}`.
error render-mode: render_mode is one of metadata['render_modes']
    Reject other modes in __init__, or declare this one.
warning render-result: render() returns the type of its mode
    Return None for human, a uint8 (height, width, 3) array for rgb_array, a str for ansi.
warning render-untested: every render mode can be tested
    Build the environment with ludus.make, or pass skip_render_check=True.
warning close-twice: close() may be called twice
    Set released handles to None, and skip those that are None.
# Whole episodes
error episode-obs-outside-space: observations are in the observation space during random episodes
    Widen the bounds, or clip in step().
warning episode-reward: rewards are finite numbers during random episodes
    Convert with float(reward) and prevent overflow.
error episode-nondeterministic: equal seeds and actions give equal episodes, independent of\
 earlier ones
    Draw from self.np_random only and initialise all state in reset(), or register with \
nondeterministic=True.
warning global-random: randomness comes from np_random, not from the global generators
    Replace np.random.* and random.* by self.np_random.*.
error obs-aliasing: writing to a returned observation changes nothing
    Return a copy of the environment's arrays.
error state-round-trip: set_state(get_state()) continues the same episode
    Name every attribute that changes during an episode in state_fields.
error raises: valid method calls do not raise
    Make the call separately to see the traceback.
"""
"""Severity, id, what holds for a valid environment, and below it the advice for violations."""

_UNSEEDED = ("reset-unseeded", "reset-nondeterministic", "step-nondeterministic")
_VARYING = (*_UNSEEDED, "episode-nondeterministic")
_MISSING_PARAMETER = {"raises": Error, "category": DeprecationWarning, "blocks": True}
_BLOCKS, _EXTRA = {"blocks": True}, {"extra": True}
_MORE: dict[str, dict[str, Any]] = {
    "not-an-env": {"raises": TypeError, **_BLOCKS},
    "missing-space": {"raises": AttributeError, **_BLOCKS},
    "space-type": {"raises": TypeError, **_BLOCKS},
    "space-shape": _BLOCKS,
    "empty-space": _BLOCKS,
    "reset-no-seed": _MISSING_PARAMETER,
    "reset-no-options": _MISSING_PARAMETER,
    "reset-arguments": _BLOCKS,
    "reset-result": _BLOCKS,
    "obs-structure": _BLOCKS,
    "info-type": _BLOCKS,
    "info-keys": _EXTRA,
    "step-result": _BLOCKS,
    "step-old-api": {"raises": ValueError, "category": DeprecationWarning, **_BLOCKS},
    "episode-obs-outside-space": {"follows": ("obs-outside-space",), **_EXTRA},
    "episode-reward": {"follows": ("reward-type", "reward-not-finite"), **_EXTRA},
    "episode-nondeterministic": {"follows": _UNSEEDED, **_EXTRA},
    "global-random": _EXTRA,
    "obs-aliasing": {"follows": _VARYING, **_EXTRA},
    "state-round-trip": {"follows": _VARYING, **_EXTRA},
    "raises": {**_BLOCKS, **_EXTRA},
}
"""Further fields of some rules."""


def _rules() -> Iterator[Rule]:
    table = (line for line in _TABLE.splitlines() if line and not line.startswith("#"))
    for line, advice in zip(table, table, strict=True):
        head, _, meaning = line.partition(": ")
        severity, _, name = head.partition(" ")
        yield Rule(name, severity, meaning, advice.strip(), **_MORE.get(name, {}))


BOOK = RuleBook(
    ("warning", "error"),
    _rules(),
    {"rule": "rule", "severity": "severity", "message": "message", "hint": "advice"},
)
RULES: Mapping[str, Rule] = BOOK.rules
"""All rules by id, in the order in which they are checked."""


def known_rules(ids: Iterable[str]) -> frozenset[str]:
    """Return the ids as a set.

    Raises:
        ValueError: There is no such rule; the message suggests similar ones.
    """
    wanted = frozenset((ids,) if isinstance(ids, str) else ids)
    for name in sorted(wanted - RULES.keys()):
        import difflib

        near = difflib.get_close_matches(name, RULES, n=3, cutoff=0.4)
        advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {[*RULES]}"
        raise ValueError(f"There is no rule {name!r} to suppress. {advice}")
    return wanted
