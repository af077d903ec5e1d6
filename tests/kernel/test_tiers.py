"""Environments start in plain Python and change to compiled code between two steps, unnoticed."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.errors import InvalidAction, KernelError, ResetNeeded
from ludus.kernel import compiled_program, program, tiers
from ludus.kernel.native import background
from tests.kernel.test_kernel import env_of
from tests.reference.twins import assert_same

SWITCHES = [1, 2, 17, None]
IDS = ["CartPole-v1", "FrozenLake-v1", "MinAtar/Breakout-v1", "Blackjack-v1"]
NEVER = float("inf")


@pytest.fixture
def fresh(monkeypatch):
    """A process that has loaded no program, and compiles in the background."""

    def begin(mode="background"):
        monkeypatch.setattr(program, "_programs", {})
        monkeypatch.setenv("LUDUS_COMPILE", mode)

    begin()
    yield begin
    for compilation in list(background._running):
        compilation.stop()
    tiers._under_way.clear()


def hold(env):
    """Keep an environment in plain Python until it is told to change."""
    assert not env._tier.is_final
    assert not env._program.jit
    env._tier._look = NEVER
    return env


def change(env):
    """Have the next step change to compiled code, which the cache has."""
    env._tier._look, env._tier._spent = 0.0, 1.0


def single(env_id):
    return ludus.make(env_id, disable_env_checker=True).unwrapped


def play(env, actions, *, switch=None, seeds=None):
    """Return everything that an environment gives."""
    out = [env.reset(seed=3)]
    for number, action in enumerate(actions, 1):
        if number == switch:
            change(env)
        out.append(env.step(action))
        if out[-1][2]:
            out.append(env.reset())
        if seeds and number in seeds:
            out.append(env.reset(seed=number))
    out.append(env.get_state())
    return out


def actions_of(env, count=60):
    env.action_space.seed(5)
    return [env.action_space.sample() for _ in range(count)]


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("env_id", IDS)
def test_a_single_environment_gives_the_same_bits(env_id, switch, fresh):
    fresh("wait")
    reference = single(env_id)
    actions = actions_of(reference)
    expected = play(reference, actions)
    assert reference._program.jit
    fresh()
    env = hold(single(env_id))
    assert_same(play(env, actions, switch=switch), expected)
    assert env._program.jit is (switch is not None)


def play_batch(envs, actions, mode, *, switch=None):
    out = [envs.reset(seed=3)]
    for number, batch in enumerate(actions, 1):
        if number == switch:
            change(envs)
        out.append(envs.step(batch))
        over = out[-1][2] | out[-1][3]
        if mode is AutoresetMode.DISABLED and over.any():
            out.append(envs.reset(options={"reset_mask": over}))
    out.append(envs.get_state())
    out.append((envs.episode_returns, envs.last_episode_lengths))
    return out


@pytest.mark.parametrize("mode", AutoresetMode)
# All episodes are cut in step 13 at the latest, and start again in step 14 or in the same step.
@pytest.mark.parametrize("switch", [*SWITCHES, 13, 14])
def test_a_batch_gives_the_same_bits(switch, mode, fresh):
    def make():
        return ludus.make_vec("CartPole-v1", 8, autoreset_mode=mode, max_episode_steps=13)

    fresh("wait")
    reference = make()
    actions = actions_of(reference, 50)
    expected = play_batch(reference, actions, mode)
    fresh()
    envs = hold(make())
    assert_same(play_batch(envs, actions, mode, switch=switch), expected)
    assert envs._program.jit is envs._running is (switch is not None)


@pytest.mark.parametrize("env_id", ["MinAtar/Breakout-v1", "FrozenLake-v1", "Pendulum-v1"])
def test_batches_of_other_kinds_give_the_same_bits(env_id, fresh):
    def make():
        mode = AutoresetMode.SAME_STEP
        options = {"vectorization_mode": "vector_entry_point", "max_episode_steps": 9}
        return ludus.make_vec(env_id, 5, autoreset_mode=mode, **options)

    fresh("wait")
    reference = make()
    actions = actions_of(reference, 40)
    expected = play_batch(reference, actions, AutoresetMode.SAME_STEP)
    fresh()
    envs = hold(make())
    assert_same(play_batch(envs, actions, AutoresetMode.SAME_STEP, switch=10), expected)


def test_a_batch_with_threads_changes(fresh):
    fresh("wait")
    reference = ludus.make_vec("CartPole-v1", 64, num_threads=2)
    actions = actions_of(reference, 30)
    expected = play_batch(reference, actions, AutoresetMode.NEXT_STEP)
    # Compiled for actions that are no plain array, of which there were none.
    reference._function("check")
    reference.close()
    fresh()
    envs = hold(ludus.make_vec("CartPole-v1", 64, num_threads=2))
    found = play_batch(envs, actions, AutoresetMode.NEXT_STEP, switch=11)
    envs.close()
    assert_same(found, expected)
    assert envs._board is not None


def test_buffers_that_are_not_copied_stay_the_same(fresh):
    envs = hold(ludus.make_vec("CartPole-v1", 4, copy=False))
    envs.reset(seed=1)
    before = envs.step(np.zeros(4, np.int64))
    change(envs)
    after = envs.step(np.zeros(4, np.int64))
    assert envs._program.jit
    assert before[0] is after[0]
    assert before[1] is after[1]


@pytest.mark.parametrize("switch", [2, 9, 10])
def test_resets_with_seeds_keep_what_runs(switch, fresh):
    fresh("wait")
    reference = single("CartPole-v1")
    actions = actions_of(reference, 20)
    expected = play(reference, actions, seeds=(5, 9))
    fresh()
    env = hold(single("CartPole-v1"))
    assert_same(play(env, actions, switch=switch, seeds=(5, 9)), expected)
    assert env._program.jit


def test_a_generator_that_others_draw_from(fresh):
    def draw(env, switch):
        env.reset(seed=3)
        seen = []
        for number in range(1, 20):
            if number == switch:
                change(env)
            seen += [env.np_random.random(), env.step(0)]
            if seen[-1][2]:
                seen.append(env.reset())
        return seen

    fresh("wait")
    expected = draw(single("FrozenLake-v1"), None)
    fresh()
    env = hold(single("FrozenLake-v1"))
    assert_same(draw(env, 7), expected)
    assert env._program.jit


def test_a_generator_of_another_kind_stays_plain(fresh):
    env = hold(single("FrozenLake-v1"))
    env.np_random = np.random.Generator(np.random.MT19937(3))
    env.reset()
    env.step(0)
    change(env)
    env.step(0)
    assert not env._program.jit
    env.compile()
    assert not env._program.jit
    env.reset(seed=1)
    env.step(0)
    assert env._program.jit


def test_edits_of_the_state_are_read_once(fresh):
    def edit(env, switch):
        env.reset(seed=1)
        seen = []
        for number in range(1, 12):
            if number == switch:
                change(env)
            env.state[0] += 0.01
            seen += [env.step(number % 2), env.state.copy()]
        return seen

    fresh("wait")
    expected = edit(single("CartPole-v1"), None)
    fresh()
    env = hold(single("CartPole-v1"))
    assert_same(edit(env, 5), expected)
    assert env._program.jit


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_copies_go_on(copied, fresh):
    env = hold(single("MinAtar/Breakout-v1"))
    env.reset(seed=2)
    env.step(1)
    twin = hold(copied(env))
    change(twin)
    for action in actions_of(env, 30):
        assert_same(env.step(action), twin.step(action))
    assert twin._program.jit
    assert not env._program.jit


def test_a_batch_is_visited_while_it_is_plain(fresh):
    envs = hold(ludus.make_vec("CartPole-v1", 3))
    envs.reset(seed=1)
    envs.step(np.zeros(3, np.int64))
    states = envs.get_attr("state")
    change(envs)
    envs.step(np.ones(3, np.int64))
    assert len(states) == 3
    assert envs.call("reset", seed=4)[0][0].shape == (4,)
    envs.step(np.ones(3, np.int64))


def messages(make):
    """Return what mistakes lead to."""
    env, told = make(), []
    for action in (0, 7, "up", None, 0.5):
        try:
            env.step(action)
        except Exception as problem:
            told.append((type(problem), str(problem)))
        if action == 0:
            env.reset(seed=1)
    return told


def test_errors_are_the_same(fresh):
    def batch_messages():
        envs, told = ludus.make_vec("CartPole-v1", 2, autoreset_mode="Disabled"), []
        for actions in ([0, 0], [0, 7], [0.5, 1.0], [1, 1, 1], "up"):
            try:
                envs.step(np.asarray(actions))
            except Exception as problem:
                told.append((type(problem), str(problem)))
            if actions == [0, 0]:
                envs.reset(seed=1)
        return told

    plain = messages(lambda: hold(single("CartPole-v1"))), batch_messages()
    fresh("wait")
    assert (messages(lambda: single("CartPole-v1")), batch_messages()) == plain
    assert plain[0][0][0] is plain[1][0][0] is ResetNeeded
    assert plain[0][1][0] is plain[1][1][0] is InvalidAction


def test_rollouts_wait(fresh):
    envs = hold(ludus.make_vec("CartPole-v1", 4))
    envs.reset(seed=1)
    envs.step(np.zeros(4, np.int64))
    found = envs.rollout(np.ones((5, 4), np.int64))
    assert envs._program.jit
    fresh("never")
    twin = ludus.make_vec("CartPole-v1", 4)
    twin.reset(seed=1)
    twin.step(np.zeros(4, np.int64))
    assert_same(tuple(found), tuple(twin.rollout(np.ones((5, 4), np.int64))))
    assert not twin._program.jit


def test_waiting_can_be_asked_for(fresh):
    env = hold(single("CartPole-v1"))
    env.reset(seed=1)
    env.compile()
    assert env._program.jit
    assert env.step(0)[1] == 1.0
    fresh()
    assert ludus.make_vec("CartPole-v1", 4, compile="wait")._program.jit
    fresh()
    assert not ludus.make_vec("CartPole-v1", 4, compile="never")._program.jit
    fresh("never")
    env = single("CartPole-v1")
    env.compile()
    assert not env._program.jit
    assert not ludus.make_vec("CartPole-v1", 4, compile="wait")._program.jit


def test_other_values_are_refused(fresh):
    with pytest.raises(KernelError, match="compile must be 'wait', 'background' or 'never'"):
        ludus.make_vec("CartPole-v1", 4, compile="later")
    fresh("soon")
    with pytest.raises(KernelError, match="LUDUS_COMPILE must be"):
        single("CartPole-v1")


def test_what_is_loaded_is_used_at_once(fresh):
    env = hold(single("CartPole-v1"))
    env.reset(seed=1)
    change(env)
    env.step(0)
    assert single("CartPole-v1")._program is env._program


def test_large_batches_begin_compiled(fresh):
    ludus.make_vec("CartPole-v1", 8, compile="wait").reset(seed=1)
    fresh()
    assert not ludus.make_vec("CartPole-v1", 256)._program.jit
    fresh()
    assert ludus.make_vec("CartPole-v1", 257)._program.jit


def test_kernels_of_others_are_compiled_at_once(fresh):
    assert env_of()()._program.jit


def test_many_threads_change_at_once(fresh):
    fresh("wait")
    reference = single("CartPole-v1")
    actions = actions_of(reference, 40)
    expected = play(reference, actions)
    fresh()
    envs = [hold(single("CartPole-v1")) for _ in range(4)]
    found = [None] * 4

    def work(index):
        found[index] = play(envs[index], actions, switch=5)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        assert_same(one, expected)
    assert not tiers._lock.locked()


# --- the child process ------------------------------------------------------------------------


@pytest.fixture
def cold(fresh, tmp_path, monkeypatch):
    """An environment whose cache is empty, and whose child process has started."""
    monkeypatch.setattr(compiled_program, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(tiers, "_COMPILE_AFTER", 0.0)
    env = single("NChain-v0")
    env.reset(seed=3)
    env.step(0)
    ((owner, compilation),) = tiers._under_way.values()
    assert owner == os.getpid()
    return env, compilation


def reference_of(count):
    env = single("NChain-v0")
    out = [env.reset(seed=3)]
    return out + [env.step(0)[:2] for _ in range(count)]


def until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def step_until_compiled(env):
    """Return what the steps gave."""
    out = []

    def step():
        out.append(env.step(0)[:2])
        return env._program.jit

    until(step)
    return out


def test_a_child_compiles_and_the_environment_changes(cold):
    env, _ = cold
    found = step_until_compiled(env)
    assert not tiers._under_way
    assert not background._running
    assert "numba" not in sys.modules or not env._program.compiles_here
    assert_same(found, reference_of(len(found) + 1)[2:])


@pytest.mark.parametrize("way", ["killed", "failed"])
def test_a_child_that_fails(cold, way, monkeypatch):
    env, compilation = cold
    if way == "killed":
        os.kill(compilation.pid, signal.SIGKILL)
    else:
        compilation.stop()
        monkeypatch.setattr(background, "_START", "raise SystemExit(1)")
        tiers._under_way.clear()
    found = step_until_compiled(env)
    assert env._program.compiles_here
    assert_same(found, reference_of(len(found) + 1)[2:])


def test_no_child_can_be_started(fresh, tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_program, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(tiers, "_COMPILE_AFTER", 0.0)
    env = single("NChain-v0")
    env.reset(seed=3)
    monkeypatch.setattr(sys, "executable", "/nowhere/python3")
    env.step(0)
    assert env._program.jit


def test_waiting_for_a_child_that_runs(cold):
    env, _ = cold
    env.compile()
    assert env._program.jit
    assert not env._program.compiles_here


def test_two_environments_share_a_child(cold):
    env, compilation = cold
    other = single("NChain-v0")
    other.reset(seed=1)
    other.step(0)
    assert background._running == {compilation}
    step_until_compiled(env)
    step_until_compiled(other)


def test_closing_while_compiling(cold):
    env, compilation = cold
    env.close()
    until(lambda: compilation._process.poll() is not None)
    assert compilation.done()


def test_a_fork_leaves_the_child_to_its_parent(cold):
    env, compilation = cold
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            fine = compilation not in background._running
            found = step_until_compiled(env)
            code = 0 if fine and found else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    found = step_until_compiled(env)
    assert not env._program.compiles_here
    assert_same(found, reference_of(len(found) + 1)[2:])


SCRIPT = """
import os, signal, sys, time
import ludus
from ludus.kernel import tiers
tiers._COMPILE_AFTER = 0.0
env = ludus.make("NChain-v0").unwrapped
env.reset(seed=3)
env.step(0)
((_, compilation),) = tiers._under_way.values()
"""
INTERRUPTED = (
    SCRIPT
    + """
