"""Agents and environments that the tests of the runner load by name."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import ludus


class Pusher:
    """Pushes right; has everything an agent may have."""

    def __init__(self, env, seed, price=0.0):
        self.seeds = [seed]
        self.cost = 0.0
        self._price = price

    def reset(self, seed, env):
        self.seeds.append(seed)

    def act(self, observation):
        self.cost += self._price
        return 1

    def feedback(self, reward, terminated, truncated):
        assert reward == 1.0


def policy(observation):
    """A plain function: not a factory, as it asks for an observation."""
    return int(observation[2] + observation[3] > 0)


def make_policy():
    """A factory without arguments."""
    return policy


def batch_policy(observations):
    return (observations[:, 2] + observations[:, 3] > 0).astype(np.int64)


def careless(observation):
    """Draws from generators that it never seeded."""
    import random

    return (random.randrange(2) + np.random.randint(2)) % 2


def raises(observation):
    raise RuntimeError("I cannot\ngo on")


def invalid(observation):
    return 7


def leaves(observation):
    sys.exit(3)


def exits(observation):
    os._exit(5)


def hangs(observation):
    time.sleep(600)


def is_killed(observation):
    os.kill(os.getpid(), signal.SIGKILL)


def is_none(env):
    return 42


class Childbearing:
    """Starts a process that would outlive it, tells its number in a file, and hangs."""

    def __init__(self, path):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(path).write_text(f"{os.getpid()} {child.pid}")

    def act(self, observation):
        time.sleep(600)


class Slow:
    """Takes its time, so that somebody can kill it meanwhile."""

    def act(self, observation):
        time.sleep(0.01)
        return 1


class Line(ludus.Env):
    """Ten steps that pay one each; its constructor can be told to fail."""

    observation_space = ludus.spaces.Discrete(11)
    action_space = ludus.spaces.Discrete(2)

    def __init__(self, broken_until=None, breaks_at=None, breaks_after=None, pays=1.0):
        if broken_until is not None:
            path = Path(broken_until)
            path.write_text(path.read_text() + "x" if path.exists() else "x")
            if len(path.read_text()) < 3:
                raise OSError(28, "No space left on device")
        self._breaks_at, self._pays, self._position = breaks_at, pays, 0
        self._breaks_after, self._ones = breaks_after, 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._position = self._ones = 0
        return 0, {}

    def step(self, action):
        self._position += 1
        self._ones = self._ones + 1 if action == 1 else 0
        if self._position == self._breaks_at or self._ones == self._breaks_after:
            raise ValueError("the environment is broken")
        return self._position, self._pays, self._position == 10, False, {}


if "tests-Line-v0" not in ludus.registry:
    ludus.register("tests-Line-v0", "tests.bench.players:Line", max_episode_steps=50)


def interrupts(observation):
    raise KeyboardInterrupt


def sigint(observation):
    """Sends the signal of Ctrl-C to its own process."""
    os.kill(os.getpid(), signal.SIGINT)
    return policy(observation)


class Patches:
    """Makes the class of the environment raise, in its process."""

    def reset(self, seed, env):
        def step(self, action):
            raise RuntimeError("out of order")

        type(env.unwrapped).step = step

    def act(self, observation):
        return 1


class Starves:
    """Takes the descriptors that the recorder needs, or the memory that the environment does."""

    def act(self, observation):
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        return 1


class Deletes:
    """Removes its own record, then ends its process."""

    def __init__(self, records):
        self._records = records

    def act(self, observation):
        for path in Path(self._records).iterdir():
            shutil.rmtree(path)
        os._exit(1)


class Reaches:
    """Takes a rival's environment out of order for good."""

    def __init__(self):
        from ludus.envs.classic_control.cartpole import CartPoleEnv

        CartPoleEnv.step = lambda self, action: (np.zeros(4, np.float32), -1.0, True, False, {})

    def act(self, observation):
        return 1


class Brittle:
    """An object that ends the process in which it is unpickled."""

    def __reduce__(self):
        return os._exit, (1,)

    def act(self, observation):
        return 1


def _answer(**message):
    _write(json.dumps(message).encode())


def _write(line):
    """Write into the pipes of the worker, one of which leads to the runner."""
    for descriptor in range(3, 30):
        try:
            if str(Path(f"/proc/self/fd/{descriptor}").readlink()).startswith("pipe:"):
                os.write(descriptor, line + b"\n")
        except OSError:
            continue


class Answers:
    """Tells the runner a result of its own making, in place of the worker."""

    def __init__(self, changes):
        self._changes = changes

    def reset(self, seed, env):
        unit = Path(env.recorder.run.path).name
        told = {
            "id": unit,
            "run": "r",
            "suite": "s",
            "suite_digest": "0" * 64,
            "agent": "a",
            "env": "CartPole-v1",
            "seed": 0,
            "outcome": "infrastructure_fault",
            "score": None,
            "best_score": None,
            "episodes": 0,
            "steps": 0,
            "seconds": 0.0,
            "cost": 0.0,
            "budget": "{}",
            "reason": "the machine is to blame",
            "source_hash": None,
            "record": None,
            "head": None,
            "created": "2026-01-31T12:00:00Z",
        }
        _answer(result=told | self._changes)
        time.sleep(600)

    def act(self, observation):
        return 1


class Writes:
    """Writes a line into the worker's pipe, in place of an answer."""

    def __init__(self, line):
        self._line = line

    def act(self, observation):
        _write(self._line.encode())
        time.sleep(600)


class Prolongs:
    """Says again and again that its time begins now, and stops the clock of its process."""

    def act(self, observation):
        clock, begun = time.perf_counter, time.monotonic()
        time.monotonic = lambda: begun
        self._end = getattr(self, "_end", clock() + 10)
        while clock() < self._end:
            _write(b'{"playing": true}')
            time.sleep(0.1)
        return 1


class Shadows:
    """Puts a module into the working directory that workers import, and is killed."""

    def act(self, observation):
        Path("cloudpickle.py").write_text("raise SystemExit(3)")
        is_killed(observation)


class Razes:
    """Puts a file in the place of the folder that records are in, and is killed."""

    def __init__(self, records):
        self._records = Path(records)

    def act(self, observation):
        shutil.rmtree(self._records)
        self._records.write_text("")
        is_killed(observation)


class Poisons:
    """Plays its first unit, and spoils the process for the units that it would do next."""

    def __init__(self):
        import ludus.bench.running.execute

        def build(job):
            os.kill(os.getpid(), signal.SIGKILL)

        ludus.bench.running.execute.build = build

    def act(self, observation):
        return 1


class Notes:
    """Writes a call into its record that no runner makes, and is killed."""

    def __init__(self, call):
        self._call = call

    def reset(self, seed, env):
        self._run = env.recorder.run

    def act(self, observation):
        self._run.append("note", {"failed_call": self._call})
        is_killed(observation)


class Plants:
    """Puts something into the place of the other units' records."""

    def __init__(self, run):
        records = Path(run, "records")
        for unit in json.loads(Path(run, "bench.json").read_text())["units"]:
            if not (records / unit).exists():
                (records / unit).write_text("")

    def act(self, observation):
        return 1
