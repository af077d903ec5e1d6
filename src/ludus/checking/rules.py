"""The rules an environment is checked against.

Every finding names the rule it breaks, so that a report can be read, counted and suppressed rule
by rule. The table is the only place that says how severe a rule is and what a broken one raises.
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
        "a space's parts have the space's shape",
        "Build the space anew instead of assigning to its attributes.",
        blocks=True,
    ),
    Rule(
        "empty-space",
        "error",
        "spaces have members",
        "Give every dimension at least one value.",
        blocks=True,
    ),
    Rule(
        "equal-bounds",
        "warning",
        "a Box leaves its values room",
        "Drop the constant dimension, or widen its bounds.",
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
        "Give the range that values really take.",
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
        "reset() takes seed",
        "Write `def reset(self, *, seed=None, options=None)`.",
        raises=Error,
        category=DeprecationWarning,
        blocks=True,
    ),
    Rule(
        "reset-no-options",
        "error",
        "reset() takes options",
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
        "Pass seed on with super().reset(seed=seed) and accept any dict of options.",
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
        "equal seeds give first observations equal to the last bit",
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
        "observations lie in the observation space",
        "Compare dtype, shape and bounds with env.observation_space.",
    ),
    Rule(
        "info-type",
        "error",
        "infos are dicts",
        "Return a dict, {} if there is nothing to tell.",
        blocks=True,
    ),
    Rule(
        "info-keys",
        "warning",
        "infos have string keys",
        "Name every entry; vector environments merge infos by name.",
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
        "Split done into terminated (the task ended) and truncated (it was cut off).",
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
        "Guard the division or logarithm that made it.",
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
        "equal seeds and actions give first steps equal to the last bit",
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
        "Refuse other modes in __init__, or declare this one.",
    ),
    Rule(
        "render-result",
        "warning",
        "render() returns what its mode promises",
        "Return None for human, a uint8 (height, width, 3) array for rgb_array, a str for ansi.",
    ),
    Rule(
        "render-untested",
        "warning",
        "every render mode can be tried",
        "Build the environment with ludus.make, or pass skip_render_check=True.",
    ),
    Rule(
        "close-twice",
        "warning",
        "close() may be called again",
        "Set handles to None once released, and skip those that are None.",
    ),
    # Whole episodes
    Rule(
        "episode-obs-outside-space",
        "error",
        "observations lie in the observation space during random episodes",
        "Widen the bounds, or clip in step().",
        follows=("obs-outside-space",),
        extra=True,
    ),
    Rule(
        "episode-reward",
        "warning",
        "rewards are finite numbers during random episodes",
        "Convert with float(reward) and guard against overflow.",
        follows=("reward-type", "reward-not-finite"),
        extra=True,
    ),
    Rule(
        "episode-nondeterministic",
        "error",
        "equal seeds and actions give equal episodes, whatever was played before",
        "Draw from self.np_random only and set everything that changes anew in reset(), or "
        "register with nondeterministic=True.",
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
        "methods called as the contract says do not raise",
        "Run the call by itself to see the traceback.",
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
        ValueError: An id names no rule; the message suggests the nearest ones.
    """
    wanted = frozenset((ids,) if isinstance(ids, str) else ids)
    for name in sorted(wanted - RULES.keys()):
        import difflib

        near = difflib.get_close_matches(name, RULES, n=3, cutoff=0.4)
        advice = f"Did you mean {' or '.join(map(repr, near))}?" if near else f"Known: {[*RULES]}"
        raise ValueError(f"There is no rule {name!r} to suppress. {advice}")
    return wanted
