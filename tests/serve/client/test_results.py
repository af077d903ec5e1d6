"""What environments over a connection return: results, states, attributes, errors."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.codec import digest
from ludus.errors import (
    BadArguments,
    EpisodeOver,
    Error,
    InvalidAction,
    ResetNeeded,
    ServedEnvError,
    StateError,
)
from ludus.testing import CounterEnv
from ludus.testing.require import require_same
from tests.serve.client.odd import OddEnv
from tests.serve.client.support import SERVED, Running, raises_within, running


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(*SERVED) as found:
        yield found


def golden(env: Any, seed: int, steps: int) -> str:
    """Return a hash of everything that an environment returns."""
    found = hashlib.sha256(digest(list(env.reset(seed=seed))).encode())
    rng = np.random.default_rng(seed)
    shape = (env.num_envs,) if hasattr(env, "num_envs") else ()
    for _ in range(steps):
        actions = rng.integers(2, size=shape)
        result = env.step(actions if shape else int(actions))
        found.update(digest(list(result)).encode())
        if not shape and (result[2] or result[3]):
            found.update(digest(list(env.reset())).encode())
    return found.hexdigest()


@pytest.mark.parametrize("name", ["CartPole-v1", "Blackjack-v1"])
def test_a_long_run_is_that_of_the_local_environment(server: Running, name: str) -> None:
    with closing(ludus.connect(server.url, name)) as far, closing(ludus.make(name)) as near:
        assert golden(far, 3, 400) == golden(near, 3, 400)


def test_a_long_run_of_a_batch_is_that_of_the_local_batch(server: Running) -> None:
    with (
        closing(ludus.connect(server.url, "CartPole-v1", num_envs=7)) as far,
        closing(ludus.make_vec("CartPole-v1", 7)) as near,
    ):
        assert golden(far, 5, 300) == golden(near, 5, 300)


def test_states_go_both_ways(server: Running, tmp_path: Any) -> None:
    far, near = ludus.connect(server.url, "CartPole-v1"), ludus.make("CartPole-v1")
    with closing(far), closing(near):
        far.reset(seed=1)
        far.step(1)
        near.set_state(far.get_state())
        require_same(near.step(0), far.step(0))
        near.step(1)
        far.set_state(near.get_state())
        require_same(near.step(1), far.step(1))
        ludus.save_state(far, tmp_path / "state")
        expected = far.step(0)
        near.set_state(ludus.load_state(tmp_path / "state"))
        require_same(expected, near.step(0))
        far.set_state(ludus.load_state(tmp_path / "state", far))
        require_same(expected, far.step(0))


def test_a_damaged_or_foreign_state_is_refused(server: Running) -> None:
    with closing(ludus.connect(server.url, "CartPole-v1")) as env:
        env.reset(seed=1)
        good = env.get_state()
        with closing(ludus.make("Blackjack-v1")) as other:
            other.reset(seed=0)
            foreign = other.get_state()
        for bad in ({}, {"env": 1}, foreign):
            with pytest.raises(StateError):
                env.set_state(bad)
        with pytest.raises(Error):
            env.set_state(object())  # type: ignore[arg-type]
        env.set_state(good)
        env.step(0)


def test_many_steps_are_the_same_as_one_by_one(server: Running) -> None:
    actions = np.random.default_rng(0).integers(2, size=(16, 5))
    with (
        closing(ludus.connect(server.url, "CartPole-v1", num_envs=5)) as far,
        closing(ludus.make_vec("CartPole-v1", 5)) as near,
    ):
        far.reset(seed=0)
        near.reset(seed=0)
        for _ in range(4):
            many = far.step_many(actions)
            for at, row in enumerate(actions):
                require_same(near.step(row), tuple(part[at] for part in many), f"step {at}")


def test_very_many_steps_hold_up_nobody(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    # Others take turns after each step, however quick this machine is.
    monkeypatch.setattr("ludus.serve.binary.hosting._TURN_SECONDS", 0.0)
    slow = ludus.connect(server.url, "CartPole-v1", num_envs=512)
    with closing(slow), closing(ludus.connect(server.url, "CartPole-v1")) as quick:
        slow.reset(seed=0)
        quick.reset(seed=0)
        rows = np.random.default_rng(0).integers(2, size=(512, 512))
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(slow.step_many(rows)))
        thread.start()
        served = 0
        while thread.is_alive():
            quick.reset(seed=0)
            served += 1
        thread.join()
        assert served > 2
    with closing(ludus.make_vec("CartPole-v1", 512)) as near:
        near.reset(seed=0)
        for at in range(512):
            seen = near.step(rows[at])[0]
            np.testing.assert_array_equal(seen, found[0].observations[at])


def test_many_steps_of_nested_spaces(server: Running) -> None:
    near = ludus.testing.DictEnv(mean_length=10)
    with closing(ludus.connect(server.url, "Dict-v0")) as far:
        far.reset(seed=4)
        near.reset(seed=4)
        rng = np.random.default_rng(1)
        actions = {
            "move": rng.uniform(-1, 1, (64, 2)).astype(np.float32),
            "press": np.stack([rng.integers(4, size=64), rng.integers(2, size=64)], axis=1),
        }
        many = far.step_many(actions)
        made = len(many.rewards)
        assert many.terminated[-1] or many.truncated[-1] or made == 64
        for at in range(made):
            one = near.step({key: value[at] for key, value in actions.items()})
            found = {key: value for key, value in many.observations.items() if key != "clock"}
            clock = tuple(part[at] for part in many.observations["clock"])
            observation = {**{key: value[at] for key, value in found.items()}, "clock": clock}
            require_same({**one[0]}, {key: observation[key] for key in one[0]})
            assert one[1] == many.rewards[at]
            require_same(one[4], many.infos[at])


def test_many_steps_of_spaces_without_a_size(server: Running) -> None:
    near = OddEnv()
    near.action_space.seed(3)
    actions = [near.action_space.sample() for _ in range(6)]
    given = tuple(tuple(action[part] for action in actions) for part in range(2))
    with closing(ludus.connect(server.url, "Odd-v0")) as far:
        far.reset(seed=4)
        near.reset(seed=4)
        many = far.step_many(given)
        for at, action in enumerate(actions):
            seen, reward, _, _, info = near.step(action)
            require_same(seen, {key: value[at] for key, value in many.observations.items()})
            assert (reward, info) == (many.rewards[at], many.infos[at])
        for wrong in (given[:1], (given[0], given[1][:3]), ((1,) * 6, given[1]), 3, ()):
            with pytest.raises(InvalidAction):
                far.step_many(wrong)
    with closing(ludus.connect(server.url, "Odd-v0", num_envs=3)) as far:
        far.reset(seed=4)
        batches = [far.action_space.sample() for _ in range(4)]
        one_by_one = [far.step(batch) for batch in batches]
        far.reset(seed=4)
        many = far.step_many(tuple(tuple(b[part] for b in batches) for part in range(2)))
        for at, expected in enumerate(one_by_one):
            found = {key: value[at] for key, value in many.observations.items()}
            require_same(expected[0], found)
            require_same(expected[4], many.infos[at])


def test_many_steps_end_with_the_episode(server: Running) -> None:
    with closing(ludus.connect(server.url, "Counter-v0")) as env:
        first, _ = env.reset(seed=1)
        many = env.step_many([1] * 40)
        assert len(many.rewards) == 10 - first == len(many.infos)
        assert many.terminated.tolist() == [False] * (len(many.rewards) - 1) + [True]
        with pytest.raises(ValueError, match="expected 1 to"):
            env.step_many([])
        with pytest.raises(ValueError, match="expected 1 to"):
            env.step_many(np.zeros(5000, int))
        with pytest.raises(InvalidAction):
            env.step_many([0, 7])
        with pytest.raises(InvalidAction):
            env.step_many(3)


def test_disabled_autoreset_raises_as_here(server: Running) -> None:
    mode = ludus.vector.AutoresetMode.DISABLED
    with closing(ludus.connect(server.url, "Counter-v0", num_envs=2, autoreset_mode=mode)) as env:
        env.reset(seed=0)
        ones = np.ones(2, np.int64)
        raises_within(30, lambda: env.step(ones), EpisodeOver)
        env.reset(seed=0)
        env.step(np.ones(2, np.int64))


def test_partial_batches(server: Running) -> None:
    alone = [CounterEnv() for _ in range(4)]
    with closing(ludus.connect(server.url, "Counter-v0", num_envs=4, pool=True)) as pool:
        first, _ = pool.reset(seed=7)
        expected = [env.reset(seed=7 + i)[0] for i, env in enumerate(alone)]
        assert first.tolist() == expected
        pool.send(np.array([1, 0]), [3, 1])
        seen, rewards, terminated, _, infos = pool.recv(2)
        for at, row in enumerate(infos["env_id"].tolist()):
            one = alone[row].step(1 if row == 3 else 0)
            assert (seen[at], rewards[at], terminated[at]) == (one[0], one[1], one[2])
            assert infos["steps"][at] == 1
        state = pool.get_state()
        pool.send([1, 1, 1, 1])
        with pytest.raises(BadArguments, match="receive"):
            pool.get_state()
        later = [pool.recv(1) for _ in range(4)]
        pool.set_state(state)
        pool.send([1, 1, 1, 1])
        again = pool.recv()
        order = [int(part[4]["env_id"][0]) for part in later]
        found = dict(zip(again[4]["env_id"].tolist(), again[0].tolist(), strict=True))
        assert [found[row] for row in order] == [int(part[0][0]) for part in later]


def test_a_pool_gives_what_is_ready_first(server: Running) -> None:
    with closing(ludus.connect(server.url, "Slow-v0", num_envs=3, pool=True)) as pool:
        pool.reset(seed=0)
        began = time.monotonic()
        pool.send([1, 1, 1])
        pool.recv(3)
        # Each takes 0.1 s, in a thread of its own.
        assert time.monotonic() - began < 10
        with pytest.raises(BadArguments, match="reset_mask"):
            pool.reset(options={"reset_mask": np.array([True, False, False])})
        for rows in ([0, 0], [3], [-1], [0.5], []):
            with pytest.raises((ValueError, InvalidAction)):
                pool.send([1] * len(rows), rows)
        pool.send([1], [2])
        with pytest.raises(BadArguments, match="1 environments"):
            pool.recv(2)
        assert pool.recv(1)[4]["env_id"].tolist() == [2]
        with pytest.raises(NotImplementedError):
            pool.step_many([[1, 1, 1]])


def test_attributes_and_methods_that_are_served(server: Running) -> None:
    with closing(ludus.connect(server.url, "Told-v0")) as env:
        env.reset(seed=3)
        assert env.call("double", 21) == 42
        assert env.get_attr("goal") == 10
        assert env.get_attr("np_random_seed") == 3
        for name in ("hidden", "_secret", "__class__", "reset", "close", "unwrapped"):
            with pytest.raises(BadArguments, match="not served"):
                env.get_attr(name)
            with pytest.raises(BadArguments, match="not served"):
                env.call(name)
        with pytest.raises(AttributeError, match="get_attr"):
            _ = env.goal  # type: ignore[attr-defined]


def test_errors_have_the_classes_that_they_have_here(server: Running) -> None:
    with closing(ludus.connect(server.url, "CartPole-v1")) as env:
        with pytest.raises(ResetNeeded):
            env.step(0)
        env.reset(seed=0)
        for bad in (2, -1, 0.5, "left", None, [0]):
            with pytest.raises(InvalidAction):
                env.step(bad)
        env.step(np.int64(1))
    with closing(ludus.connect(server.url, "Faulty-v0")) as env:
        env.reset(seed=0)
        problem = raises_within(5, lambda: env.step(0), ServedEnvError)
        assert problem.kind == "RuntimeError"
        # The text of an unforeseen exception stays in the server's log.
        assert "as configured" not in str(problem)
        env.reset(seed=0)
