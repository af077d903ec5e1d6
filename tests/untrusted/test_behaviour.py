"""Environments in boxes behave as they do outside."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.core.spec import SecuritySpec
from ludus.errors import (
    CodecError,
    Error,
    InvalidAction,
    InvalidArgument,
    NameNotFound,
    RemoteEnvError,
    ResetNeeded,
    SandboxClosed,
    SandboxCrashed,
    SandboxError,
    SandboxUnavailable,
    StateError,
    UntrustedEnv,
)
from ludus.registration import registry
from ludus.sandbox import Policy, load
from ludus.untrusted import SandboxedEnv, SandboxedVectorEnv, SandboxOptions
from ludus.wrappers import FlattenObservation
from tests.sandbox.support import needs
from tests.untrusted.support import hostile, nothing_left, options

pytestmark = [needs("bubblewrap", root=True), pytest.mark.timeout(120)]
_ = nothing_left

PLUGIN = Path(__file__).parent / "plugin"
PIPES = SandboxOptions(share_memory=False)


def same(left, right):
    if isinstance(left, dict):
        assert left.keys() == right.keys()
        for key in left:
            same(left[key], right[key])
    elif isinstance(left, tuple | list):
        assert len(left) == len(right)
        for pair in zip(left, right, strict=True):
            same(*pair)
    elif isinstance(left, np.ndarray):
        assert left.dtype == right.dtype
        assert left.shape == right.shape
        if left.dtype == object:
            same(left.tolist(), right.tolist())
        else:
            assert left.tobytes() == right.tobytes()
    else:
        assert left == right


@pytest.fixture
def plugin(monkeypatch):
    """Make the plugin importable, but not by the host."""
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.setenv("LUDUS_HOST_OF_TESTS", "1")
    yield "boxed_plugin:boxed/Everything-v0"
    assert "boxed_plugin" not in sys.modules
    assert "boxed/Everything-v0" not in registry


@pytest.mark.parametrize("sandbox", [True, PIPES], ids=["memory", "pipes"])
@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1", "Pendulum-v1", "Copy-v0"]
)
def test_trajectories_are_those_of_the_unboxed(env_id, sandbox):
    plain, boxed = ludus.make(env_id), ludus.make(env_id, sandbox=sandbox)
    assert boxed.observation_space == plain.observation_space
    assert boxed.action_space == plain.action_space
    assert str(boxed) == str(plain).replace(type(plain.unwrapped).__name__, "SandboxedEnv")
    for seed in range(3):
        plain.action_space.seed(seed)
        same(plain.reset(seed=seed), boxed.reset(seed=seed))
        for _ in range(120):
            action = plain.action_space.sample()
            expected = plain.step(action)
            same(expected, boxed.step(action))
            if expected[2] or expected[3]:
                same(plain.reset(), boxed.reset())
    boxed.close()


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize(
    ("env_id", "sandbox"), [("CartPole-v1", True), ("Taxi-v4", True), ("Blackjack-v1", PIPES)]
)
def test_batches_are_those_of_the_unboxed(env_id, mode, sandbox):
    arguments = {"autoreset_mode": mode, "max_episode_steps": 20}
    plain = ludus.make_vec(env_id, 3, **arguments)
    boxed = ludus.make_vec(env_id, 3, sandbox=sandbox, **arguments)
    assert isinstance(boxed, SandboxedVectorEnv)
    assert boxed.metadata["autoreset_mode"].value == mode
    plain.action_space.seed(1)
    same(plain.reset(seed=4), boxed.reset(seed=4))
    for _ in range(80):
        actions = plain.action_space.sample()
        expected = plain.step(actions)
        same(expected, boxed.step(actions))
        over = expected[2] | expected[3]
        if mode == "Disabled" and over.any():
            with pytest.raises(Error, match="reset_mask"):
                boxed.step(actions)
            chosen = {"reset_mask": over}
            same(plain.reset(options=chosen), boxed.reset(options=chosen))
    boxed.close()


def test_batches_of_single_environments_and_of_wrapped_ones():
    plain = ludus.make_vec("FrozenLake-v1", 2, vectorization_mode="sync")
    boxed = ludus.make_vec("FrozenLake-v1", 2, vectorization_mode="sync", sandbox=True)
    assert isinstance(boxed, SandboxedVectorEnv)
    wrapped = ludus.make_vec("FrozenLake-v1", 2, wrappers=[FlattenObservation], sandbox=True)
    same(plain.reset(seed=0), boxed.reset(seed=0))
    wrapped.reset(seed=0)
    for action in (1, 2, 1, 0):
        expected = plain.step(np.full(2, action))
        same(expected, boxed.step(np.full(2, action)))
        flat = wrapped.step(np.full(2, action))[0]
        assert flat.argmax(axis=1).tolist() == expected[0].tolist()
    boxed.close()
    wrapped.close()


def test_kernels_that_the_host_has_compiled_are_not_compiled_again():
    plain = ludus.make("CartPole-v1")
    plain.reset(seed=0)
    plain.step(0)
    boxed = ludus.make("CartPole-v1", sandbox=True)
    boxed.reset(seed=0)
    boxed.step(0)
    find = ["find", "-L", ".cache/ludus/kernels", "-name", "cartpole*"]
    box = boxed.unwrapped._channel._sandbox
    assert box.run(find, timeout=10).stdout
    assert box.run(["find", *find[2:], "-type", "f"], timeout=10).stdout == b""
    boxed.close()


def test_limits_and_order_are_the_hosts():
    env = ludus.make("CartPole-v1", sandbox=True, max_episode_steps=4)
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=0)
    assert [env.step(i % 2)[3] for i in range(4)] == [False, False, False, True]
    env.close()


def test_actions_are_checked_before_they_are_sent():
    env = ludus.make("CartPole-v1", sandbox=True, disable_env_checker=True)
    env.reset(seed=0)
    for action in (2, -1, "0", None, 0.0, [0]):
        with pytest.raises(InvalidAction):
            env.step(action)
    assert env.step(np.int8(1))[1] == 1.0
    env.close()
    envs = ludus.make_vec("CartPole-v1", 2, sandbox=True)
    with pytest.raises(ResetNeeded):
        envs.step([0, 1])
    envs.reset(seed=0)
    for actions in ([0], [0, 2], [0.0, 1.0], "01"):
        with pytest.raises(InvalidAction):
            envs.step(actions)
    envs.close()


def test_states():
    env = ludus.make("CartPole-v1", sandbox=True)
    env.reset(seed=3)
    env.step(1)
    state = env.get_state()
    after = [env.step(0) for _ in range(3)]
    env.set_state(state)
    same(after, [env.step(0) for _ in range(3)])
    env.close()
    envs = ludus.make_vec("CartPole-v1", 2, sandbox=True)
    envs.reset(seed=3)
    state = envs.get_state()
    expected = envs.step([0, 1])
    envs.set_state(state)
    same(expected, envs.step([0, 1]))
    with pytest.raises(StateError):
        envs.set_state({"vector_env": "Other"})
    envs.close()


@pytest.mark.parametrize("sandbox", [True, PIPES], ids=["memory", "pipes"])
def test_a_plugin_is_imported_by_the_box_only(plugin, sandbox):
    env = ludus.make(plugin, sandbox=sandbox, render_mode="rgb_array")
    assert env.spec.id == "boxed/Everything-v0"
    assert env.spec.author == "somebody"
    assert env.spec.max_episode_steps == 3
    assert env.spec.security.trust == "untrusted"
    observation, info = env.reset(seed=7, options={"a": [1, np.arange(3)]})
    same(observation, {"a": np.ones((3, 3), np.uint8), "b": (4, np.ones(3, np.int8))})
    same(info["options"], {"a": [1, np.arange(3)]})
    assert info["draw"] == np.random.default_rng(7).random()
    action = (-1, np.array([0.5, -0.5], np.float32))
    result = env.step(action)
    assert result[1] == 1.0
    same(result[4]["action"], (np.int64(-1), action[1]))
    assert env.render().tolist() == np.full((4, 4, 3), 1).tolist()
    assert [env.step(action)[3] for _ in range(2)] == [False, True]
    state = env.get_state()
    env.reset()
    env.set_state(state)
    assert env.step(action)[1] == 4.0
    env.close()
    with pytest.raises(SandboxClosed):
        env.step(action)


@pytest.mark.parametrize("kind", ["text", "sequence", "graph", "bool"])
def test_spaces_of_any_size(kind):
    env = load(PLUGIN, "boxed_plugin:Everything", kind=kind)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    action = {"go": np.int64(1), "push": np.zeros(2, np.float32), "say": "ab"}
    result = env.step(action)
    assert env.observation_space.contains(result[0])
    same(result[4]["action"], action)
    with pytest.raises(ValueError, match="action"):
        env.step({**action, "say": "too long a text"})
    env.close()


def test_texts_as_frames_and_lists_of_frames():
    env = load(PLUGIN, "boxed_plugin:Everything", render_mode="ansi")
    env.reset()
    assert env.render() == "count 0"
    env.close()
    env = load(PLUGIN, "boxed_plugin:Everything", render_mode="rgb_array_list")
    env.reset()
    env.step((0, np.zeros(2, np.float32)))
    assert [frame[0, 0, 0] for frame in env.render()] == [0, 1]
    env.close()


def test_batches_of_what_is_loaded():
    envs = load(PLUGIN, "boxed_plugin:Everything", num_envs=2)
    observations, _ = envs.reset(seed=0)
    assert envs.observation_space.contains(observations)
    result = envs.step((np.array([0, 1]), np.zeros((2, 2), np.float32)))
    assert result[1].tolist() == [1.0, 1.0]
    envs.close()
    texts = load(PLUGIN, "boxed_plugin:Everything", num_envs=2, kind="text")
    assert texts.reset(seed=0)[0] == ("abcab", "abcab")
    texts.close()


def test_the_folder_of_a_package_and_a_wheel(tmp_path):
    text = (PLUGIN / "boxed_plugin.py").read_text()
    package = tmp_path / "given" / "my_package"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(text)
    wheel = tmp_path / "my_package-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("my_package/__init__.py", text)
        archive.writestr("../../../../../tmp/slipped.py", "x")
        archive.writestr("/tmp/slipped.py", "x")
    tmp_path.chmod(0o755)
    for path in (package, package.parent, wheel):
        env = load(path, "my_package:Everything")
        env.reset(seed=0)
        env.close()
    assert not Path("/tmp/slipped.py").exists()
    with pytest.raises(Error, match="does not contain 'other'"):
        load(package, "other:Env")
    with pytest.raises(FileNotFoundError, match="expected a package's folder"):
        load(tmp_path / "missing", "other:Env")


def test_attributes_stay_inside():
    env = ludus.make("CartPole-v1", sandbox=True)
    assert isinstance(env.unwrapped, SandboxedEnv)
    with pytest.raises(AttributeError, match="runs in a sandbox"):
        _ = env.unwrapped.gravity
    with pytest.raises(AttributeError):
        env.get_wrapper_attr("gravity")
    assert not env.has_wrapper_attr("gravity")
    assert env.get_wrapper_attr("has_reset") is False
    assert env.set_wrapper_attr("gravity", 3, force=False) is False
    env.reset(seed=5)
    assert env.np_random_seed == 5
    with pytest.raises(SandboxError, match="pickled"):
        pickle.dumps(env.unwrapped)
    env.close()
    env.close()


def test_a_spec_makes_the_same_again():
    env = ludus.make("CartPole-v1", sandbox=SandboxOptions(policy=Policy(memory="300M")))
    again = env.spec.make()
    assert again.unwrapped._options.policy.memory == 300 << 20
    envs = ludus.make_vec("CartPole-v1", 3, sandbox=True)
    more = ludus.make_vec(envs.spec)
    assert isinstance(more, SandboxedVectorEnv)
    assert more.num_envs == 3
    for each in (env, again, envs, more):
        each.close()


def test_untrusted_ones_need_a_box(plugin, monkeypatch):
    security = SecuritySpec(trust="untrusted", network="loopback")
    spec = ludus.EnvSpec("Untrusted-v0", "boxed_plugin:Everything", security=security)
    monkeypatch.setitem(registry, spec.id, spec)
    for refused in (None, False):
        with pytest.raises(UntrustedEnv, match="sandbox=True"):
            ludus.make("Untrusted-v0", sandbox=refused)
        with pytest.raises(UntrustedEnv, match="sandbox=True"):
            ludus.make_vec("Untrusted-v0", 2, sandbox=refused)
    with pytest.raises(UntrustedEnv, match="does not isolate"):
        ludus.make("Untrusted-v0", sandbox="process")
    env = ludus.make("Untrusted-v0", sandbox="bubblewrap")
    assert env.unwrapped._channel._sandbox.policy.network == "loopback"
    env.close()


def test_strict_trust_boxes_plugins(plugin, monkeypatch):
    spec = ludus.EnvSpec("Plugin-v0", "boxed_plugin:Everything")
    monkeypatch.setitem(registry, spec.id, spec)
    monkeypatch.setenv("LUDUS_TRUST", "strict")
    for wanted in ("Plugin-v0", plugin, spec):
        env = ludus.make(wanted)
        assert isinstance(env.unwrapped, SandboxedEnv)
        env.close()
    envs = ludus.make_vec("Plugin-v0", 2)
    assert isinstance(envs, SandboxedVectorEnv)
    envs.close()
    with pytest.raises(UntrustedEnv, match="strict"):
        ludus.make("Plugin-v0", sandbox=False)
    assert not isinstance(ludus.make("CartPole-v1").unwrapped, SandboxedEnv)
    with pytest.raises(NameNotFound, match="Cartpol"):
        ludus.make("Cartpol-v1")
    monkeypatch.setenv("LUDUS_TRUST", "lax")
    with pytest.raises(Error, match="LUDUS_TRUST"):
        ludus.make("Plugin-v0")


def test_declared_needs_are_what_the_box_gets(plugin, tmp_path, monkeypatch):
    data = tmp_path / "data"
    data.mkdir()
    tmp_path.chmod(0o755)
    security = SecuritySpec(filesystem=(str(data),), subprocess=True)
    spec = ludus.EnvSpec("Plugin-v0", "boxed_plugin:Everything", security=security)
    env = ludus.make(spec, sandbox=True)
    policy = env.unwrapped._channel._sandbox.policy
    assert policy.pids == 128
    assert policy.network == "none"
    assert str(data) in [mount.target for mount in policy.mounts]
    assert not any(mount.writable for mount in policy.mounts)
    env.close()


def test_without_a_backend_there_is_no_environment(monkeypatch):
    monkeypatch.setattr("ludus.sandbox.opening._reason", lambda name: "not here")
    with pytest.raises(SandboxUnavailable, match="No backend that isolates"):
        ludus.make("CartPole-v1", sandbox=True)


def test_start_up_failures_say_why(plugin):
    with pytest.raises(NameNotFound):
        ludus.make("boxed_plugin:boxed/Nothing-v0", sandbox=True)
    with pytest.raises(RemoteEnvError, match="ModuleNotFoundError.*no_such_module"):
        ludus.make("no_such_module:Env-v0", sandbox=True)
    with pytest.raises(InvalidArgument, match="colour"):
        ludus.make(plugin, sandbox=True, colour=1)
    with pytest.raises(CodecError, match="plain data"):
        ludus.make(plugin, sandbox=True, kind=object())
    with pytest.raises(TypeError, match="sandbox is 5"):
        ludus.make("CartPole-v1", sandbox=5)
    with pytest.raises(ValueError, match="backend"):
        ludus.make("CartPole-v1", sandbox="jail")
    with pytest.raises(Error, match="callable"):
        ludus.make(ludus.EnvSpec("Local-v0", lambda: None), sandbox=True)


def test_printing_shows_up_in_errors_only(capfd):
    env = load(PLUGIN, "boxed_plugin:Everything")
    env.reset()
    env.step((0, np.zeros(2, np.float32)))
    env.unwrapped._channel._job.kill()
    env.unwrapped._channel._job.wait(10)
    with pytest.raises(SandboxCrashed, match="(?s)signal 9.*printed by the environment"):
        env.step((0, np.zeros(2, np.float32)))
    assert capfd.readouterr() == ("", "")


def test_an_interrupted_call_closes_the_box():
    """Its answer could still come, and be taken for that to the next question."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    env = hostile("ends:StepHangs", sandbox=options(step_timeout=30.0))
    env.reset()
    before = signal.signal(signal.SIGUSR1, interrupt)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
    with pytest.raises(KeyboardInterrupt):
        env.step(0)
    signal.signal(signal.SIGUSR1, before)
    with pytest.raises(SandboxClosed, match="interrupted by KeyboardInterrupt"):
        env.step(0)


