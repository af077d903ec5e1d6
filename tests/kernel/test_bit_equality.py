"""One source, four executions, the same bits, of every kernel.

Environments driven by hand, one per seed and reset at each end, run as plain Python and compiled.
What they return, compiled batches must return in the three autoreset modes, and compiled rollouts
in the three modes on one, two and three threads. Compared are the bytes of observations, rewards,
flags and the random generators' words.

`make test` plays one id of each module with 4 seeds, 600 steps and, in each mode, another number of
threads. `make test-all` plays every id with 16 seeds, 2,000 steps and every number of threads; ids
that share a kernel with one before them run as plain Python for 4 seeds, and on several threads for
200 steps.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

import ludus
from ludus.core import AutoresetMode
from ludus.spaces import Discrete, Tuple, batch_space
from tests.kernel.families import bare, limit_of, some_ids
from tests.reference.twins import assert_same
from tests.sampling import ALL

SEEDS, STEPS = (16, 2000) if ALL else (4, 600)
FIRST_SEED = 3
FEW_SEEDS, FEW_STEPS = 4, 200
THREADS = (1, 2, 3)


def cases():
    """Return ids that differ in more than their name, each with the seeds to run in Python."""
    found, kernels = {}, set()
    for env_id in some_ids():
        spec = ludus.spec(env_id)
        key = spec.entry_point, str(spec.kwargs), spec.max_episode_steps
        if key not in found:
            kernel = bare(env_id).kernel
            found[key] = env_id, FEW_SEEDS if kernel in kernels else SEEDS
            kernels.add(kernel)
    return list(found.values())


class Results(NamedTuple):
    """What a number of calls returned, call by call; ``words`` are the generators' at the end."""

    observations: Any
    rewards: Any
    terminations: Any
    truncations: Any
    words: Any


class Trace(NamedTuple):
    """A hand-driven run. ``steps`` has each step, ``after`` what was seen once ends were reset.

    ``calls`` has steps and resets in one row, as they come when a reset takes a step of its own;
    ``taken`` is the number of the step of each such call, -1 for a reset.
    """

    first: Any
    steps: Results
    after: Any
    calls: Results
    taken: Any
    infos: Any


def sampled_actions(env_id):
    """Return random actions as numbers of shape (steps, seeds, numbers per action)."""
    space = batch_space(bare(env_id).action_space, SEEDS)
    space.seed(5)
    drawn = [space.sample() for _ in range(STEPS)]
    if isinstance(drawn[0], tuple):
        drawn = [np.stack(parts, axis=-1) for parts in drawn]
    return np.array(drawn).reshape(STEPS, SEEDS, -1)


def one_action(space, numbers):
    if isinstance(space, Discrete):
        return int(numbers[0])
    return tuple(numbers.tolist()) if isinstance(space, Tuple) else numbers


def batch_of_actions(space, rows):
    if isinstance(space, Discrete):
        return rows[:, 0]
    return tuple(rows.T) if isinstance(space, Tuple) else rows


def single(env_id):
    # A new one for each seed: some games keep something of the episode before.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ludus.make(env_id, disable_env_checker=True)


def run_by_hand(env_id, actions, seeds=SEEDS):
    """Step one environment per seed through its actions."""
    columns = [drive(single(env_id), actions[:, i], FIRST_SEED + i) for i in range(seeds)]
    first, steps, after, calls, taken, infos = zip(*columns, strict=True)
    return Trace(
        np.array(first),
        gathered(steps),
        np.stack(after, axis=1),
        gathered(calls),
        np.stack(taken, axis=1),
        infos,
    )


def gathered(columns):
    """Return the results of single environments as those of a batch."""
    parts = list(zip(*columns, strict=True))
    return Results(*(np.stack(part, axis=1) for part in parts))


def drive(env, actions, seed):
    space = env.action_space
    seen, info = env.reset(seed=seed)
    first, infos = flat(seen), [info]
    steps, after, calls, taken = [], [], [], []
    words_at_call = None
    for number, row in enumerate(actions):
        seen, reward, ended, cut, info = env.step(one_action(space, row))
        seen = flat(seen)
        steps.append((seen, reward, ended, cut))
        calls.append(steps[-1])
        taken.append(number)
        infos.append(info)
        words_at_call = words_of(env) if len(calls) == STEPS else words_at_call
        if ended or cut:
            seen, info = env.reset()
            seen = flat(seen)
            calls.append((seen, 0.0, False, False))
            taken.append(-1)
            infos.append(info)
            words_at_call = words_of(env) if len(calls) == STEPS else words_at_call
        after.append(seen)
    return (
        first,
        as_arrays(steps, words_of(env)),
        np.array(after),
        as_arrays(calls[:STEPS], words_at_call),
        np.array(taken[:STEPS]),
        infos,
    )


def as_arrays(rows, words):
    seen, rewards, ended, cut = zip(*rows, strict=True)
    return Results(
        np.array(seen), np.array(rewards, np.float64), np.array(ended), np.array(cut), words
    )


def words_of(env):
    return env.unwrapped.get_state()["fields"]["storage"]["U"][0]


def assert_equal_bits(found, expected, what):
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape, what
    assert found.astype(expected.dtype).tobytes() == expected.tobytes(), what


def assert_equal_results(found, expected, what):
    for name, left, right in zip(Results._fields, found, expected, strict=True):
        assert_equal_bits(left, right, f"{what}: {name}")


