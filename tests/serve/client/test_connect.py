"""ludus.connect against the server: results, states, many steps, attributes, errors."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.codec import digest
from ludus.core import EnvSpec
from ludus.errors import (
    BadArguments,
    CapacityReached,
    ClosedEnvironmentError,
    EpisodeOver,
    Error,
    InvalidAction,
    ResetNeeded,
    ServedEnvError,
    ServeError,
    ServerLost,
    ServerTimeout,
    SessionGone,
    StateError,
    UnknownName,
)
from ludus.serve import Limits, Served
from ludus.testing import CounterEnv
from ludus.testing.require import require_same
from tests.serve.client.support import Running, running, served_class


class Told(CounterEnv):
    """An environment that lets clients read and call some of it."""

    metadata = {"render_modes": [], "served": ["double", "goal", "_secret"]}

    _secret = 1
    hidden = 2

    def double(self, number: int) -> int:
        return 2 * number


MINE = f"{__name__}:Told"
SLOW = Served("Slow-v0", EnvSpec("Slow-v0", entry_point="ludus.testing.envs:SlowEnv"))
FAULTY = Served("Faulty-v0", EnvSpec("Faulty-v0", entry_point="ludus.testing.envs:FaultyEnv"))


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    served = (
        "CartPole-v1",
        "Blackjack-v1",
        served_class("Counter-v0", "ludus.testing.envs:CounterEnv"),
        served_class("Dict-v0", "ludus.testing.envs:DictEnv"),
        served_class("Told-v0", MINE),
        served_class("Image-v0", "ludus.testing.envs:ImageEnv"),
        SLOW,
        FAULTY,
    )
    with running(*served) as found:
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


def test_what_cannot_be_opened(server: Running) -> None:
    cases: list[tuple[type[Exception], dict[str, Any]]] = [
        (UnknownName, {"id": "Nothing-v0"}),
        (BadArguments, {"id": "Counter-v0", "goal": 3}),
        (BadArguments, {"id": "CartPole-v1", "render_mode": "human"}),
        (BadArguments, {"id": "CartPole-v1", "num_envs": 10**6}),
        (ServeError, {"num_envs": 0}),
        (ServeError, {"num_envs": "3"}),
        (ServeError, {"timeout": 0}),
        (ServeError, {"pool": True}),
        (ServeError, {"token": "a\nb"}),
        (ValueError, {"num_envs": 2, "autoreset_mode": "Sometimes"}),
        (BadArguments, {"num_envs": 2, "autoreset_mode": "NextStep", "pool": True}),
    ]
    for kind, given in cases:
        with pytest.raises(kind):
            ludus.connect(server.url, **given)
    for url in ("", "ftp://x", "http://", 3, "http://a b", "http://me:secret@127.0.0.1:1"):
        with pytest.raises(ServeError):
            ludus.connect(url)  # type: ignore[arg-type]
    wait_for(lambda: not len(server.service.sessions))


def test_without_an_id_the_servers_first_is_opened(server: Running) -> None:
    with closing(ludus.connect(server.url)) as env:
        assert env.spec.id == "CartPole-v1"  # type: ignore[union-attr]
    with closing(ludus.connect(f"{server.url}/env/Counter-v0")) as env:
        assert env.spec.id == "Counter-v0"  # type: ignore[union-attr]


def test_the_spec_makes_another_one(server: Running) -> None:
    with closing(ludus.connect(server.url, "Image-v0")) as env:
        assert env.spec is not None
        with closing(env.spec.make(render_mode="rgb_array")) as other:
            other.reset(seed=1)
            assert other.render().shape == (16, 20, 3)
        with closing(ludus.make_vec(env.spec, 3)) as batch:
            require_same(batch.reset(seed=2)[0][0], env.reset(seed=2)[0])
    with closing(ludus.connect(server.url, "Image-v0", token="secret!" * 4)) as env:
        assert "secret" not in repr(env.spec)


def test_closing_gives_the_session_back(server: Running) -> None:
    sessions = server.service.sessions
    wait_for(lambda: not len(sessions))
    env = ludus.connect(server.url, "CartPole-v1")
    batch = ludus.connect(server.url, "CartPole-v1", num_envs=3)
    pool = ludus.connect(server.url, "Slow-v0", num_envs=2, pool=True)
    assert len(sessions) == 4
    pool.reset()
    pool.send([0, 0])
    for one in (env, batch, pool):
        one.close()
        one.close()
    wait_for(lambda: not len(sessions))
    with pytest.raises(ServerLost, match="closed"):
        env.reset()
    with pytest.raises(ClosedEnvironmentError):
        batch.reset()


def test_a_slow_answer_times_out(server: Running) -> None:
    with closing(ludus.connect(server.url, "Slow-v0", timeout=0.05, num_envs=1)) as env:
        env.reset(seed=0)
        with pytest.raises(ServerTimeout, match="timeout="):
            env.step([0])
        with pytest.raises(ServerLost, match="timeout="):
            env.step([0])
        env.reconnect()
        env.reset(seed=0)


def test_an_interrupted_call_ends_the_connection(server: Running) -> None:
    env = ludus.connect(server.url, "CartPole-v1")
    env.reset(seed=0)
    connection = env._link.connection  # type: ignore[attr-defined]
    receive = connection.receive

    def interrupted() -> Any:
        receive()
        raise KeyboardInterrupt

    connection.receive = interrupted
    with pytest.raises(KeyboardInterrupt):
        env.step(0)
    with pytest.raises(ServerLost, match="interrupted by KeyboardInterrupt"):
        env.step(0)
    env.reconnect()
    env.reset(seed=0)
    env.close()


def test_threads_may_share_an_environment(server: Running) -> None:
    env = ludus.connect(server.url, "Counter-v0", num_envs=1)
    env.reset(seed=0)
    problems: list[BaseException] = []

    def steps() -> None:
        try:
            for _ in range(50):
                env.step([0])
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=steps) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    env.close()
    assert not problems


def test_another_process_cannot_use_the_connection(server: Running) -> None:
    env = ludus.connect(server.url, "CartPole-v1")
    env.reset(seed=0)
    env._link._maker += 1  # type: ignore[attr-defined]
    with pytest.raises(Error, match="in this one"):
        env.step(0)
    env._link._maker = os.getpid()  # type: ignore[attr-defined]
    env.step(0)
    with pytest.raises(Error, match="cannot be pickled"):
        env.__reduce__()
    env.close()


def test_a_full_server_says_so() -> None:
    with running("CartPole-v1", limits=Limits(sessions=2)) as server:
        kept = [ludus.connect(server.url) for _ in range(2)]
        with pytest.raises(CapacityReached, match="at most 2"):
            ludus.connect(server.url)
        with pytest.raises((CapacityReached, BadArguments)):
            ludus.connect(server.url, num_envs=3, pool=True)
        kept[0].close()
        wait_for(lambda: len(server.service.sessions) == 1)
        ludus.connect(server.url).close()
        kept[1].close()


def test_an_idle_session_ends_with_its_reason() -> None:
    with running("CartPole-v1", limits=Limits(idle_seconds=0.2)) as server:
        env = ludus.connect(server.url)
        env.reset(seed=0)
        wait_for(lambda: not len(server.service.sessions))
        problem = raises_within(3, lambda: env.step(0), (ServerLost, SessionGone))
        assert "idle" in str(problem)
        env.reconnect()
        env.reset(seed=0)
        env.close()


def test_a_token_is_needed() -> None:
    with running("CartPole-v1", token="t" * 32) as server:
        for token in (None, "wrong" * 8):
            with pytest.raises(ServerLost, match=r"401|token"):
                ludus.connect(server.url, token=token)
        with closing(ludus.connect(server.url, token="t" * 32)) as env:
            env.reset(seed=0)


def test_a_server_that_stops_says_goodbye() -> None:
    with running("CartPole-v1") as server:
        env = ludus.connect(server.url)
        env.reset(seed=0)
    began = time.monotonic()
    raises_within(3, lambda: env.step(0), ServerLost)
    with pytest.raises(ServerLost, match="ludus serve"):
        env.reconnect()
    env.close()
    assert time.monotonic() - began < 5


def raises_within(times: int, call: Any, kinds: Any) -> Any:
    """Return what one of several calls raises."""
    for _ in range(times):
        try:
            call()
        except kinds as problem:
            return problem
        time.sleep(0.02)
    raise AssertionError(f"{times} calls raised nothing")


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_research_task() -> None:
    with (
        running("research/battleOfSexes") as server,
        closing(ludus.connect(server.url)) as env,
    ):
        seen, info = env.reset(seed=7)
        assert "Two players" in seen["task"]
        assert seen in env.observation_space
        assert "score" in info
        seen, reward, terminated, truncated, _ = env.step("echo héllo")
        assert seen["output"].strip() == "héllo"
        assert (reward, terminated, truncated) == (0.0, False, False)
        for call in (env.get_state, lambda: env.set_state({})):
            with pytest.raises(StateError, match="stays on the server"):
                call()
        with pytest.raises(BadArguments):
            env.get_attr("np_random_seed")  # type: ignore[attr-defined]
        for bad in (3, {"tool": "none"}, None):
            with pytest.raises(InvalidAction):
                env.step(bad)


def test_a_recorded_episode_goes_on_with_another_server(tmp_path: Any) -> None:
    task = Served.of("research/battleOfSexes", records=tmp_path)
    with running(task) as server, closing(ludus.connect(server.url)) as env:
        _, info = env.reset(seed=7)
        env.step("echo kept > kept.txt")
    with running(task) as server, closing(ludus.connect(server.url)) as env:
        seen, again = env.reset(options={"episode_id": info["episode_id"]})
        assert again["episode_id"] == info["episode_id"]
        assert seen["steps_left"] == 49
        assert env.step("cat kept.txt")[0]["output"].strip() == "kept"
        _, other = env.reset(seed=8)
        assert other["episode_id"] != info["episode_id"]
