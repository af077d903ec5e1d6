"""The public conformance suites, through a connection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import ludus
from ludus.core import Env
from ludus.core.vector_env import AutoresetMode, VectorEnv
from ludus.serve import Served
from ludus.testing import DictEnv, EnvConformance, ImageEnv, VectorEnvConformance
from tests.serve.client.odd import OddEnv
from tests.serve.client.support import Running, running, served_class

SANDBOXED = Served("Taxi-v3", ludus.spec("Taxi-v3"), sandbox=True)
SERVED = (
    Served.of("CartPole-v1"),
    Served.of("FrozenLake-v1"),
    served_class("Dict-v0", "ludus.testing.envs:DictEnv"),
    served_class("Image-v0", "ludus.testing.envs:ImageEnv"),
    served_class("Odd-v0", "tests.serve.client.odd:OddEnv"),
    SANDBOXED,
)


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with running(*SERVED) as found:
        yield found


class Remote(EnvConformance):
    name = ""
    # What is said of the bounds is said of the local environment as well.
    suppress = (*EnvConformance.suppress, "infinite-bounds")
    seeds = (1, 2)
    steps = 30
    server: Running

    @pytest.fixture(autouse=True)
    def _with_server(self, server: Running) -> None:
        self.server = server

    def make(self, **kwargs: Any) -> Env[Any, Any]:
        env = ludus.connect(self.server.url, self.name, **kwargs)
        assert isinstance(env, Env)
        return env


class TestKernel(Remote):
    name = "CartPole-v1"
    render_modes = ("rgb_array",)


class TestTable(Remote):
    name = "FrozenLake-v1"
    render_modes = ("ansi",)


class TestDict(Remote):
    name = "Dict-v0"


class TestImage(Remote):
    name = "Image-v0"
    render_modes = ("rgb_array", "ansi")


class TestOdd(Remote):
    name = "Odd-v0"
    seeds = (1,)
    steps = 10


class TestSandboxed(Remote):
    name = "Taxi-v3"
    seeds = (1,)
    steps = 10


class RemoteBatch(VectorEnvConformance):
    name = ""
    server: Running

    @pytest.fixture(autouse=True)
    def _with_server(self, server: Running) -> None:
        self.server = server

    def make(self, num_envs: int, autoreset_mode: AutoresetMode) -> VectorEnv[Any, Any, Any]:
        env = ludus.connect(
            self.server.url, self.name, num_envs=num_envs, autoreset_mode=autoreset_mode
        )
        assert isinstance(env, VectorEnv)
        return env


class TestKernelBatch(RemoteBatch):
    name = "CartPole-v1"

    def make_single(self) -> Env[Any, Any]:
        return ludus.make("CartPole-v1")


class TestDictBatch(RemoteBatch):
    name = "Dict-v0"

    def make_single(self) -> Env[Any, Any]:
        return DictEnv()


class TestImageBatch(RemoteBatch):
    name = "Image-v0"
    steps = 150

    def make_single(self) -> Env[Any, Any]:
        return ImageEnv()


class TestOddBatch(RemoteBatch):
    name = "Odd-v0"
    steps = 20

    def make_single(self) -> Env[Any, Any]:
        return OddEnv()


class TestSandboxedBatch(RemoteBatch):
    # Each mode opens a dozen sandboxes.
    autoreset_modes = (AutoresetMode.SAME_STEP,)
    name = "Taxi-v3"
    num_envs = 2
    steps = 210

    def make_single(self) -> Env[Any, Any]:
        return ludus.make("Taxi-v3")


class TestPool(RemoteBatch):
    name = "Dict-v0"
    autoreset_modes = (AutoresetMode.NEXT_STEP,)

    def make(self, num_envs: int, autoreset_mode: AutoresetMode) -> VectorEnv[Any, Any, Any]:
        env = ludus.connect(self.server.url, self.name, num_envs=num_envs, pool=True)
        assert isinstance(env, VectorEnv)
        return env

    def make_single(self) -> Env[Any, Any]:
        return DictEnv()
