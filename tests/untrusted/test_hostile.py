"""Environments that attack their host: a typed error, in bounded time, and no leak."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest

from ludus.errors import (
    RemoteEnvError,
    SandboxClosed,
    SandboxCrashed,
    SandboxError,
    SandboxTimeout,
    SandboxViolation,
)
from ludus.sandbox import Policy
from ludus.untrusted import SpaceLimits
from tests.sandbox.support import needs
from tests.untrusted.support import hostile, nothing_left, options

pytestmark = [needs("bubblewrap", root=True), pytest.mark.timeout(120)]
_ = nothing_left

VIOLATIONS = {
    "lies:OutOfBounds": "observation\\[0\\].*2.0 is not within -1.0 and 1.0",
    "lies:NotANumber": "nan is not within",
    "lies:Infinite": "inf is not within",
    "lies:WrongShape": "expected an array of shape \\(2,\\), got \\(3,\\)",
    "lies:WrongDtype": "expected an array of dtype float32, got float64",
    "lies:Huge": "expected an array of shape|announced",
    "lies:NoArray": "expected an array, got list",
    "lies:RewardText": "reward .* got a str",
    "lies:RewardNan": "reward .* nan",
    "lies:RewardInf": "reward .* inf",
    "lies:RewardArray": "reward .* got a ndarray",
    "lies:FlagTwo": "terminated .* expected a bool, got 2",
    "lies:FlagNone": "truncated .* expected a bool, got None",
    "lies:FlagText": "terminated .* got a str",
    "lies:InfoNone": "info .* expected a dict, got int",
    "lies:InfoDeep": "info .* nested deeper",
    "lies:InfoIntKeys": "info .* integer keys",
    "lies:InfoHuge": "info .* bytes",
    "lies:InfoMany": "info .* entries",
    "lies:ChangesShape": "expected an array of shape \\(2,\\), got \\(4,\\)",
    "lies:ChangesSpaces": "50.0 is not within -1.0 and 1.0",
    "lies:TextLie": "observation .* (length|characters)",
    "lies:PartsLie": "observation\\['b'\\]\\[1\\].*1.5 is not within",
    "lies:KeysLie": "unknown keys: 'c'",
    "raw:WrongToken": "another request",
    "raw:ZeroToken": "another request",
    "raw:UnknownKind": "kind 99",
    "raw:WrongKind": "kind 1",
    "raw:GiantExtra": "announced 4294967295 bytes",
    "raw:PickledInfo": "info is not admitted",
    "raw:PickledResult": "no plain data",
    "raw:DeepResult": "no plain data.*nested deeper",
    "raw:LyingLength": "claims 4294967295 entries",
    "raw:TrailingBytes": "bytes follow",
    "raw:RepeatedKeys": "occurs twice",
    "raw:ShortResult": "five parts",
    "raw:RawFlag": "terminated .* got 2",
    "raw:RawReward": "reward .* nan",
    "raw:RaisedNothing": "no plain data",
    "raw:RaisedList": "no known form",
    "raw:RaisedGiant": "announced",
    "raw:AnswersTwice": "another request|unexpected message",
    "raw:AnswersEarly": "another request|unexpected message",
    "raw:FloodsBells": "unexpected message",
    "raw:OtherBell": "wrote",
    "memory:FlipsHeader": None,
}
RAISES = {
    "lies:Objects": "CodecError",
    "lies:Pretender": "gotcha",
    "lies:RewardHuge": "OverflowError",
    "lies:InfoCycle": "contains itself",
    "lies:InfoKeys": "CodecError",
    "lies:InfoCode": "CodecError",
    "lies:InfoObjects": "CodecError",
    "lies:SixParts": "too many values",
    "lies:Subclass": "CodecError",
    "lies:RewardComplex": "CodecError",
    "ends:Quits": "SystemExit: 4",
    "ends:RaisesBase": "Nasty",
    "ends:RaisesWorse": "Worse: \\(its text is not available\\)",
    "ends:RaisesInterrupt": "KeyboardInterrupt",
    "raw:RaisedEscapes": "x1b",
}
TIMEOUTS = ["ends:ResetHangs", "ends:StepHangs", "ends:StepSpins", "ends:StepIgnoresSignals"]
TIMEOUTS += ["floods:PrintsForEver", "raw:MissingExtra", "raw:ClosesPipes", "raw:StealsRequests"]
CRASHES = {
    "ends:Exits": "exit code 5",
    "ends:ExitsZero": "exit code 0",
    "ends:Kills": "signal 11",
    "ends:Hogs": "out of memory",
}
BATCHES = {
    "NeverEnds": "made 3 steps, its limit, and was not truncated",
    "FlagBytes": "neither 0 nor 1",
    "FlagShape": "terminations are no array",
    "RewardNan": "not finite",
    "RewardShape": "rewards are no array",
    "Outside": "7.0 is not within",
    "OtherSize": "expected an array of shape",
    "NoReset": "it is the reset",
    "FinalMask": "not where episodes ended",
    "FinalLie": "final_obs.*expected an array, got str",
    "ShortColumn": "has not 2 entries",
    "MaskLie": "no mask of 2 bools",
}
DECLARES = {
    "HugeSpace": "more than",
    "NegativeSpace": "no space",
    "NanSpace": "no space",
    "UnknownSpace": "no space.*type",
    "DeepSpace": "deep",
    "ManySpaces": "more than",
    "NestedSequences": "observation_space costs too much: .* SpaceLimits.parts",
    "NestedStacks": "action_space costs too much: .* SpaceLimits.parts",
    "NestedGraphs": "observation_space costs too much: .* SpaceLimits.parts",
    "HugeText": "action_space costs too much: .* SpaceLimits.numbers",
    "HugeChoice": "action_space costs too much: .* SpaceLimits.flat",
    "LongMode": "render_mode",
    "NoSpace": "no space",
    "ObjectSpace": "dtype",
    "MetadataList": "metadata is of type list",
    "MetadataModes": "render_modes",
    "MetadataMany": "5000 entries",
    "MetadataRate": "render_fps",
    "OtherBatch": "were asked for",
    "OtherWrapper": "rendering",
    "OtherAutoreset": "Never",
    "NameList": "name is of type list",
    "Bomb": "announced",
}


def play(env, steps=6, action=1):
    env.reset(seed=0)
    for _ in range(steps):
        env.step(action)


def is_gone(env):
    with pytest.raises(SandboxClosed, match="is closed"):
        env.step(1)
    with pytest.raises(SandboxClosed):
        env.unwrapped.render()
    env.close()


@pytest.mark.parametrize("attack", VIOLATIONS)
def test_violations(attack):
    env = hostile(attack)
    with pytest.raises(SandboxViolation, match=VIOLATIONS[attack]) as caught:
        play(env, steps=3000 if "Flips" in attack else 6)
    assert str(caught.value).isprintable() or "\x1b" not in str(caught.value)
    is_gone(env)
    assert not Path("/tmp/ludus-pickle-was-run").exists()


@pytest.mark.parametrize("attack", RAISES)
def test_what_raises_inside_is_told_and_the_box_goes_on(attack):
    # After an answer of its own making it does not answer again; that is found out on closing.
    is_silent = attack.startswith("raw")
    env = hostile(attack, sandbox=options(step_timeout=1.0) if is_silent else None)
    env.reset(seed=0)
    with pytest.raises(RemoteEnvError, match=RAISES[attack]) as caught:
        env.step(0)
    text = str(caught.value)
    assert "\x1b" not in text
    assert "\x07" not in text
    assert len(text) < 20_000
    if is_silent:
        with pytest.raises(SandboxTimeout):
            env.close()
        return
    observation, _ = env.reset(seed=1)
    assert observation.shape == (2,)
    env.close()


@pytest.mark.parametrize("attack", TIMEOUTS)
def test_hanging(attack):
    env = hostile(attack, sandbox=options(step_timeout=0.3))
    with pytest.raises(SandboxTimeout, match="in time"):
        play(env)
    is_gone(env)


@pytest.mark.parametrize("attack", CRASHES)
def test_crashing(attack):
    env = hostile(attack)
    with pytest.raises(SandboxCrashed, match=CRASHES[attack]) as caught:
        play(env)
    assert caught.value.oom_killed == (attack == "ends:Hogs")
    is_gone(env)


@pytest.mark.parametrize("name", BATCHES)
def test_batches(name):
    arguments = {"max_episode_steps": 3}
    if name.startswith("Final"):
        arguments["vector_kwargs"] = {"autoreset_mode": "SameStep"}
    envs = hostile(f"batches:{name}", num_envs=2, **arguments)
    with pytest.raises(SandboxViolation, match=BATCHES[name]):
        play(envs, action=[0, 1])
    with pytest.raises(SandboxClosed):
        envs.step([0, 1])
    envs.close()


@pytest.mark.parametrize("name", DECLARES)
def test_declarations(name):
    with pytest.raises(SandboxViolation, match=DECLARES[name]):
        hostile(f"declares:{name}")


def test_spaces_that_cost_much_can_be_allowed():
    env = hostile("declares:HugeChoice", sandbox=options(spaces=SpaceLimits(flat=2**41)))
    assert env.action_space.n == 2**40
    env.close()


@pytest.mark.parametrize(
    ("attack", "error", "text"),
    [
        ("ends:StartHangs", SandboxTimeout, "in time"),
        ("imports_forever:Env", SandboxTimeout, "in time"),
        ("ends:StartExits", SandboxCrashed, "exit code 3"),
        ("ends:RaisesAtStart", RemoteEnvError, r"could not be built.*ValueError: \\x1b\[31mbad"),
        ("declares:Silent", SandboxTimeout, "in time"),
        ("lies:Missing", RemoteEnvError, "AttributeError.*Missing"),
        ("nowhere.at_all:Env", SandboxError, "does not contain 'nowhere'"),
    ],
)
def test_failing_to_start(attack, error, text):
    expected = error if "nowhere" not in attack else Exception
    given = options(start_timeout=2.0) if error is SandboxTimeout else options()
    with pytest.raises(expected, match=text):
        hostile(attack, sandbox=given)


def test_frames_that_are_too_large():
    env = hostile("lies:FrameLie", render_mode="rgb_array", sandbox=options(frame_bytes=1 << 20))
    env.reset()
    with pytest.raises(SandboxViolation, match="announced 2097"):
        env.render()
    is_gone(env)


def test_frames_that_are_code():
    env = hostile("lies:FrameCode", render_mode="rgb_array")
    env.reset()
    with pytest.raises(RemoteEnvError, match="CodecError"):
        env.render()
    env.close()


def test_rendering_that_hangs():
    env = hostile("ends:RenderHangs", render_mode="rgb_array", sandbox=options(step_timeout=1.0))
    env.reset()
    with pytest.raises(SandboxTimeout):
        env.render()
    is_gone(env)


def test_closing_that_hangs():
    env = hostile("ends:CloseHangs", sandbox=options(step_timeout=1.0))
    play(env)
    with pytest.raises(SandboxTimeout):
        env.close()
    env.close()


def test_closing_that_raises():
    env = hostile("ends:CloseRaises")
    with pytest.raises(RemoteEnvError, match="RuntimeError: no"):
        env.close()


@pytest.mark.parametrize("attack", ["floods:Prints", "floods:PrintsErrors"])
def test_printing_a_lot_costs_time_only(attack):
    env = hostile(attack)
    play(env, steps=1)
    assert len(env.unwrapped._channel.keeper.said.value()) <= 16 << 10
    env.close()


@pytest.mark.parametrize("attack", ["ends:ChildAnswers", "ends:ChildAnswersAlone"])
def test_a_child_that_answers(attack):
    """A child's answers are checked like any other's, and the child dies with the sandbox."""
    env = hostile(attack, sandbox=options(step_timeout=1.0))
    # Parent and child race for each request, so any call may fail, the closing one included.
    with suppress(SandboxError):
        play(env, steps=3)
    with suppress(SandboxError):
        env.close()
    assert env.unwrapped._channel.closed
    with pytest.raises(SandboxClosed):
        env.unwrapped._channel._sandbox.run(["true"])


def test_memory_cannot_be_resized():
    env = hostile("memory:Resizes")
    env.reset()
    assert env.step(0)[4] == {"shrink": "refused", "grow": "refused", "seal": "refused"}
    env.close()


def test_memory_that_changes_while_it_is_read():
    """Every value that gets through is a member of the space, whatever is in memory meanwhile."""
    env = hostile("memory:Flips")
    seen = set()
    try:
        env.reset(seed=0)
        for _ in range(3000):
            observation = env.step(0)[0]
            before = observation.tolist()
            assert all(-1 <= number <= 1 for number in before)
            assert observation.tolist() == before
            seen.update(before)
    except SandboxViolation as problem:
        seen.add(str(problem))
    assert seen
    env.close()


def test_memory_that_is_filled_with_noise():
    """Requests are lost as well then; whether that is noticed by time or by token is chance."""
    env = hostile("memory:Scribbles", sandbox=options(step_timeout=1.0))
    with pytest.raises(SandboxError):
        play(env, steps=3000)
    env.close()


def test_what_can_be_reached(tmp_path, monkeypatch):
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    monkeypatch.setenv("LUDUS_SECRET", "s3cret")
    env = hostile("reaches:Reaches", secret=str(secret))
    env.reset()
    found = env.step(0)[4]
    env.close()
    places = ("read", "shadow", "package", "ludus", "given", "kernels", "prefix", "network")
    assert {name: found[name] for name in places if not found[name].startswith("refused")} == {}
    assert "s3cret" not in str(found)
    assert "LUDUS_SECRET" not in found["variables"]
    assert found["uid"] not in ("0", str(os.getuid()))
    assert int(found["processes"]) < 8


def test_processes_of_a_bomb_are_counted():
    env = hostile("ends:Bombs", sandbox=options(policy=Policy(pids=16), step_timeout=0.5))
    with pytest.raises(SandboxError):
        play(env)
    env.close()
