"""The rules for environments, with their severities and exceptions.

Every finding names its rule, so that findings can be counted and suppressed by rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ludus.checking.rule import Rule
from ludus.errors import Error
from ludus.findings import RuleBook

__all__ = ["BOOK", "RULES", "known_rules"]

_UNSEEDED = ("reset-unseeded", "reset-nondeterministic", "step-nondeterministic")

_TABLE = (
    # The environment and its spaces
    Rule(
        "not-an-env",
        "error",
        "the object is an Env",
        "Derive the class from ludus.Env.",
        raises=TypeError,
        blocks=True,
    ),
    Rule(
        "wrapped-env",
        "warning",
        "the environment is checked without wrappers",
        "Check env.unwrapped.",
    ),
    Rule(
        "missing-space",
        "error",
        "action_space and observation_space exist",
        "Assign both spaces in __init__.",
        raises=AttributeError,
        blocks=True,
    ),
    Rule(
        "space-type",
        "error",
        "spaces are Space objects",
        "Use the classes of ludus.spaces, or derive from ludus.spaces.Space.",
        raises=TypeError,
        blocks=True,
    ),
    Rule(
        "space-shape",
        "error",
        "the bounds of a space have the space's shape",
        "Create a new space instead of assigning to its attributes.",
        blocks=True,
    ),
    Rule(
        "empty-space",
        "error",
        "spaces are not empty",
        "Give every dimension at least one value.",
        blocks=True,
    ),
    Rule(
        "equal-bounds",
        "warning",
        "the bounds of a Box differ",
        "Remove the constant dimension, or widen its bounds.",
    ),
    Rule(
        "inverted-bounds",
        "warning",
        "a Box's low is not above its high",
        "Swap the bounds.",
    ),
    Rule(
        "infinite-bounds",
        "warning",
        "a Box has finite bounds",
        "Give the actual range of the values.",
    ),
    Rule(
        "action-not-normalized",
        "warning",
        "a Box of actions is [-1, 1] or [0, 1]",
        "Rescale in step(), or use the RescaleAction wrapper.",
    ),
    # reset()
    Rule(
        "seed-method",
        "warning",
        "there is no seed() method",
        "Seed with reset(seed=...).",
    ),
    Rule(
        "return-info",
        "warning",
        "reset() has no return_info parameter",
        "Always return (obs, info).",
    ),
    Rule(
        "reset-no-seed",
        "error",
        "reset() accepts seed",
        "Write `def reset(self, *, seed=None, options=None)`.",
        raises=Error,
        category=DeprecationWarning,
        blocks=True,
    ),
    Rule(
        "reset-no-options",
        "error",
        "reset() accepts options",
        "Write `def reset(self, *, seed=None, options=None)`.",
        raises=Error,
        category=DeprecationWarning,
        blocks=True,
    ),
    Rule(
        "reset-seed-default",
        "warning",
        "reset()'s seed defaults to None",
        "Write `seed=None`.",
    ),
    Rule(
        "reset-arguments",
        "error",
        "reset() works with a seed and with options",
        "Call super().reset(seed=seed) and accept any dict of options.",
        blocks=True,
    ),
    Rule(
        "reset-result",
        "error",
        "reset() returns (obs, info)",
        "End reset() with `return obs, info`.",
        blocks=True,
    ),
    Rule(
        "reset-unseeded",
        "error",
        "reset(seed=...) seeds np_random",
        "Begin reset() with super().reset(seed=seed).",
    ),
    Rule(
        "reset-nondeterministic",
        "error",
        "equal seeds give equal first observations",
        "Draw from self.np_random only, or register with nondeterministic=True.",
    ),
    Rule(
        "reset-inexact",
        "warning",
        "equal seeds give identical first observations",
        "Look for sums whose order varies, or state that survives reset().",
    ),
    # Observations and infos, from both reset() and step()
    Rule(
        "obs-type",
        "warning",
        "observations have the space's Python type and dtype",
        "Return the type and dtype that observation_space.sample() returns.",
    ),
    Rule(
        "obs-structure",
        "error",
        "observations have the keys or length of their Dict or Tuple space",
        "Return one entry per sub-space.",
        blocks=True,
    ),
    Rule(
        "obs-outside-space",
        "error",
        "observations are in the observation space",
        "Compare dtype, shape and bounds with env.observation_space.",
    ),
    Rule(
        "info-type",
        "error",
        "infos are dicts",
        "Return a dict, which may be empty.",
        blocks=True,
    ),
    Rule(
        "info-keys",
        "warning",
        "infos have string keys",
        "Use string keys; vector environments merge infos by key.",
        extra=True,
    ),
    Rule(
        "data-reuse",
        "error",
        "each call returns new observations and infos",
        "Return a copy: obs.copy(), dict(info).",
    ),
    # step()
    Rule(
        "step-result",
        "error",
        "step() returns (obs, reward, terminated, truncated, info)",
        "End step() with `return obs, reward, terminated, truncated, info`.",
        blocks=True,
    ),
    Rule(
        "step-old-api",
        "warning",
        "step() returns two flags, not one",
        "Split done into terminated (the task ended) and truncated (a limit was reached).",
        raises=ValueError,
        category=DeprecationWarning,
        blocks=True,
    ),
    Rule(
        "done-type",
        "warning",
        "terminated and truncated are booleans",
        "Convert with bool(...).",
    ),
    Rule(
        "reward-type",
        "warning",
        "rewards are numbers",
        "Convert with float(reward).",
    ),
    Rule(
        "reward-not-finite",
        "warning",
        "rewards are finite",
        "Check the divisions and logarithms in the reward.",
    ),
    Rule(
        "truncated-at-once",
        "error",
        "the first step does not truncate",
        "Return truncated=True only when a limit is reached.",
    ),
    Rule(
        "step-nondeterministic",
        "error",
        "equal seeds and actions give equal first steps",
        "Draw from self.np_random only, or register with nondeterministic=True.",
    ),
    Rule(
        "step-inexact",
        "warning",
        "equal seeds and actions give identical first steps",
        "Look for sums whose order varies, or state that survives reset().",
    ),
    # render() and close()
    Rule(
        "render-modes",
        "warning",
        "metadata['render_modes'] is a list of strings",
        "Write `metadata = {'render_modes': [...], 'render_fps': 30}`.",
    ),
    Rule(
        "render-fps",
        "warning",
        "metadata['render_fps'] is a positive number",
        "Write `metadata = {'render_modes': [...], 'render_fps': 30}`.",
    ),
    Rule(
        "render-mode",
        "error",
        "render_mode is one of metadata['render_modes']",
        "Reject other modes in __init__, or declare this one.",
    ),
    Rule(
        "render-result",
        "warning",
        "render() returns the type of its mode",
        "Return None for human, a uint8 (height, width, 3) array for rgb_array, a str for ansi.",
    ),
    Rule(
        "render-untested",
        "warning",
        "every render mode can be tested",
        "Build the environment with ludus.make, or pass skip_render_check=True.",
    ),
    Rule(
        "close-twice",
        "warning",
        "close() may be called twice",
        "Set released handles to None, and skip those that are None.",
    ),
    # Whole episodes
    Rule(
        "episode-obs-outside-space",
        "error",
        "observations are in the observation space during random episodes",
        "Widen the bounds, or clip in step().",
        follows=("obs-outside-space",),
        extra=True,
    ),
    Rule(
        "episode-reward",
        "warning",
        "rewards are finite numbers during random episodes",
        "Convert with float(reward) and prevent overflow.",
        follows=("reward-type", "reward-not-finite"),
        extra=True,
    ),
    Rule(
        "episode-nondeterministic",
        "error",
        "equal seeds and actions give equal episodes, independent of earlier ones",
        "Draw from self.np_random only and initialise all state in reset(), or register with "
        "nondeterministic=True.",
        follows=_UNSEEDED,
        extra=True,
    ),
    Rule(
        "global-random",
        "warning",
        "randomness comes from np_random, not from the global generators",
        "Replace np.random.* and random.* by self.np_random.*.",
        extra=True,
    ),
    Rule(
        "obs-aliasing",
        "error",
        "writing to a returned observation changes nothing",
        "Return a copy of the environment's arrays.",
        follows=(*_UNSEEDED, "episode-nondeterministic"),
        extra=True,
    ),
    Rule(
        "state-round-trip",
        "error",
        "set_state(get_state()) continues the same episode",
        "Name every attribute that changes during an episode in state_fields.",
        follows=(*_UNSEEDED, "episode-nondeterministic"),
        extra=True,
    ),
    Rule(
        "raises",
        "error",
        "valid method calls do not raise",
        "Make the call separately to see the traceback.",
        blocks=True,
        extra=True,
    ),
)

BOOK = RuleBook(
    ("warning", "error"),
    _TABLE,
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
