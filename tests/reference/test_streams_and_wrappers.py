"""Hypothesis chooses seeds, actions and stacks of wrappers; both libraries must agree on them."""

from __future__ import annotations

import gymnasium
import hypothesis.strategies as st
import numpy as np
from gymnasium.utils import seeding as their_seeding
from hypothesis import HealthCheck, given, settings

import ludus
from tests.reference.twins import ACTION_KINDS, assert_same, twin_env

SEEDS = st.integers(0, 2**80)
FAST = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@FAST
@given(SEEDS, st.lists(st.sampled_from(["random", "integers", "normal", "choice"]), max_size=8))
def test_generators_draw_the_same(seed, draws):
    calls = {
        "random": lambda rng: rng.random(3),
        "integers": lambda rng: rng.integers(0, 1000, 3),
        "normal": lambda rng: rng.normal(size=3),
        "choice": lambda rng: rng.choice(10, 3, replace=False),
    }
    ours, our_seed = ludus.seeding.np_random(seed)
    theirs, their_seed = their_seeding.np_random(seed)
    assert our_seed == their_seed
    for name in draws:
        np.testing.assert_array_equal(calls[name](ours), calls[name](theirs))
    assert ours.bit_generator.state == theirs.bit_generator.state


numbers = st.floats(-3, 3, allow_nan=False)
LAYERS = st.one_of(
    st.builds(lambda n: ("TimeLimit", {"max_episode_steps": n}), st.integers(1, 12)),
    st.builds(lambda n: ("RepeatAction", {"num_repeats": n}), st.integers(1, 3)),
    st.builds(lambda p: ("StickyAction", {"repeat_action_probability": p}), st.floats(0, 0.9)),
    st.builds(lambda g: ("NormalizeReward", {"gamma": g}), st.floats(0, 1)),
    st.builds(
        lambda a, b: ("ClipReward", {"min_reward": min(a, b), "max_reward": max(a, b) + 1}),
        numbers,
        numbers,
    ),
    st.builds(lambda d: ("DelayObservation", {"delay": d}), st.integers(0, 4)),
    st.just(("NormalizeObservation", {})),
    st.builds(lambda n: ("FrameStackObservation", {"stack_size": n}), st.integers(1, 3)),
    st.just(("FlattenObservation", {})),
    st.just(("RecordEpisodeStatistics", {})),
    st.just(("Autoreset", {})),
    st.just(("OrderEnforcing", {})),
    st.builds(lambda n: ("MaxAndSkipObservation", {"skip": n}), st.integers(2, 4)),
)


def build(lib, action, layers):
    env = twin_env(lib, "box", action, mean_length=9)
    for name, arguments in layers:
        env = getattr(lib.wrappers, name)(env, **arguments)
    return env


def attempt(lib, action, layers):
    try:
        return build(lib, action, layers), None
    except Exception as problem:
        return None, problem


def without_times(info):
    return {
        key: {k: v for k, v in value.items() if k != "t"} if key == "episode" else value
        for key, value in info.items()
    }


@FAST
@given(
    SEEDS,
    st.sampled_from(ACTION_KINDS),
    st.lists(LAYERS, min_size=1, max_size=4, unique_by=lambda layer: layer[0]),
)
def test_stacks_of_wrappers_compute_the_same(seed, action, layers):
    (ours, our_problem), (theirs, their_problem) = (
        attempt(lib, action, layers) for lib in (ludus, gymnasium)
    )
    if theirs is None:
        assert our_problem is not None
        assert type(our_problem).__name__ == type(their_problem).__name__ or isinstance(
            our_problem, type(their_problem)
        )
        return
    assert our_problem is None
    assert repr(ours.observation_space) == repr(theirs.observation_space)
    assert repr(ours.action_space) == repr(theirs.action_space)
    ours.action_space.seed(1)
    assert_same(ours.reset(seed=seed), theirs.reset(seed=seed), "reset")
    for step in range(40):
        chosen = ours.action_space.sample()
        a, b = ours.step(chosen), theirs.step(chosen)
        assert_same(a[:4], b[:4], f"step {step}")
        assert_same(without_times(a[4]), without_times(b[4]), f"info {step}")
        if a[2] or a[3]:
            assert_same(ours.reset(), theirs.reset(), f"reset after {step}")
