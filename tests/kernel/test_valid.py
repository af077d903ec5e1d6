"""A kernel's ``valid`` stands between states from outside and compiled code without index checks.

So whatever it accepts must be safe for good. Here accepted states are played on in plain Python,
over arrays and tables that refuse every index which is negative or too large; and every state that
follows must be valid as well.
"""

from __future__ import annotations

import copy
import warnings
from functools import lru_cache

import numpy as np
import pytest

import ludus
from ludus.errors import ResetNeeded, StateError
from tests.kernel.families import bare, kernel_ids, some_ids
from tests.kernel.strict import Game, StrictArray, StrictTuple, modules_of
from tests.reference.twins import assert_same
from tests.sampling import ALL

INTS = (-1, -(10**6), 10**6, 2**62, 9, 10, 65)
FLOATS = (np.nan, np.inf, -np.inf, 1e300)
STEPS = 200 if ALL else 50
VARIANTS = (
    ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True, "fickle_probability": 1.0}),
    ("DuplicatedInput-v0", {"duplication": 50}),
    ("ReversedAddition3-v0", {}),
    ("MetaMaze-v0", {"maze": "rooms", "view_size": 5}),
    ("Maze/LavaCrossing-9x9-v0", {}),
)


@lru_cache
def kernel_of(env_id):
    return bare(env_id).kernel


def has_arrays(kernel):
    fields = (*kernel.state_fields, *kernel.param_fields)
    return kernel.writes_observation or any(field.kind == "array" for field in fields)


IDS = [env_id for env_id in kernel_ids() if kernel_of(env_id).valid is not None]
FIRST_IDS = {kernel_of(env_id): env_id for env_id in reversed(IDS)}
CASES = [*((env_id, {}) for env_id in reversed(FIRST_IDS.values())), *VARIANTS]


def name_of(case):
    env_id, options = case
    return "-".join([env_id, *map(str, options.values())])


@pytest.fixture(params=CASES, ids=name_of)
def env(request, monkeypatch):
    """An environment in the middle of an episode, in plain Python."""
    monkeypatch.setenv("LUDUS_JIT", "0")
    env_id, options = request.param
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = ludus.make(env_id, max_episode_steps=-1, disable_env_checker=True, **options)
    env = env.unwrapped
    env.reset(seed=4)
    env.action_space.seed(4)
    for _ in range(45):
        if env.step(env.action_space.sample())[2]:
            env.reset()
    return env


# --- states from outside ------------------------------------------------------------------------


