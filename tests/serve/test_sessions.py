from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.errors import (
    BadArguments,
    CapacityReached,
    InvalidAction,
    ResetNeeded,
    ServeError,
    SessionGone,
    UnknownName,
    UnregisteredEnv,
)
from ludus.serve import Limits, Served, Sessions

CARTPOLE = Served.of("CartPole-v1")
HOPPER = Served.of("Hopper-v5")


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


def test_an_inline_session_returns_what_the_environment_returns() -> None:
    async def work() -> None:
        async with Sessions([CARTPOLE]) as sessions:
            session = await sessions.open("CartPole-v1")
            assert session.is_inline
            local = ludus.make("CartPole-v1")
            here, there = local.reset(seed=3), await session.reset(seed=3)
            np.testing.assert_array_equal(here[0], there.observation)
            assert (there.reward, there.terminated, there.truncated) == (0.0, False, False)
            for number in range(40):
                action = number % 2
                mine = local.step(action)
                found = session.step_now(action) if number % 3 else await session.step(action)
                np.testing.assert_array_equal(mine[0], found.observation)
                assert mine[1:] == found[1:]
                if mine[2]:
                    local.reset()
                    await session.reset()
            assert session.total_steps == 40 == sessions.total_steps

    run(work())


def test_a_session_of_an_engine_has_its_own_thread_and_keeps_the_order() -> None:
    async def work() -> None:
        async with Sessions([HOPPER]) as sessions:
            session = await sessions.open("Hopper-v5")
            assert not session.is_inline
            await session.reset(seed=1)
            threads: list[int] = []
            order: list[int] = []

            def note(number: int) -> None:
                threads.append(threading.get_ident())
                order.append(number)

            await asyncio.gather(
                *(session.call(lambda _, number=number: note(number)) for number in range(50))
            )
            assert order == list(range(50))
            assert len(set(threads)) == 1
            assert threads[0] != threading.get_ident()
            await session.step(np.zeros(3, np.float32))
            with pytest.raises(InvalidAction, match="no action"):
                await session.step(np.full(3, 9.0, np.float32))
            assert session.steps == 1

    run(work())


def test_a_batch_is_what_make_vec_returns() -> None:
    async def work() -> None:
        async with Sessions([CARTPOLE]) as sessions:
            session = await sessions.open("CartPole-v1", num_envs=5, autoreset_mode="SameStep")
            local = ludus.make_vec("CartPole-v1", 5, vector_kwargs={"autoreset_mode": "SameStep"})
            here, there = local.reset(seed=3), await session.reset(seed=3)
            np.testing.assert_array_equal(here[0], there.observation)
            actions = np.array([0, 1, 0, 1, 1])
            for _ in range(30):
                mine, found = local.step(actions), await session.step(actions)
                for left, right in zip(mine[:4], found[:4], strict=True):
                    np.testing.assert_array_equal(left, right)
            assert session.num_envs == 5
            assert session.total_steps == 150
            local.close()

    run(work())


def test_states_move_between_sessions() -> None:
    async def work() -> None:
        async with Sessions([CARTPOLE]) as sessions:
            first, second = [await sessions.open("CartPole-v1") for _ in range(2)]
            await first.reset(seed=5)
            await second.reset(seed=6)
            first.step_now(1)
            await second.set_state(await first.get_state())
            np.testing.assert_array_equal(
                first.step_now(0).observation, second.step_now(0).observation
            )
            assert not first.keeps_state_private

    run(work())


def test_errors_of_the_environment_reach_the_caller_and_the_session_goes_on() -> None:
    async def work() -> None:
        async with Sessions([CARTPOLE]) as sessions:
            session = await sessions.open("CartPole-v1")
            with pytest.raises(ResetNeeded):
                session.step_now(0)
            await session.reset(seed=1)
            with pytest.raises(InvalidAction):
                session.step_now(7)
            assert session.steps == 0
            session.step_now(1)

    run(work())


def test_capacity_is_kept_also_while_sessions_are_opened() -> None:
    async def work() -> None:
        async with Sessions([CARTPOLE, HOPPER], Limits(sessions=3, per_owner=2)) as sessions:
            opened = await asyncio.gather(
                *(sessions.open("Hopper-v5", owner=f"{n % 4}") for n in range(8)),
                return_exceptions=True,
            )
            refused = [one for one in opened if isinstance(one, CapacityReached)]
            assert len(refused) == 5 == sessions.refused
            assert (refused[0].active, refused[0].most) == (3, 3)
            assert len(sessions) == 3
            for one in opened:
                if not isinstance(one, BaseException):
                    await sessions.close(one.id)
            assert len(sessions) == sessions.active == 0
            for _ in range(2):
                await sessions.open("CartPole-v1", owner="me")
            with pytest.raises(CapacityReached, match="You have 2"):
                await sessions.open("CartPole-v1", owner="me")
            await sessions.open("CartPole-v1", owner="you")

    run(work())