os.setpgid(0, 0)
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    os.killpg(0, signal.SIGINT)
    while True:
        env.step(0)
except KeyboardInterrupt:
    pass
env.reset(seed=3)
while not env._program.jit:
    env.step(0)
print(env._program.compiles_here)
"""
)
ENDING = SCRIPT + "print(compilation.pid)\n{end}\n"
FEW = """
import sys
import time
import ludus
from ludus.kernel import tiers
from ludus.kernel.native import background
tiers.perf_counter = time.process_time  # waiting for a busy machine is no use of the environment
env = ludus.make("CartPole-v1")
env.reset(seed=3)
for k in range(200):
    if any(env.step(k % 2)[2:4]):
        env.reset()
print([name for name in ("numba", "llvmlite", "subprocess") if name in sys.modules])
print(len(background._running), env.unwrapped._program.jit)
"""


def run(code, folder, **options):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "LUDUS_CACHE": str(folder), "LUDUS_COMPILE": "background"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def test_ctrl_c_does_not_reach_the_child(tmp_path):
    told, errors = run(INTERRUPTED, tmp_path).communicate(timeout=120)
    assert (told, errors) == ("False\n", "")


ENDS = {
    "the end": ("", 0),
    "an exception": ("raise SystemExit(5)", 5),
    "a hard end": ("sys.stdout.flush(); os.kill(os.getpid(), signal.SIGKILL)", -9),
}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS.keys())
def test_the_child_ends_with_its_parent(tmp_path, end):
    code, status = end
    process = run(ENDING.format(end=code), tmp_path)
    told, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (status, "")
    until(lambda: not is_alive(int(told)))


def is_alive(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_a_few_steps_need_neither_compiler_nor_llvm(tmp_path):
    for _ in range(2):
        told, errors = run(FEW, tmp_path).communicate(timeout=120)
        assert errors == ""
        modules, rest = told.splitlines()
        assert "numba" not in modules
        assert "llvmlite" not in modules
        assert rest.endswith("False")
        # Now with a warm cache.
        ludus_wait = {**os.environ, "LUDUS_CACHE": str(tmp_path), "LUDUS_COMPILE": "wait"}
        subprocess.run([sys.executable, "-c", FEW], env=ludus_wait, check=True, timeout=120)