def flat(observation):
    """Return an observation as one array."""
    parts = observation if isinstance(observation, tuple) else None
    return np.asarray(observation) if parts is None else np.concatenate([*map(np.ravel, parts)])


def stacked(observations):
    """Return a batch of observations as one array."""
    if not isinstance(observations, tuple):
        return observations
    return np.concatenate([part.reshape(SEEDS, -1) for part in observations], axis=1)


class Batch:
    """A compiled batch that is compared with a trace."""

    def __init__(self, env_id, trace, actions, mode, threads):
        self.trace, self.actions, self.mode = trace, actions, mode
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.envs = type(bare(env_id)).vector(
                SEEDS,
                max_episode_steps=limit_of(env_id),
                autoreset_mode=mode,
                num_threads=threads,
                **ludus.spec(env_id).kwargs,
            )
        self.space = self.envs.single_action_space
        self.what = f"{mode.value}, {threads} threads"
        self.over = trace.steps.terminations | trace.steps.truncations

    def start(self):
        seen, _ = self.envs.reset(seed=list(range(FIRST_SEED, FIRST_SEED + SEEDS)))
        assert_equal_bits(stacked(seen), self.trace.first, f"{self.what}: first")

    def planned(self):
        """Return the actions of each call, and what the calls must return."""
        trace = self.trace
        if self.mode is AutoresetMode.NEXT_STEP:
            rows = np.take_along_axis(self.actions, trace.taken[:, :, None], axis=0)
            return rows, trace.calls
        if self.mode is AutoresetMode.SAME_STEP:
            return self.actions, trace.steps._replace(observations=trace.after)
        return self.actions, trace.steps

    def words(self):
        return self.envs.get_state()["storage"]["U"][:SEEDS].T

    def compare_steps(self, count):
        self.start()
        rows, expected = self.planned()
        kept = []
        for t in range(count):
            seen, rewards, ended, cut, infos = self.envs.step(batch_of_actions(self.space, rows[t]))
            kept.append((stacked(seen), rewards, ended, cut))
            if self.mode is AutoresetMode.DISABLED:
                self.reset_by_mask(t)
            elif self.mode is AutoresetMode.SAME_STEP:
                self.check_finals(t, infos)
        words = self.words() if count == STEPS else expected.words
        found = Results(*(np.array(part) for part in zip(*kept, strict=True)), words)
        begun = Results(*(part[:count] for part in expected[:4]), expected.words)
        assert_equal_results(found, begun, f"steps, {self.what}")

    def reset_by_mask(self, t):
        if self.over[t].any():
            seen, _ = self.envs.reset(options={"reset_mask": self.over[t]})
            assert_equal_bits(stacked(seen), self.trace.after[t], f"{self.what}: reset {t}")

    def check_finals(self, t, infos):
        for i in np.flatnonzero(self.over[t]):
            expected = self.trace.steps.observations[t, i]
            assert_equal_bits(
                flat(infos["final_obs"][i]), expected, f"{self.what}: last of {t}, {i}"
            )

    def compare_rollout(self):
        self.start()
        rows, expected = self.planned()
        batches = [batch_of_actions(self.space, row) for row in rows]
        parts = []
        for begin, end in self.stretches():
            part = self.envs.rollout(batches[begin:end])
            parts.append((self.in_one_array(part.observations), *part[2:]))
            if self.mode is AutoresetMode.DISABLED:
                self.reset_by_mask(end - 1)
        joined = [np.concatenate(column) for column in zip(*parts, strict=True)]
        found = Results(*joined, self.words())
        assert_equal_results(found, expected, f"rollout, {self.what}")

    @staticmethod
    def in_one_array(seen):
        """Return a rollout's observations with the numbers of a tuple side by side."""
        if not isinstance(seen, tuple):
            return seen
        columns = [part if part.ndim == 3 else part[..., None] for part in seen]
        return np.concatenate(columns, axis=-1)

    def stretches(self):
        """Return where rollouts begin and end: nothing resets by itself if autoreset is off."""
        ends = [STEPS]
        if self.mode is AutoresetMode.DISABLED:
            ends = [t + 1 for t in range(STEPS) if self.over[t].any() or t == STEPS - 1]
        return zip([0, *ends], ends, strict=False)


@pytest.mark.parametrize(("env_id", "seeds"), cases())
def test_four_executions_agree(env_id, seeds, monkeypatch):
    actions = sampled_actions(env_id)
    with monkeypatch.context() as patch:
        patch.setenv("LUDUS_JIT", "0")
        plain = run_by_hand(env_id, actions, seeds)
    compiled = run_by_hand(env_id, actions)
    assert_equal_bits(compiled.first[:seeds], plain.first, "first")
    for name in ("steps", "calls"):
        some = Results(*(part[:, :seeds] for part in getattr(compiled, name)))
        assert_equal_results(some, getattr(plain, name), f"compiled: {name}")
    assert_equal_bits(compiled.after[:, :seeds], plain.after, "compiled: after")
    assert_same(compiled.infos[:seeds], plain.infos, "infos")
    pairs = itertools.product(AutoresetMode, THREADS)
    for mode, threads in pairs if ALL else zip(AutoresetMode, THREADS, strict=True):
        # New batches each time: some games keep something of the episode before.
        batch = Batch(env_id, compiled, actions, mode, threads)
        batch.compare_steps(STEPS if threads == 1 or seeds == SEEDS else FEW_STEPS)
        batch.envs.close()
        batch = Batch(env_id, compiled, actions, mode, threads)
        batch.compare_rollout()
        batch.envs.close()
