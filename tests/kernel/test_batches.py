"""The compiled batch as its callers see it: seeds, threads, buffers, forms of actions."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.errors import EpisodeOver, Error, InvalidAction, StateError
from ludus.kernel.batch import threads
from ludus.kernel.batch.seeds import seeds_to_words
from ludus.kernel.batch.threads import Team
from ludus.kernel.generator import WORDS, seed_to_words
from tests.kernel.families import bare
from tests.reference.twins import assert_same


def cartpoles(n, **options):
    envs = ludus.make_vec("CartPole-v1", n, **options)
    envs.reset(seed=5)
    return envs


@pytest.mark.parametrize(
    "seeds",
    [
        [0, 1, 12345, 2**32 - 1],
        range(7, 300),
        range(2**32 - 3, 2**32 + 4),
        range(2**63 - 3, 2**63 + 4),
        range(2**64 - 3, 2**64 + 4),
        range(2**128 - 3, 2**128 + 4),
        [7],
        [2**32 + 5, 0, 2**64 + 77, 2**128 - 1],
        [3, 2**128, 2**200 + 9],
    ],
)
@pytest.mark.parametrize("native", [False, True])
def test_many_seeds_at_once_seed_as_numpy_does(seeds, native):
    words = np.ones((len(seeds), WORDS), np.uint64)
    seeds_to_words(seeds, words, native=native)
    expected = np.zeros_like(words)
    for row, seed in enumerate(seeds):
        seed_to_words(seed, expected[row])
    np.testing.assert_array_equal(words, expected)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 16, 63, 130])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_exactly_those_that_are_due_are_reset(n, mode):
    envs = cartpoles(n, autoreset_mode=mode, copy=False)
    storage = envs._storage
    rng = np.random.default_rng(n)
    for share in (0.0, 0.05, 0.5, 1.0):
        due = rng.random(n) < share
        # Before a next step they wait; at the same step they fall.
        storage.waiting[:] = due if mode == "NextStep" else False
        storage.floats[:4] = 0.0
        storage.floats[2] = np.where(due & (mode == "SameStep"), 1.0, 0.0)
        storage.ints[0] = 3
        envs.step(np.zeros(n, np.int64))
        np.testing.assert_array_equal(envs.episode_lengths, np.where(due, 0, 4))


def test_rows_begin_at_a_cache_line():
    storage = cartpoles(1024)._storage
    assert storage.rng_words.ctypes.data % 64 == 0
    rows = [*storage.floats, *storage.ints, *storage.actions, storage.raw_observations]
    assert {row.ctypes.data % 64 for row in rows} == {0}
    # Neighbours do not share their places in the cache.
    assert len({row.ctypes.data % 4096 for row in storage.floats}) == len(storage.floats)


def test_seeds_are_told_and_refused():
    envs = cartpoles(3)
    assert envs.np_random_seed == (5, 6, 7)
    envs.reset(seed=[None, 9, None])
    assert envs.np_random_seed == (5, 9, 7)
    fresh = ludus.make_vec("CartPole-v1", 2)
    fresh.reset()
    drawn = fresh.np_random_seed
    assert len(set(drawn)) == 2
    assert min(drawn) > 2**64
    twin = ludus.make_vec("CartPole-v1", 2)
    twin.reset(seed=list(drawn))
    np.testing.assert_array_equal(
        fresh.get_state()["storage"]["F"], twin.get_state()["storage"]["F"]
    )
    for wrong in ([1, -1], [1, 2.0], [1, np.int64(3)]):
        with pytest.raises(Error, match="Seed must be"):
            fresh.reset(seed=wrong)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 5, 3000, 9000])
def test_a_refused_step_changes_nothing(n, threads):
    envs = cartpoles(n, num_threads=threads)
    before = envs.get_state()
    actions = np.zeros(n, int)
    actions[-1] = 7
    with pytest.raises(InvalidAction, match=f"environment {n - 1} is 7: expected 0 to 1"):
        envs.step(actions)
    assert_same(before, envs.get_state())
    envs.close()


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_threads_step_as_one_does(threads):
    n = 20_000
    alone, shared = cartpoles(n), cartpoles(n, num_threads=threads)
    rng = np.random.default_rng(0)
    for step in range(60):
        actions = rng.integers(0, 2, n)
        given = (actions, actions.tolist(), actions.astype(np.int8), np.repeat(actions, 2)[::2])
        for one, other in zip(alone.step(actions), shared.step(given[step % 4]), strict=True):
            assert_same(one, other)
    assert_same(alone.get_state(), shared.get_state())
    assert_same(
        alone.rollout(np.ones((5, n), int)).rewards, shared.rollout(np.ones((5, n), int)).rewards
    )
    assert_same(alone.step(actions)[0], shared.step(actions)[0])
    shared.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_threads_that_are_gone_are_not_waited_for():
    envs = cartpoles(20_000, num_threads=2)
    actions = np.ones(20_000, int)
    envs.step(actions)
    child = os.fork()
    if child == 0:
        # Only this thread is left; it has to do all pieces.
        for _ in range(20):
            envs.step(actions)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    envs.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_a_finished_environment_holds_up_all_of_them(threads):
    envs = cartpoles(4000, num_threads=threads, autoreset_mode=AutoresetMode.DISABLED)
    right = np.ones(4000, int)
    over = np.zeros(4000, bool)
    while not over.any():
        _, _, terminated, truncated, _ = envs.step(right)
        over = terminated | truncated
    before = envs.get_state()
    with pytest.raises(EpisodeOver, match=str(np.flatnonzero(over)[0])):
        envs.step(right)
    assert_same(before, envs.get_state())
    envs.close()


def test_actions_may_come_in_any_form():
    reference, envs = cartpoles(4), cartpoles(4)
    plain = np.array([0, 1, 1, 0])
    frozen = plain.copy()
    frozen.flags.writeable = False
    spaced = np.repeat(plain, 2)[::2]
    for form in (
        frozen,
        spaced,
        plain.tolist(),
        plain.astype(np.uint8),
        plain == 1,
        plain[:, None],
    ):
        assert_same(reference.step(plain), envs.step(form))


def test_box_actions_may_come_flat_or_as_columns():
    first, second = (ludus.make_vec("Pendulum-v1", 3) for _ in range(2))
    first.reset(seed=0)
    second.reset(seed=0)
    torques = np.array([[0.5], [-1.0], [2.0]], np.float32)
    assert_same(first.step(torques), second.step(torques[:, 0]))
    assert_same(first.rollout([torques, torques]), second.rollout(np.stack([torques[:, 0]] * 2)))
    with pytest.raises(ValueError, match="Expected 3 actions"):
        first.step(np.zeros((2, 1), np.float32))


@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "FrozenLake-v1", "Pendulum-v1", "MinAtar/Breakout-v1"]
)
def test_a_rollout_can_reuse_its_memory(env_id):
    first, second = (ludus.make_vec(env_id, 3) for _ in range(2))
    first.reset(seed=1)
    second.reset(seed=1)
    first.action_space.seed(0)
    actions = [np.stack([first.action_space.sample() for _ in range(20)]) for _ in range(2)]
    out = second.rollout(actions[0])
    first.rollout(actions[0])
    expected, found = first.rollout(actions[1]), second.rollout(actions[1], out=out)
    assert_same(tuple(expected), tuple(found))
    assert np.shares_memory(found.observations, out.observations)
    with pytest.raises(ValueError, match="20 steps|trajectory of 5 steps"):
        second.rollout(actions[0][:5], out=out)


def test_rollouts_of_tuples_have_a_tuple_of_arrays():
    stepped, rolled = (ludus.make_vec("KellyCoinflip-v0", 3) for _ in range(2))
    stepped.reset(seed=1)
    rolled.reset(seed=1)
    bets = np.full((4, 3), 7)
    trajectory = rolled.rollout(bets)
    for t, batch in enumerate(bets):
        seen = stepped.step(batch)[0]
        assert_same(seen, tuple(part[t] for part in trajectory.observations))
    with pytest.raises(ValueError, match="tuples cannot be written"):
        rolled.rollout(bets, out=trajectory)


def test_copies_keep_and_views_change():
    kept, shared = cartpoles(3, copy=True), cartpoles(3, copy=False)
    actions = np.ones(3, int)
    for envs, same in ((kept, False), (shared, True)):
        first = envs.step(actions)[0]
        second = envs.step(actions)[0]
        assert np.shares_memory(first, second) is same


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("n", [1, 4, 1023, 50_000])
def test_a_team_does_every_piece_once(threads, n):
    team = Team(threads, n)
    done = np.zeros(n, int)

    def work(first, last):
        done[first:last] += 1
        return last - first

    assert team.run(work) == n
    assert (done == 1).all()
    assert team.run(lambda first, last: -2 if first == 0 else 1) == -2
    team.close()


def test_a_team_passes_on_what_goes_wrong():
    team = Team(2, 10)

    def work(first, last):
        raise KeyError(first)

    with pytest.raises(KeyError):
        team.run(work)
    team.close()


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_a_team_needs_threads(threads):
    with pytest.raises(ValueError, match="num_threads must be a positive int"):
        Team(threads, 4)


def test_returns_and_lengths_of_episodes():
    envs = cartpoles(2, max_episode_steps=3)
    for step in range(3):
        np.testing.assert_array_equal(envs.episode_lengths, step)
        envs.step(np.zeros(2, int))
    np.testing.assert_array_equal(envs.episode_returns, 3.0)
    envs.step(np.zeros(2, int))
    np.testing.assert_array_equal(envs.episode_returns, 0.0)
    np.testing.assert_array_equal(envs.last_episode_returns, 3.0)
    np.testing.assert_array_equal(envs.last_episode_lengths, 3)
    assert bare("CartPole-v1").kernel.vectorises


def outrageous(weights, observation, rng):
    return weights


@pytest.mark.parametrize("action", [10**9, -1, 4])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_policy_cannot_act_outside_the_space(action, threads):
    envs = ludus.make_vec("FrozenLake-v1", 4, num_threads=threads)
    envs.reset(seed=0)
    envs.rollout(policy=outrageous, weights=3, steps=5)
    with pytest.raises(InvalidAction, match=f"is {action}: expected 0 to 3"):
        envs.rollout(policy=outrageous, weights=action, steps=5)
    envs.close()


def test_random_words_from_outside_are_checked():
    envs = ludus.make_vec("Blackjack-v1", 3)
    envs.reset(seed=0)
    state = envs.get_state()
    state["storage"]["U"][1] = 0
    with pytest.raises(StateError, match="random words of environment 1"):
        envs.set_state(state)
    state = envs.get_state()
    state["storage"]["U"][2, 4] = 2**40
    with pytest.raises(StateError, match="random words of environment 2"):
        envs.set_state(state)


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "FrozenLake-v1", "Blackjack-v1"]
)
def test_observations_are_in_c_order(env_id, copy):
    envs = ludus.make_vec(env_id, 9, copy=copy)
    seen, _ = envs.reset(seed=0)
    batches = [seen, envs.step(envs.action_space.sample())[0]]
    for batch in batches:
        for part in batch if isinstance(batch, tuple) else (batch,):
            assert part.flags.c_contiguous
            assert part.flags.aligned
    if env_id != "Blackjack-v1":
        steps = np.stack([envs.action_space.sample() for _ in range(3)])
        assert envs.rollout(steps).observations.flags.c_contiguous


def test_a_reset_without_seeds_goes_on_with_the_streams():
    envs, twin = cartpoles(4), cartpoles(4)
    np.testing.assert_array_equal(envs.reset()[0], twin.reset()[0])
    assert envs.np_random_seed == (5, 6, 7, 8)
    mask = np.array([True, False, True, False])
    envs.reset(seed=[1, None, 3, None], options={"reset_mask": mask})
    assert envs.np_random_seed == (1, 6, 3, 8)
    with pytest.raises(Error, match="greater or equal to zero"):
        envs.reset(seed=-1)
    assert envs.np_random_seed == (1, 6, 3, 8)


def test_a_helping_thread_keeps_the_memory_of_a_batch_that_is_gone():
    """It polls for a moment after a step, and would write to memory that is somebody else's."""
    polls, goes_on = threading.Event(), threading.Event()

    def function(_address, _round, _pieces, _n, patience, _table):
        if patience:
            polls.set()
            goes_on.wait(30)
        return 0

    class Owner:
        pass

    team, owner = threads.Team(2, 4), Owner()
    board, known = threads.Board(team, function, 0, owner), weakref.ref(owner)
    board.step()
    assert polls.wait(30)
    del board, owner
    gc.collect()
    assert known() is not None
    goes_on.set()
    team.close()
    gc.collect()
    assert known() is None
