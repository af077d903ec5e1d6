"""Both backends against plain loops over single environments, for 1,000 or 10,000 steps."""

from __future__ import annotations

import pytest

import ludus
from ludus.testing import VectorEnvConformance
from ludus.testing.envs import CounterEnv, DictEnv
from ludus.vector import AsyncVectorEnv, SyncVectorEnv
from tests.reference.twins import twin_env
from tests.sampling import ALL


class Suite(VectorEnvConformance):
    backend = SyncVectorEnv
    num_envs = 3
    steps = 10_000 if ALL else 1_000

    def make(self, num_envs, autoreset_mode):
        return type(self).backend([self.make_single] * num_envs, autoreset_mode=autoreset_mode)


class TestSyncDict(Suite):
    def make_single(self):
        return DictEnv()


class TestSyncTuple(Suite):
    def make_single(self):
        return twin_env(ludus, "tuple", "multi_discrete")


class TestProcessDict(TestSyncDict):
    backend = AsyncVectorEnv


class TestProcessTuple(TestSyncTuple):
    backend = AsyncVectorEnv


class TestProcessCounter(Suite):
    backend = AsyncVectorEnv
    num_envs = 1

    def make_single(self):
        return CounterEnv()


def test_the_suite_notices_a_difference():
    class Shifted(TestSyncDict):
        def make(self, num_envs, autoreset_mode):
            return ludus.wrappers.vector.TransformReward(
                super().make(num_envs, autoreset_mode), lambda rewards: rewards + 1e-9
            )

    suite = Shifted()
    suite.steps = 20
    methods = [name for name in dir(suite) if name.startswith("test_")]
    failures = 0
    for name in methods:
        try:
            getattr(suite, name)()
        except AssertionError:
            failures += 1
    assert failures >= 1
    assert len(methods) > failures


@pytest.mark.parametrize("backend", [SyncVectorEnv, AsyncVectorEnv])
def test_backends_are_interchangeable_in_make_vec(backend):
    mode = {SyncVectorEnv: "sync", AsyncVectorEnv: "async"}[backend]
    with ludus.make_vec("CartPole-v1", 2, vectorization_mode=mode) as envs:
        assert type(envs) is backend
