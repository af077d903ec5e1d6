"""Agents that would rather have no result than a bad one: what they do is their own fault."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

import numpy as np
import pytest

from ludus.bench.planning.suite import parse_suite
from ludus.bench.running.folder import BenchFolder
from ludus.bench.running.runner import RunSettings, resume_run, run_suite
from ludus.bench.verifying.verification import verify_run

SERIAL = RunSettings(engine="serial", backoff=0.0, retries=0)
TEXT = "name: s\nseeds: 1\nbudget: {episodes: 3}\nenvironments: [{id: %s}]\n"


def played(path, agent, env="FrozenLake-v1", settings=SERIAL):
    run_suite(parse_suite(TEXT % env, "s.yaml"), [agent], out=path, settings=settings)
    return BenchFolder.open(path)


class Base:
    def act(self, observation):
        return 1


def full():
    raise OSError(28, "No space left on device")


class BadText(Exception):
    def __str__(self):
        full()

    __repr__ = __str__


class Interrupting(Exception):
    def __str__(self):
        raise KeyboardInterrupt


class NoClass(Exception):
    @property
    def __class__(self):
        full()


class Meta(type):
    @property
    def __name__(cls):
        full()


class OddName(Exception, metaclass=Meta):
    pass


class OddText(str):
    def split(self, *arguments):
        full()

    def __getitem__(self, key):
        full()


class TextOfAnotherClass(Exception):
    def __str__(self):
        return OddText("x")


def raising(make):
    """Return a class of agents that raise something in act()."""

    class Raising:
        def act(self, observation):
            raise make()

    return Raising


class Unshown:
    def __repr__(self):
        full()


class OddArray:
    def __array__(self, *arguments, **options):
        raise MemoryError


class LateInt(int):
    """Is in the space, and raises once the environment counts with it."""

    def __index__(self):
        full()

    __int__ = __eq__ = __lt__ = __le__ = __gt__ = __hash__ = __add__ = __index__


class Answers:
    def __init__(self, answer):
        self.answer = answer

    def act(self, observation):
        return self.answer


class ResetProperty(Base):
    @property
    def reset(self):
        full()


class FeedbackProperty(Base):
    @property
    def feedback(self):
        full()


class CostProperty(Base):
    @property
    def cost(self):
        full()


class OddCost(Base):
    class cost:
        def __float__(self):
            raise GeneratorExit

    cost = cost()


class Holder(Base):
    """Has the environment in its hands; spoils it at its fourth step."""

    def __init__(self):
        self.steps = 0

    def reset(self, seed, env):
        self.env = env

    def act(self, observation):
        self.steps += 1
        if self.steps == 4:
            self.spoil()
        return 1


def spoiling(do):
    class Spoiling(Holder):
        def spoil(self):
            do(self.env)

    return Spoiling


def stepped_to_the_end(env):
    while not any(env.step(1)[2:4]):
        pass


def planted(env):
    env.unwrapped.step = lambda action: full()


FAULTS = {
    "half a surrogate pair": raising(lambda: ValueError("\ud800")),
    "odd characters": raising(lambda: ValueError("\x00\u202e\n[{" * 10_000)),
    "a message that raises": raising(BadText),
    "a message that interrupts": raising(Interrupting),
    "a class that raises": raising(NoClass),
    "a name that raises": raising(OddName),
    "a text of another class": raising(TextOfAnotherClass),
    "GeneratorExit": raising(GeneratorExit),
    "KeyboardInterrupt": raising(KeyboardInterrupt),
    "SystemExit": raising(SystemExit),
    "MemoryError": raising(MemoryError),
    "OSError": raising(lambda: OSError(28, "No space left on device")),
    "an answer that cannot be shown": lambda: Answers(Unshown()),
    "the property reset": ResetProperty,
    "the property feedback": FeedbackProperty,
    "the property cost": CostProperty,
    "an odd cost": OddCost,
    "an environment without attributes": spoiling(lambda env: env.unwrapped.__dict__.clear()),
    "a closed environment": spoiling(lambda env: env.close()),
    "a recorder without attributes": spoiling(lambda env: env.__dict__.clear()),
    "an environment stepped to its end": spoiling(stepped_to_the_end),
    "a step of its own that raises": spoiling(planted),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_an_agent_does_is_its_own_fault(tmp_path, name):
    folder = played(tmp_path / "run", FAULTS[name])
    (result,) = folder.results()
    assert result.outcome == "agent_fault", result.reason
    assert len(result.reason) <= 600
    assert "\n" not in result.reason
    (checked,) = verify_run(folder)
    if name == "an environment stepped to its end":
        return  # what is recorded beside that is the agent's doing too
    assert checked.result.verified == "verified", checked


def test_an_answer_whose_conversion_raises(tmp_path):
    (result,) = played(tmp_path / "run", lambda: Answers(OddArray()), "Pendulum-v1").results()
    assert result.outcome == "agent_fault"
    assert "invalid action" in result.reason


def test_an_answer_of_a_class_of_its_own_is_taken_for_its_value(tmp_path):
    """Else its methods run inside the environment, whose failure counts for nothing."""
    folder = played(tmp_path / "run", lambda: Answers(LateInt(1)))
    (result,) = folder.results()
    assert result.outcome == "scored", result.reason
    assert [one.result.verified for one in verify_run(folder)] == ["verified"]


@pytest.mark.parametrize("how", ["raises", "signal"])
def test_a_worker_whose_agent_interrupts_itself(tmp_path, how):
    settings = RunSettings(engine="processes", workers=1, backoff=0.0, retries=0)
    agent = "tests.bench.players:interrupts" if how == "raises" else "tests.bench.players:sigint"
    (result,) = played(tmp_path / "run", agent, "CartPole-v1", settings).results()
    assert result.outcome == ("agent_fault" if how == "raises" else "scored"), result.reason


class Pressed(Base):
    """The user presses Ctrl-C while it thinks, and it catches what it can."""

    def act(self, observation):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(1000):
                pass
        except BaseException as problem:
            raise ValueError("nothing happened") from problem
        return 1


def test_ctrl_c_ends_the_run_whatever_the_agent_catches(tmp_path):
    before = signal.getsignal(signal.SIGINT)
    done = run_suite(
        parse_suite(TEXT % "CartPole-v1", "s"), [Pressed], out=tmp_path / "run", settings=SERIAL
    )
    assert done.interrupted
    assert done.results == ()
    assert signal.getsignal(signal.SIGINT) is before


PROCESSES = RunSettings(engine="processes", workers=1, backoff=0.0, retries=1)


@pytest.mark.parametrize("how", ["breaks_at: 4", "breaks_after: 9"])
@pytest.mark.parametrize("settings", [SERIAL, PROCESSES], ids=["serial", "processes"])
def test_an_environment_that_fails_by_itself_is_not_the_agents_fault(tmp_path, settings, how):
    line = f"'tests.bench.players:tests-Line-v0', kwargs: {{{how}}}"
    agent = Base if settings is SERIAL else "constant:1"
    (result,) = played(tmp_path / "run", agent, line, settings).results()
    assert result.outcome == "infrastructure_fault"
    assert "the environment is broken" in result.reason
    assert list((tmp_path / "run" / "records").iterdir()) == []


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    options = ["-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(["mount", *options], check=False).returncode:
        pytest.skip("a disk of one's own needs the right to mount")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_full_disk_is_not_the_agents_fault(small_disk):
    """Somebody fills it while the agent plays; with room again, the run goes on."""
    filler, fills = small_disk / "filler", [True]

    def act(observation):
        with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
            while fills[0]:
                file.write(bytes(4096))
        return 1

    (result,) = played(small_disk / "run", act).results()
    assert result.outcome == "infrastructure_fault"
    assert "No space left on device" in result.reason
    fills[0] = False
    filler.unlink()
    (result,) = resume_run(small_disk / "run", [act], settings=SERIAL).results
    assert result.outcome == "scored"


@pytest.mark.parametrize("name", ["Patches", "Starves", "is_killed"])
def test_what_fails_only_with_the_agent_is_its_fault(tmp_path, name):
    agent = f"tests.bench.players:{name}"
    folder = played(tmp_path / "run", agent, "CartPole-v1", PROCESSES)
    (result,) = folder.results()
    assert result.outcome == "agent_fault", result.reason
    assert "can be played without it" in result.reason
    assert [one.result.verified for one in verify_run(folder)] == ["verified"]


def test_an_agent_that_removes_its_record(tmp_path):
    path = tmp_path / "run"
    agent = {"use": "tests.bench.players:Deletes", "options": {"records": str(path / "records")}}
    folder = played(path, {"name": "deletes", **agent}, "CartPole-v1", PROCESSES)
    (result,) = folder.results()
    assert result.outcome == "agent_fault", result.reason
    assert [one.result.verified for one in verify_run(folder)] == ["verified"]


def test_an_agent_reaches_no_rivals_environment(tmp_path):
    suite = parse_suite(TEXT.replace("seeds: 1", "seeds: 3") % "CartPole-v1", "s")
    agents = ["bad=tests.bench.players:Reaches", "good=tests.bench.players:policy"]
    done = run_suite(suite, agents, out=tmp_path / "run", settings=PROCESSES)
    good = [one for one in done.results if one.agent == "good"]
    assert all(one.score > 100 for one in good), good
    verdicts = {
        one.result.agent: one.result.verified for one in verify_run(BenchFolder.open(done.folder))
    }
    assert verdicts["good"] == "verified"


def test_actions_keep_their_values():
    from ludus.bench.running.play import action_reader
    from ludus.spaces import Box, Dict, Discrete, Text

    space = Dict({"a": Discrete(3), "b": Box(-1, 1, (2,))})
    found = action_reader(space)({"b": [0.5, 1], "a": np.array([2])})
    assert found["a"] == 2
    assert found["b"].dtype == np.float32
    text = action_reader(Text(5))(OddText("abc"))
    assert (type(text), text) == (str, "abc")
    assert type(action_reader(Discrete(3))(np.int64(2))) is np.int64