def test_options_are_checked():
    for wrong in (
        {"policy": 5},
        {"backend": "jail"},
        {"cpu": 10_000},
        {"step_timeout": 0},
        {"start_timeout": -1.0},
        {"reward_range": (1, 0)},
        {"frame_bytes": -1},
        {"rounding_steps": -1},
        {"rounding_steps": 0.5},
    ):
        with pytest.raises(ValueError, match=f"SandboxOptions.{next(iter(wrong))}"):
            SandboxOptions(**wrong)


def test_reward_ranges():
    env = ludus.make("CartPole-v1", sandbox=SandboxOptions(reward_range=(0, 0.5)))
    env.reset(seed=0)
    with pytest.raises(SandboxError, match="not within 0 and 0.5"):
        env.step(0)
    envs = ludus.make_vec("CartPole-v1", 2, sandbox=SandboxOptions(reward_range=(0, 0.5)))
    envs.reset(seed=0)
    with pytest.raises(SandboxError, match="not within 0 and 0.5"):
        envs.step([0, 1])
    with pytest.raises(SandboxClosed):
        envs.step([0, 1])
    envs.close()


@pytest.mark.parametrize("share_memory", [True, False])
@pytest.mark.parametrize("size", [2, 40])
def test_one_rounding_step_outside(size, share_memory):
    strict = options(share_memory=share_memory)
    env = hostile("rounding:OneStepOutside", size=size, sandbox=strict)
    env.reset(seed=0)
    with pytest.raises(SandboxError, match="outside by one rounding step of float32.*rounding_st"):
        env.step(0)
    lenient = options(share_memory=share_memory, rounding_steps=1)
    env = hostile("rounding:OneStepOutside", size=size, sandbox=lenient)
    env.reset(seed=0)
    seen = env.step(0)[0]
    assert env.observation_space.contains(seen)
    assert seen[0] == env.observation_space.high[0]
    with pytest.raises(SandboxError, match="is not within") as caught:
        env.step(1)
    assert "rounding" not in str(caught.value)
