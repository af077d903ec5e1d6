"""What the engine refuses, and how it says so."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.errors import EpisodeOver, InvalidAction, KernelError, ResetNeeded, StateError
from ludus.kernel import Kernel, KernelEnv, KernelVectorEnv
from ludus.kernel.generator import WordsRng, generator_to_words, words_to_generator
from ludus.kernel.policies import greedy_mlp, mlp_weights, random_action
from ludus.kernel.random import integers, integers_below, integers_if, random
from tests.kernel.families import bare
from tests.reference.twins import assert_same


class Params(NamedTuple):
    chance: float = 0.5


class State(NamedTuple):
    count: int
    lucky: bool


def initial(params: Params, rng: Any) -> State:
    return State(0, False)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    return State(state.count + 1, random(rng) < params.chance)


def observation(params: Params, state: State) -> int:
    return min(state.count, 9)


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    return 1.0 if next_state.lucky else 0.0


def terminal(params: Params, state: State) -> bool:
    return state.count >= 10


def spaces(params: Params) -> Any:
    return ludus.spaces.Discrete(10), ludus.spaces.Discrete(2)


PARTS = {
    "name": "Luck",
    "params": Params,
    "state": State,
    "initial": initial,
    "transition": transition,
    "observation": observation,
    "reward": reward,
    "terminal": terminal,
    "spaces": spaces,
}


def env_of(**changes):
    made = Kernel(**{**PARTS, **changes})

    class LuckEnv(KernelEnv):
        kernel = made

        def __init__(self, chance: float = 0.5) -> None:
            super().__init__(Params(chance))

    return LuckEnv


def test_draws_have_the_right_distribution():
    envs = env_of().vector(2000, chance=0.3)
    envs.reset(seed=0)
    rewards = np.concatenate([envs.step(np.zeros(2000, int))[1] for _ in range(9)])
    assert abs(rewards.mean() - 0.3) < 0.015


def bad_parameters(state, params):
    return 0


def bad_transition(params: Params, state: State, action: int, rng: Any) -> State:
    return State(int(eval("3")), False)


def bad_helper(params: Params, state: State, action: int, rng: Any) -> State:
    return State(len(json.dumps([state.count])), False)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"terminal": bad_parameters}, r"terminal has the parameters \(state, params\)"),
        ({"transition": functools.lru_cache(bad_transition)}, "transition is not a plain function"),
        ({"state": dict}, "NamedTuple"),
    ],
)
def test_kernels_that_break_the_contract(changes, words):
    with pytest.raises(KernelError, match=words):
        env_of(**changes)()


def test_unknown_field_types():
    class Odd(NamedTuple):
        name: str

    with pytest.raises(KernelError, match=r"Odd.name is annotated.*float, int, bool"):
        env_of(state=Odd)()


@pytest.mark.parametrize("function", [bad_transition, bad_helper])
def test_python_that_cannot_be_compiled_is_reported_with_its_line(function):
    with pytest.raises(KernelError, match="Kernel Luck has 2 mistakes") as caught:
        env_of(transition=function)()
    message = str(caught.value)
    assert "test_kernel.py, line" in message
    assert "return State(" in message


def test_closures_are_refused():
    bonus = 2

    def reward_with_bonus(params, state, action, next_state):
        return 1.0 * bonus

    with pytest.raises(KernelError, match=r"uses bonus of an enclosing function.*params"):
        env_of(reward=reward_with_bonus)()


def test_actions_and_order():
    envs = env_of().vector(3)
    with pytest.raises(ResetNeeded):
        envs.step(np.zeros(3, int))
    envs.reset(seed=0)
    with pytest.raises(InvalidAction, match="environment 1 is 5: expected 0 to 1"):
        envs.step(np.array([0, 5, 1]))
    before = envs.get_state()
    with pytest.raises(InvalidAction, match="environment 2 in step 1 is -1"):
        envs.rollout([np.array([0, 1, 1]), np.array([0, 1, -1])])
    assert_same(before, envs.get_state())
    with pytest.raises(ValueError, match="Expected 3 actions"):
        envs.step(np.zeros(4, int))
    with pytest.raises(InvalidAction, match="whole numbers"):
        envs.step(np.zeros(3))
    with pytest.raises(ValueError, match="either actions, or a policy"):
        envs.rollout()
    with pytest.raises(ValueError, match="num_threads"):
        env_of().vector(3, num_threads=0)


def test_disabled_autoreset_refuses_finished_environments():
    envs = env_of().vector(2, max_episode_steps=1, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    envs.step(np.zeros(2, int))
    with pytest.raises(EpisodeOver, match=r"\[0, 1\]"):
        envs.step(np.zeros(2, int))
    envs.reset(options={"reset_mask": np.array([True, True])})
    envs.step(np.zeros(2, int))


def test_episode_statistics():
    envs = env_of().vector(2, chance=1.0)
    envs.reset(seed=0)
    for _ in range(3):
        envs.step(np.zeros(2, int))
    assert envs.episode_returns.tolist() == [3.0, 3.0]
    assert envs.episode_lengths.tolist() == [3, 3]
    for _ in range(8):
        envs.step(np.zeros(2, int))
    assert envs.last_episode_returns.tolist() == [10.0, 10.0]
    assert envs.last_episode_lengths.tolist() == [10, 10]


def test_buffers_are_reused_only_when_asked_for():
    kept, reused = bare("CartPole-v1").vector(2), bare("CartPole-v1").vector(2, copy=False)
    for envs, same in ((kept, False), (reused, True)):
        first = envs.reset(seed=0)[0]
        second = envs.step(np.zeros(2, int))[0]
        assert np.shares_memory(first, second) is same


def test_policies_in_a_rollout_see_what_steps_would_show():
    weights = mlp_weights(4, 8, 2, seed=1)
    rolled, stepped = bare("CartPole-v1").vector(3), bare("CartPole-v1").vector(3)
    seen, _ = stepped.reset(seed=5)
    rolled.reset(seed=5)
    trajectory = rolled.rollout(policy=greedy_mlp, weights=weights, steps=40)
    for t in range(40):
        actions = np.array([greedy_mlp(weights, row, None) for row in seen])
        np.testing.assert_array_equal(actions, trajectory.actions[t])
        seen, rewards, *_ = stepped.step(actions)
        np.testing.assert_array_equal(seen, trajectory.observations[t])
        np.testing.assert_array_equal(rewards, trajectory.rewards[t])


def test_random_policy_is_seeded():
    def run(seed):
        envs = bare("CartPole-v1").vector(4)
        envs.reset(seed=0)
        return envs.rollout(policy=random_action, weights=2, steps=20, policy_seed=seed).actions

    np.testing.assert_array_equal(run(1), run(1))
    assert (run(1) != run(2)).any()


def first_observation(params: Params, state: State) -> int:
    return 9 - min(state.count, 9)


def filling(params: Params, state: State, out: Any) -> None:
    out[0] = state.count


def test_the_first_observation_may_be_another(monkeypatch):
    First = env_of(first_observation=first_observation)
    for jit in ("1", "0"):
        monkeypatch.setenv("LUDUS_JIT", jit)
        env = First()
        assert (env.reset(seed=0)[0], env.step(0)[0], env.reset()[0]) == (9, 1, 9)
        envs = First().vector(3, max_episode_steps=2)
        seen = [envs.reset(seed=0)[0], *(envs.step(np.zeros(3, np.int64))[0] for _ in range(4))]
        assert [row.tolist() for row in seen] == [[9] * 3, [1] * 3, [2] * 3, [9] * 3, [1] * 3]


def chosen(pair: Any, index: int) -> Any:
    return pair[index]


def paid(params: Params, state: State, action: int, next_state: State) -> float:
    # Of two types, so that the index has to be known when it is compiled.
    return chosen((2, 0.5), 1) + chosen((2, 0.25), 0)


def test_constants_are_constants_where_they_have_to_be():
    env = env_of(reward=paid)()
    env.reset(seed=0)
    assert env.step(0)[1] == 2.5


def test_both_observations_have_one_form():
    with pytest.raises(KernelError, match="must both take 'out', or neither"):
        env_of(first_observation=filling)


def test_vector_state_belongs_to_its_kernel():
    envs = bare("CartPole-v1").vector(2)
    envs.reset(seed=0)
    state = envs.get_state()
    with pytest.raises(StateError, match="cannot be set"):
        bare("CartPole-v1").vector(3).set_state(state)


def test_words_follow_numpys_generator():
    for seed in range(20):
        generator = np.random.Generator(np.random.PCG64(seed))
        words = np.zeros((1, 5), np.uint64)
        generator_to_words(generator, words[0])
        rng = WordsRng(words, 0)
        for high in (1, 2, 3, 10, 2**31, 2**32, 2**32 + 1, 2**62):
            assert rng.integers(-3, high - 3) == generator.integers(-3, high - 3)
            assert rng.random() == generator.random()
            assert rng.uniform(-2.0, 7.5) == generator.uniform(-2.0, 7.5)
        again = words_to_generator(words[0])
        assert again.random() == generator.random()


@pytest.mark.parametrize("high", [1, 2, 13, 3 * 2**30, 2**32 - 1, 2**32, 2**33, 2**62])
def test_compiled_draws_are_those_of_numpy(high):
    from numba import njit

    from ludus.kernel.native.numba_random import REPLACEMENTS

    # Those themselves can be called from compiled code only.
    compiled_one, compiled_if = REPLACEMENTS[integers], REPLACEMENTS[integers_if]
    compiled_two = REPLACEMENTS[integers_below]
    draw_one = njit(lambda words, low, high: compiled_one(words, low, high))
    draw_if = njit(lambda words, wanted, low, high: compiled_if(words, wanted, low, high))
    draw_two = njit(lambda words, one, two, both: compiled_two(words, one, two, both))
    for seed in range(5):
        generator = np.random.Generator(np.random.PCG64(seed))
        coin = np.random.default_rng(seed)
        words, after = np.zeros((2, 5), np.uint64)
        generator_to_words(generator, words)
        for turn in range(300):
            flips = coin.random(2) < 0.5
            wanted, both = bool(flips[0]), bool(flips[1])
            given = (wanted, -3, high - 3)
            assert draw_if(words, *given) == integers_if(generator, *given)
            pair = (high, 13, both) if turn % 2 else (13, high, both)
            assert draw_two(words, *pair) == integers_below(generator, *pair)
            if turn % 3 == 0:  # a spare half left over, or no more
                assert draw_one(words, 0, 7) == integers(generator, 0, 7)
            generator_to_words(generator, after)
            np.testing.assert_array_equal(words, after)


def test_make_vec_takes_the_compiled_backend_unless_asked_for_more():
    assert isinstance(ludus.make_vec("CartPole-v1", 2), KernelVectorEnv)
    wrapped = ludus.make_vec("CartPole-v1", 2, wrappers=[ludus.wrappers.FlattenObservation])
    assert type(wrapped).__name__ == "SyncVectorEnv"


def test_importing_ludus_loads_no_compiler():
    program = (
        "import sys, ludus; e = ludus.spec('CartPole-v1');"
        "assert 'numba' not in sys.modules and 'ludus.kernel' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_plain_python_needs_no_compiler():
    program = (
        "import sys, ludus; e = ludus.make('CartPole-v1'); e.reset(seed=0); e.step(1);"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env={"LUDUS_JIT": "0"})


class Board(NamedTuple):
    jumps: np.ndarray


class Place(NamedTuple):
    at: int


def first_place(params: Board, rng: Any) -> Place:
    return Place(0)


def jump(params: Board, state: Place, action: int, rng: Any) -> Place:
    return Place(params.jumps[state.at])


def place(params: Board, state: Place) -> int:
    return state.at


def nothing(params: Board, state: Place, action: int, next_state: Place) -> float:
    return 0.0


def never(params: Board, state: Place) -> bool:
    return False


def on_board(params: Board, state: Place) -> bool:
    return 0 <= state.at < len(params.jumps)


def board_env(**changes):
    """A kernel with an array, as a user may write it."""
    parts = {"params": Board, "state": Place, "initial": first_place, "transition": jump}
    rest = {"observation": place, "reward": nothing, "terminal": never}

    class BoardEnv(KernelEnv):
        kernel = Kernel(**{**PARTS, **parts, **rest, "name": "Board", **changes})

        def __init__(self) -> None:
            super().__init__(Board(np.array([3, 4, 0, 1, 2])))

    return BoardEnv


@pytest.mark.parametrize("value", [10**9, -(10**9)])
def test_a_state_from_outside_cannot_reach_other_memory(value):
    env = board_env()()
    env.reset(seed=0)
    env.state = Place(value)
    with pytest.raises(IndexError, match="Kernel Board used an index outside an array"):
        env.step(1)
    for threads in (1, 2):
        envs = board_env().vector(2, num_threads=threads)
        envs.reset(seed=0)
        state = envs.get_state()
        state["storage"]["I"][0, 1] = value
        envs.set_state(state)
        with pytest.raises(IndexError, match="Kernel Board"):
            envs.step(np.zeros(2, int))
        envs.close()


@pytest.mark.parametrize("value", [10**9, -(10**9), -1, 5])
def test_a_kernel_can_say_which_states_are_valid(value):
    checked = board_env(valid=on_board)
    assert not checked.kernel.checks_indices
    env = checked()
    env.reset(seed=0)
    with pytest.raises(StateError, match=f"cannot be in the state.*{value}"):
        env.state = Place(value)
    assert env.state == Place(0)
    env.state = Place(4)
    assert env.step(1)[0] == 2
    envs = checked.vector(3)
    envs.reset(seed=0)
    before = envs.get_state()
    state = envs.get_state()
    state["storage"]["I"][0, 1] = value
    with pytest.raises(StateError, match="environment 1 cannot be"):
        envs.set_state(state)
    assert_same(before, envs.get_state())


SCALE = np.array([2, 3])


def test_what_a_kernel_is_made_from_is_in_its_name(monkeypatch):
    from ludus.kernel.native.digest import digest

    kernel = board_env().kernel
    before = digest(kernel, "text")
    assert digest(kernel, "text") == before
    assert digest(kernel, "other") != before
    assert digest(board_env(valid=on_board).kernel, "text") != before
    assert digest(board_env(transition=scaled).kernel, "text") != before
    scaled_before = digest(board_env(transition=scaled).kernel, "text")
    monkeypatch.setitem(globals(), "SCALE", np.array([2, 4]))
    assert digest(board_env(transition=scaled).kernel, "text") != scaled_before


def scaled(params: Board, state: Place, action: int, rng: Any) -> Place:
    return Place(params.jumps[state.at] * SCALE[0] % 5)