@pytest.mark.parametrize("name", ["CartPole-v1", "Hopper-v5"])
def test_a_closed_session_says_why_it_is_gone(name: str) -> None:
    async def work() -> None:
        sessions = Sessions([CARTPOLE, HOPPER])
        session = await sessions.open(name)
        assert sessions.get(session.id) is session
        await sessions.close(session.id)
        await sessions.close(session.id)
        with pytest.raises(SessionGone, match="it was closed") as gone:
            sessions.get(session.id)
        assert gone.value.why == "closed"
        with pytest.raises(SessionGone):
            await session.reset()
        with pytest.raises(SessionGone):
            session.step_now(0)
        with pytest.raises(SessionGone, match="never was"):
            sessions.get("0" * 32)
        await sessions.close_all()
        with pytest.raises(CapacityReached, match="shutting down"):
            await sessions.open(name)

    run(work())


def test_idle_and_old_sessions_are_closed_and_busy_ones_are_not() -> None:
    async def work() -> None:
        limits = Limits(idle_seconds=0.2, life_seconds=0.8)
        async with Sessions([CARTPOLE, HOPPER], limits) as sessions:
            idle = await sessions.open("CartPole-v1")
            busy = await sessions.open("Hopper-v5")
            used = await sessions.open("CartPole-v1")
            call = asyncio.create_task(busy.call(lambda _: time.sleep(0.5)))
            await used.reset(seed=0)
            for _ in range(8):
                await asyncio.sleep(0.05)
                used.step_now(0)
            with pytest.raises(SessionGone, match="nobody used it"):
                sessions.get(idle.id)
            assert sessions.get(busy.id) is busy
            assert sessions.get(used.id) is used
            await call
            for _ in range(12):
                await asyncio.sleep(0.05)
                if len(sessions):
                    used.used_at = time.monotonic()
            with pytest.raises(SessionGone, match="too old"):
                sessions.get(used.id)
            assert sessions.closed["age"] >= 1

    run(work())


def test_closing_waits_for_the_call_under_way() -> None:
    async def work() -> None:
        async with Sessions([HOPPER]) as sessions:
            session = await sessions.open("Hopper-v5")
            await session.reset(seed=0)
            done: list[str] = []
            call = asyncio.create_task(
                session.call(lambda _: (time.sleep(0.2), done.append("call")))
            )
            await asyncio.sleep(0.05)
            await sessions.close(session.id)
            assert done == ["call"]
            await call
        threads = [one.name for one in threading.enumerate() if one.name.startswith("session-")]
        for _ in range(50):
            if not threads:
                break
            await asyncio.sleep(0.02)
            threads = [t.name for t in threading.enumerate() if t.name.startswith("session-")]
        assert not threads

    run(work())


def test_an_opening_that_is_cancelled_leaves_nothing() -> None:
    async def work() -> None:
        async with Sessions([HOPPER], Limits(sessions=1)) as sessions:
            await asyncio.to_thread(lambda: HOPPER.facts)
            opening = asyncio.create_task(sessions.open("Hopper-v5"))
            await asyncio.sleep(0)
            opening.cancel()
            with pytest.raises(asyncio.CancelledError):
                await opening
            assert sessions.active == 0
            await sessions.open("Hopper-v5")

    run(work())


def test_clients_may_set_only_what_the_operator_allows() -> None:
    lake = Served.of("FrozenLake-v1", client_kwargs=["is_slippery"])

    async def work() -> None:
        async with Sessions([lake, CARTPOLE], Limits(envs=10)) as sessions:
            allowed = {"is_slippery": False, "render_mode": "rgb_array"}
            session = await sessions.open("FrozenLake-v1", kwargs=allowed)
            await session.reset(seed=0)
            assert session.step_now(1).info["prob"] == 1.0
            frame = await session.call(lambda env: env.render())
            assert frame.ndim == 3
            for wrong in ({"map_name": "8x8"}, {"render_mode": "human"}, {"sandbox": False}):
                with pytest.raises(BadArguments):
                    await sessions.open("FrozenLake-v1", kwargs=wrong)
            with pytest.raises(BadArguments, match="num_envs is 11"):
                await sessions.open("CartPole-v1", num_envs=11)
            with pytest.raises(BadArguments, match="autoreset_mode"):
                await sessions.open("CartPole-v1", autoreset_mode="SameStep")
            with pytest.raises(UnknownName, match=r"served are \['FrozenLake-v1'"):
                await sessions.open("Acrobot-v1")
            assert sessions.active == 1

    run(work())


def test_what_is_not_part_of_ludus_is_sandboxed_and_research_is_known() -> None:
    assert not CARTPOLE.sandbox
    assert CARTPOLE.kind == "environment"
    assert Served.of("some_package.envs:Odd-v0").sandbox
    for name in ("research/battleOfSexes", "mlgym/battleOfSexes-v0"):
        assert Served.of(name).kind == "research"
    with pytest.raises(UnregisteredEnv):
        Served.of("Nothing-v0")
    with pytest.raises(ServeError):
        Sessions([CARTPOLE, CARTPOLE])
    with pytest.raises(ServeError):
        Limits(sessions=0)


def test_session_ids_are_secrets_and_are_not_printed() -> None:
    async def work() -> None:
        async with Sessions([CARTPOLE]) as sessions:
            made = [await sessions.open("CartPole-v1") for _ in range(20)]
            assert len({one.id for one in made}) == 20
            assert all(len(one.id) == 32 for one in made)
            assert made[0].id not in repr(made[0])

    run(work())
