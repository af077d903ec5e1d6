"""Agents in the runner's process that would rather have no result than a bad one."""

from __future__ import annotations

import os
import signal

import pytest

from ludus.errors import InfrastructureFailed, ModelServerError
from ludus.research.agents.protocol import AgentStopped
from ludus.research.running.deciding import decide


class BadText(Exception):
    def __str__(self):
        raise OSError(28, "No space left on device")


class BadStop(AgentStopped):
    def __init__(self):
        pass

    def __str__(self):
        raise InfrastructureFailed("lightning")


def raising(problem, **names):
    def act(self, observation):
        raise problem

    return type("Raising", (), {"act": act, **names})()


@pytest.mark.parametrize(
    "agent",
    [
        raising(BadText()),
        raising(BadStop()),
        raising(KeyboardInterrupt()),
        raising(GeneratorExit()),
        raising(InfrastructureFailed("lightning")),
        raising(ModelServerError("down"), __module__="ludus.research.agents.react"),
    ],
)
def test_whatever_it_raises_is_its_own_fault(agent):
    assert decide(agent, {"seconds_left": 60.0})["stop"] == "agent_error"


def test_ctrl_c_is_the_users():
    class Pressed:
        def act(self, observation):
            try:
                os.kill(os.getpid(), signal.SIGINT)
                for _ in range(1000):
                    pass
            except BaseException as problem:
                raise ValueError("nothing happened") from problem

    with pytest.raises(KeyboardInterrupt):
        decide(Pressed(), {"seconds_left": 60.0})
