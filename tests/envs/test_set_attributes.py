"""Setting an attribute does what it does in Gymnasium, or raises; it is never ignored.

Every attribute that Gymnasium's environment has after a reset is set to other values in both
libraries, and both are stepped with the same actions.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.errors import ResetNeeded

CLASSIC = (
    *("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1"),
)
TOY_TEXT = (
    *("FrozenLake-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v4", "Blackjack-v1"),
)
BOX2D = ("LunarLander-v3", "LunarLanderContinuous-v3", "BipedalWalker-v3", "CarRacing-v3")
STEPS = {"CarRacing-v3": 3, "BipedalWalker-v3": 12, "MountainCar-v0": 150, "Acrobot-v1": 100}
RESETS = (*CLASSIC, *TOY_TEXT, "LunarLander-v3", "LunarLanderContinuous-v3")
"""Where later episodes can be compared, too: the others reuse a Box2D world in Gymnasium."""

NOT_DYNAMICS = {"spec", "_np_random", "_np_random_seed", "render_mode", "verbose"}


def changed_values(name, value):
    """Return what an attribute is set to; nothing for kinds that no user would replace."""
    if name == "P":
        return [other_table(value)]
    if name in ("player", "dealer"):
        return [[2, 3], [10, 1], [10, 6, 5]]
    if name == "kinematics_integrator":
        return ["semi-implicit euler"]
    if name == "book_or_nips":
        return ["nips"]
    if name == "goal_position":
        return [value - 0.9, value + 0.1]
    if name == "AVAIL_TORQUE":
        return [[1.0, 0.5, -1.0]]
    if isinstance(value, bool | np.bool_):
        return [not value]
    if isinstance(value, int | np.integer):
        return [int(value) + 1, int(value) // 2]
    if isinstance(value, float | np.floating):
        return [value * 1.5 + 0.1, value * 0.3]
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiu":
        return [np.roll(value, 3), value * 0.5]
    return []


def other_table(table):
    return {
        s: {
            a: [(chance, (to * 7 + 3) % len(table), pay + 0.5, end) for chance, to, pay, end in row]
            for a, row in choices.items()
        }
        for s, choices in table.items()
    }


@dataclasses.dataclass
class Run:
    """What an environment returned, or the exception it raised."""

    results: list
    problem: Exception | None = None

    def equals(self, other):
        return (
            self.problem is None
            and other.problem is None
            and len(self.results) == len(other.results)
            and all(map(same_step, self.results, other.results))
        )


def same_step(one, other):
    seen = np.allclose(one[0], other[0], rtol=1e-4, atol=1e-4)
    return seen and one[2] == other[2] and math.isclose(one[1], other[1], abs_tol=1e-4)


def numbers(seen):
    flat = np.asarray(seen, np.float64).ravel()
    return flat if flat.size < 100 else np.array([flat.sum(), (flat * np.arange(flat.size)).sum()])


def run(library, env_id, setting=None):
    env = library.make(env_id).unwrapped
    env.reset(seed=5)
    env.action_space.seed(5)
    count = STEPS.get(env_id, 60)
    actions = [env.action_space.sample() for _ in range(count)]
    if env_id == "MountainCar-v0":
        actions = [2 if k // 20 % 2 else 0 for k in range(count)]
    if env_id == "MountainCarContinuous-v0":
        actions = [np.array([1.0 if k // 20 % 2 else -1.0], np.float32) for k in range(count)]
    results = []
    try:
        if setting is not None:
            setattr(env, setting[0], copy.deepcopy(setting[1]))
        for k, action in enumerate(actions):
            seen, reward, over, _, _ = env.step(action)
            results.append((numbers(seen), float(reward), bool(over)))
            if over and env_id not in RESETS:
                break
            if env_id in RESETS and (over or k == count // 2):
                results.append((numbers(env.reset()[0]), 0.0, False))
    except Exception as problem:
        return Run(results, problem)
    return Run(results)


def attributes(env):
    """Return the attributes of an instance, and the plain values of its classes."""
    found = dict(vars(env))
    for kind in type(env).__mro__:
        if kind.__module__.startswith("gymnasium.envs."):
            found |= {n: v for n, v in vars(kind).items() if not callable(v) and n not in found}
    return {
        name: getattr(env, name)
        for name in found
        if not name.startswith("__") and name not in NOT_DYNAMICS
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("env_id", [*CLASSIC, *TOY_TEXT, *BOX2D])
def test_attributes_have_their_effect_or_raise(env_id):
    theirs = gymnasium.make(env_id).unwrapped
    theirs.reset(seed=5)
    untouched = run(gymnasium, env_id)
    assert untouched.equals(run(ludus, env_id))
    had_effect = set()
    ignored = []
    for name, value in attributes(theirs).items():
        for other in changed_values(name, value):
            expected = run(gymnasium, env_id, (name, other))
            if expected.problem is not None:
                continue
            found = run(ludus, env_id, (name, other))
            if found.problem is None and not found.equals(expected):
                ignored.append((name, other))
            if found.problem is None and not expected.equals(untouched):
                had_effect.add(name)
    assert ignored == []
    assert had_effect, "no attribute changed anything: the comparison sees nothing"
    assert had_effect >= MUST_MATTER.get(env_id, set())


MUST_MATTER = {
    "CartPole-v1": {"gravity", "length", "force_mag", "masspole", "total_mass", "state", "tau"}
    | {"kinematics_integrator", "theta_threshold_radians", "_sutton_barto_reward"},
    "MountainCar-v0": {"force", "gravity", "max_speed", "min_position", "goal_position", "state"},
    "MountainCarContinuous-v0": {"power", "max_speed", "min_position", "max_action", "state"},
    "Pendulum-v1": {"g", "m", "l", "dt", "max_speed", "max_torque", "state"},
    "Acrobot-v1": {"LINK_MASS_1", "AVAIL_TORQUE", "book_or_nips", "torque_noise_max", "state"},
    "FrozenLake-v1": {"P", "initial_state_distrib", "s"},
    "CliffWalking-v1": {"P", "initial_state_distrib", "s"},
    "Taxi-v4": {"P", "initial_state_distrib", "s"},
    "Blackjack-v1": {"player", "dealer"},
    "LunarLander-v3": {"gravity", "game_over", "prev_shaping", "helipad_y"},
    "BipedalWalker-v3": {"game_over", "prev_shaping"},
    "CarRacing-v3": {"reward", "new_lap", "bg_color", "t"},
}


def roll(env, count=30):
    env.action_space.seed(1)
    results = []
    for _ in range(count):
        seen, reward, over, _, info = env.step(env.action_space.sample())
        results.append((seen, reward, over, info.get("prob")))
        if over:
            results.append(env.reset()[0])
    return results


def edit_rows(env):
    table = env.unwrapped.P
    results = roll(env, 5)
    for s in table:
        table[s][2] = [(1.0, (s + 5) % 16, 7, False)]
    results += roll(env)
    table[3][1].append((0.2, 4, 1.0, False))
    table[0] = {a: [(0.5, 1, 2.5, False), [0.5, 2, 3.5, False]] for a in range(4)}
    return results + roll(env)


def edit_starts(env):
    starts = env.unwrapped.initial_state_distrib
    starts[:] = 0.0
    starts[[6, 9]] = 0.5
    return [env.reset()[0] for _ in range(10)]


def edit_hands(env):
    env.unwrapped.player[0] = 10
    env.unwrapped.player.append(3)
    env.unwrapped.dealer[:] = [10, 10]
    results = [env.step(1)[:3]]
    env.reset(seed=2)
    env.unwrapped.sab, env.unwrapped.natural = False, True
    env.unwrapped.player = [1, 10]
    env.unwrapped.dealer = [5, 5, 7]
    results.append(env.step(0)[:3])
    return [*results, env.unwrapped.player, env.unwrapped.dealer]


def edit_temper(env):
    env.unwrapped.fickle_passenger = True
    env.unwrapped.fickle_probability = 1.0
    env.reset(seed=1)
    results = roll(env, 200)
    env.unwrapped.fickle_step = True
    return [*results, *roll(env, 100)]


def edit_torques(env):
    torques = env.unwrapped.AVAIL_TORQUE
    before = list(torques)
    try:
        torques[0], torques[2] = 3.0, -2.0
        return [round(float(n), 5) for _ in range(5) for n in env.step(0)[0]]
    finally:
        # Gymnasium's list belongs to the class.
        torques[:] = before


@pytest.mark.parametrize(
    ("env_id", "edit"),
    [
        ("FrozenLake-v1", edit_rows),
        ("FrozenLake-v1", edit_starts),
        ("Blackjack-v1", edit_hands),
        ("Taxi-v4", edit_temper),
        ("Acrobot-v1", edit_torques),
    ],
)
def test_editing_in_place(env_id, edit):
    results = []
    for library in (ludus, gymnasium):
        env = library.make(env_id)
        env.reset(seed=1)
        results.append(edit(env))
    assert results[0] == results[1]


def visit_every_row(env):
    for env.s, action in itertools.product(range(16), range(4)):
        env.step(action)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda table: table.pop(3), "state 3 of 15"),
        (lambda table: table[0].pop(3), r"P\[0\] has 3 actions; this game has 4"),
        (lambda table: table.update({0: None}), "state 0 of 16"),
        (lambda table: table[0].update({0: []}), r"P\[0\]\[0\] is \[\]"),
        (lambda table: table[0].update({0: [(1.0, 16, 0, False)]}), "next states from 0 to 15"),
        (lambda table: table[0].update({0: [(1.0, 1.5, 0, False)]}), "next states from 0 to 15"),
        (lambda table: table[0].update({0: [(math.nan, 1, 0, False)]}), "finite numbers"),
        (lambda table: table[0].update({0: [(1.0, 1, "much", False)]}), "finite numbers"),
        (lambda table: table[0].update({0: [(1.0, 1, 0)]}), "finite numbers"),
    ],
)
def test_bad_tables(spoil, message):
    env = ludus.make("FrozenLake-v1").unwrapped
    env.reset(seed=0)
    table = env.P
    spoil(table)
    with pytest.raises(ValueError, match=message):
        visit_every_row(env)
    with pytest.raises(ValueError, match=message):
        ludus.make("FrozenLake-v1").unwrapped.P = table


def test_copies_keep_an_edited_table():
    env = ludus.make("FrozenLake-v1", is_slippery=False).unwrapped
    env.reset(seed=0)
    env.P[0][2] = [(1.0, 9, 4.0, False)]
    twin = copy.deepcopy(env)
    assert env.step(2)[:2] == twin.step(2)[:2] == (9, 4.0)
    twin.P[9][2] = [(1.0, 3, -1.0, False)]
    assert twin.step(2)[:2] == (3, -1.0)
    assert env.step(2)[0] == 10


def test_a_temper_needs_a_passenger():
    with pytest.raises(ResetNeeded, match="call reset"):
        ludus.make("Taxi-v4").unwrapped.fickle_step = True