def values_for(kind, dtype, value):
    """Return what to try instead of a field's value."""
    if kind == "float":
        return FLOATS
    if kind == "bool":
        return (not value,)
    if kind == "int":
        return (*INTS, value - 1, value + 1)
    bounds = (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return tuple(number for number in INTS if bounds[0] <= number <= bounds[1]) or (0, 1)


def mutants(env):
    """Yield fields and values, one at a time, that differ from the state of an environment."""
    rng = np.random.default_rng(0)
    for field, value in zip(env.kernel.state_fields, env.state, strict=True):
        if field.kind != "array":
            yield from ((field.name, new) for new in values_for(field.kind, None, value))
            continue
        for number in values_for("array", value.dtype, value):
            filled = np.full_like(value, number)
            one = value.copy()
            one[tuple(rng.integers(0, one.shape))] = number
            yield from ((field.name, filled), (field.name, one))


def with_field(env, storage, name, value):
    """Change a field of every environment in what a storage saved."""
    fields = env.kernel.state_fields
    if name in storage["arrays"]:
        storage["arrays"][name][:] = value
        return
    kind = next(field.kind for field in fields if field.name == name)
    rows, kinds = (storage["F"], "float") if kind == "float" else (storage["I"], ("int", "bool"))
    names = [field.name for field in fields if field.kind in kinds]
    rows[names.index(name)] = value


def accepts(door, *arguments):
    try:
        door(*arguments)
    except StateError:
        return False
    return True


def test_every_way_in_leads_through_valid(env):
    envs = type(env).vector(2, **constructor_arguments(env))
    envs.reset(seed=0)
    real, saved = env.state, env.get_state()
    verdicts = set()
    for name, value in mutants(env):
        expected = bool(env.kernel.valid(env.params, real._replace(**{name: value})))
        verdicts.add(expected)
        what = f"{name}={value}"
        assert accepts(setattr, env, "state", real._replace(**{name: value})) == expected, what
        state = copy.deepcopy(saved)
        with_field(env, state["fields"]["storage"], name, value)
        assert accepts(env.set_state, state) == expected, what
        batch = envs.get_state()
        set_batch_state(env, batch["storage"], real)
        with_field(env, batch["storage"], name, value)
        assert accepts(envs.set_state, batch) == expected, what
    assert False in verdicts


def set_batch_state(env, storage, state):
    for name, value in state._asdict().items():
        with_field(env, storage, name, value)


def constructor_arguments(env):
    return {**ludus.spec(env.spec.id).kwargs, **env.spec.kwargs}


def test_a_refused_state_changes_nothing(env):
    envs = type(env).vector(2, **constructor_arguments(env))
    envs.reset(seed=0)
    for name, value in mutants(env):
        state = env.state._replace(**{name: value})
        if env.kernel.valid(env.params, state):
            continue
        before, batch_before = env.get_state(), envs.get_state()
        with pytest.raises(StateError, match=env.kernel.name):
            env.state = state
        assert_same(env.get_state(), before, name)
        saved = copy.deepcopy(before)
        saved["fields"]["started"] = False
        saved["rng"]["seed"] = "99"
        with_field(env, saved["fields"]["storage"], name, value)
        with pytest.raises(StateError, match=env.kernel.name):
            env.set_state(saved)
        assert_same(env.get_state(), before, name)
        saved = copy.deepcopy(batch_before)
        set_batch_state(env, saved["storage"], state)
        saved["storage"]["U"] += np.uint64(1)
        with pytest.raises(StateError, match=env.kernel.name):
            envs.set_state(saved)
        assert_same(envs.get_state(), batch_before, name)


def test_before_the_first_reset_a_refused_state_starts_nothing(env):
    name, value = next(
        (name, value)
        for name, value in mutants(env)
        if not env.kernel.valid(env.params, env.state._replace(**{name: value}))
    )
    state = env.state._replace(**{name: value})
    fresh = type(env)(**constructor_arguments(env))
    with pytest.raises(StateError):
        fresh.state = state
    saved = env.get_state()
    with_field(env, saved["fields"]["storage"], name, value)
    with pytest.raises(StateError):
        fresh.set_state(saved)
    with pytest.raises(ResetNeeded):
        fresh.step(fresh.action_space.sample())


def test_an_environment_without_a_state_can_be_saved_and_copied(env):
    fresh = type(env)(**constructor_arguments(env))
    fresh.set_state(fresh.get_state())
    copied = copy.deepcopy(fresh)
    env.set_state(fresh.get_state())
    for each in (copied, env):
        with pytest.raises(ResetNeeded):
            each.step(each.action_space.sample())
    envs = type(env).vector(2, **constructor_arguments(env))
    blank = envs.get_state()
    envs.reset(seed=0)
    envs.step(envs.action_space.sample())
    blank["storage"]["U"] = envs.get_state()["storage"]["U"]  # zeros would be drawn for ever
    envs.set_state(blank)
    with pytest.raises(ResetNeeded):
        envs.step(envs.action_space.sample())


def test_a_bool_is_judged_as_it_will_be_kept():
    env = bare("MinAtar/Seaquest-v1")
    env.reset(seed=0)
    # Kept as an int it would be False, and the submarine's back outside the picture.
    assert not accepts(setattr, env, "state", env.state._replace(x=9, rightward=0.5)) or (
        env.kernel.valid(env.params, env.state)
    )


@pytest.mark.parametrize("missing", ["U", "B", "O"])
def test_a_damaged_state_changes_nothing(missing):
    env = bare("FrozenLake-v1")
    env.reset(seed=0)
    before = env.get_state()
    saved = copy.deepcopy(before)
    saved["fields"]["storage"]["I"][0] = 10**6
    del saved["fields"]["storage"][missing]
    with pytest.raises((StateError, KeyError)):
        env.set_state(saved)
    assert_same(env.get_state(), before, missing)


# --- what was accepted is safe ------------------------------------------------------------------


@pytest.fixture
def strict_tables(env, monkeypatch):
    """Refuse negative indices into the tuples that a kernel's modules hold."""
    kernel = env.kernel
    functions = (kernel.initial, kernel.transition, kernel.observation, kernel.valid)
    for namespace, names in modules_of(functions):
        for name in names:
            if type(namespace.get(name)) is tuple:
                monkeypatch.setitem(namespace, name, StrictTuple(namespace[name]))


def test_strict_arrays_and_tables_refuse():
    array, table = np.zeros((2, 3)).view(StrictArray), StrictTuple((1, 2))
    for key in (-1, 2, (0, -1), (0, 3)):
        with pytest.raises(IndexError):
            array[key]
        with pytest.raises(IndexError):
            array[key] = 1.0
    with pytest.raises(IndexError):
        array[0][-1]
    with pytest.raises(IndexError):
        table[-1]


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")  # a reward of 1e300, shown
@pytest.mark.usefixtures("strict_tables")
def test_whatever_is_accepted_can_be_played_on(env):
    game, real = Game(env), env.state
    game.check_play(real, STEPS)
    for name, value in mutants(env):
        state = real._replace(**{name: value})
        if accepts(setattr, env, "state", state):
            game.check_play(env.state, STEPS)
            game.check_begin(env.state)


@pytest.mark.usefixtures("strict_tables")
def test_several_fields_at_once(env):
    """Fields can be harmless one by one and not together."""
    game, real = Game(env), env.state
    rng = np.random.default_rng(7)
    names = list(real._fields)
    for _ in range(300 if ALL else 100):
        changed = {}
        for name in rng.choice(names, size=min(len(names), 4), replace=False).tolist():
            changed[name] = near(getattr(real, name), rng)
        if accepts(setattr, env, "state", real._replace(**changed)):
            game.check_play(env.state, 6)
            game.check_begin(env.state)


def full_sea(state):
    """Every list is full, and everything due: enemies, divers, shots and bombs."""
    things, counts = np.zeros_like(state.things), np.full_like(state.counts, state.things.shape[1])
    things[:, :, 0], things[:, :, 1] = 5, 3
    timers = {"reload": 0, "spawn_timer": 0, "diver_timer": 0}
    return {**timers, "x": 2, "y": 8, "things": things, "counts": counts}


def open_wall(state):
    """The agent stands before an opening in the outer wall."""
    cells = state.cells.copy()
    cells[0] = cells[-1] = cells[1]
    return {"cells": cells, "row": 1, "column": 1, "direction": 3}


def lost_ball(state):
    """The ball is below the paddle, and still falling."""
    return {"x": 4, "y": 9, "dx": 1, "dy": 1, "over": False, "paddle": 0}


@pytest.mark.usefixtures("strict_tables")
@pytest.mark.parametrize(
    ("env", "made"),
    [
        (("MinAtar/Seaquest-v1", {}), full_sea),
        (("Maze/Empty-8x8-v0", {}), open_wall),
        (("MinAtar/Breakout-v1", {}), lost_ball),
    ],
    indirect=["env"],
    ids=["Seaquest", "Maze", "Breakout"],
)
def test_strange_states(env, made):
    game, state = Game(env), env.state
    for _ in range(20):
        if accepts(setattr, env, "state", state._replace(**made(state))):
            game.check_play(env.state, 60)


def near(value, rng):
    """Return a value of the kind given that a game of ten by ten cells might use."""
    if isinstance(value, np.ndarray):
        new = value.copy()
        low, high = (0, 2) if value.dtype == np.bool_ else (0, 11)
        return np.where(rng.random(value.shape) < 0.5, rng.integers(low, high, value.shape), new)
    if isinstance(value, bool):
        return bool(rng.integers(0, 2))
    return type(value)(rng.integers(-1, 12))


# --- what happens is accepted -------------------------------------------------------------------


@pytest.mark.parametrize("env_id", IDS)
def test_no_kernel_checks_indices(env_id):
    kernel = kernel_of(env_id)
    assert not kernel.checks_indices
    assert has_arrays(kernel) or kernel.name in ("FourRooms", "Blackjack", "tabular Blackjack")


def test_kernels_with_arrays_say_what_is_valid():
    missing = [env_id for env_id in kernel_ids() if has_arrays(kernel_of(env_id))]
    assert set(missing) <= set(IDS)
    assert not any(kernel_of(env_id).checks_indices for env_id in kernel_ids())


@pytest.mark.parametrize("env_id", [env_id for env_id in some_ids() if env_id in IDS])
def test_states_of_random_play_are_valid(env_id):
    env = bare(env_id)
    envs = type(env).vector(
        16, max_episode_steps=ludus.spec(env_id).max_episode_steps, **ludus.spec(env_id).kwargs
    )
    envs.reset(seed=2)
    envs.action_space.seed(2)
    for _ in range(12):
        envs.rollout([envs.action_space.sample() for _ in range(25)])
        state = envs.get_state()
        envs.set_state(state)
        assert_same(envs.get_state(), state)
    envs.close()
