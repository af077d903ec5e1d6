from __future__ import annotations

import io
import os
import pickle
import stat
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ludus
from ludus.codec import DecodeLimits, decode, encode
from ludus.codec.sealed_file import write_sealed
from ludus.core.env import Env
from ludus.core.state_files import _FORMAT, _MARK, load_state, save_state
from ludus.core.wrapper import Wrapper
from ludus.errors import StateError, StateFileError
from ludus.spaces import Box, Discrete, Space
from tests.codec.plain_values import same

HEADER = 50


class Walk(Env[Any, Any]):
    state_fields = ("board", "position", "seen")
    observation_space: Space[Any] = Box(-1, 1, (2,))
    action_space: Space[Any] = Discrete(2)

    def __init__(self) -> None:
        self.position: Any = 0.0
        self.board = np.zeros((2, 3), np.int16)
        self.seen: Any = [1, (2, "x")]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self._look(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.position += float(self.np_random.normal())
        self.board[0, 0] += 1
        return self._look(), self.position, False, False, {}

    def _look(self) -> Any:
        return np.array([self.position, self.board[0, 0]], np.float32)


class Run(Walk):
    pass


class Layer(Wrapper[Any, Any, Any, Any]):
    state_fields = ("calls",)
    calls = 3


class Stubborn(Walk):
    """Refuses some states when half of it has been set."""

    def _load_state(self, fields: Any) -> None:
        super()._load_state(fields)
        if fields["position"] > 100:
            raise OverflowError("too far")


def walked(kind: type[Walk] = Walk, steps: int = 3) -> Any:
    env = kind()
    env.reset(seed=5)
    for _ in range(steps):
        env.step(0)
    return env


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "walk.state"
    save_state(walked(), path)
    return path


def test_an_environment_continues_where_it_was_saved(saved: Path) -> None:
    original, other = walked(), Walk()
    state = load_state(saved, other)
    assert same(state, original.get_state())
    for _ in range(5):
        ours, theirs = original.step(0), other.step(0)
        assert same(ours, theirs)


def test_without_an_environment_the_state_is_returned(saved: Path) -> None:
    assert same(load_state(saved), walked().get_state())


def test_a_state_is_saved_as_it_is(tmp_path: Path) -> None:
    state = walked().get_state()
    save_state(state, tmp_path / "s")
    other = Walk()
    load_state(tmp_path / "s", other)
    assert same(other.get_state(), state)
    with pytest.raises(StateFileError, match="refuses: The state was taken from 'Walk'"):
        load_state(tmp_path / "s", Run())


@pytest.mark.parametrize("id", ["CartPole-v1", "FrozenLake-v1", "Blackjack-v1"])
def test_registered_environments_continue(id: str, tmp_path: Path) -> None:
    env, other = ludus.make(id), ludus.make(id)
    env.reset(seed=3)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    save_state(env, tmp_path / "s")
    load_state(tmp_path / "s", other)
    assert same(env.get_state(), other.get_state())
    action = env.action_space.sample()
    assert same(env.step(action)[:4], other.step(action)[:4])


@pytest.mark.parametrize("mode", ["sync", None])
def test_vector_environments_continue(mode: Any, tmp_path: Path) -> None:
    with (
        ludus.make_vec("CartPole-v1", 3, vectorization_mode=mode) as env,
        ludus.make_vec("CartPole-v1", 3, vectorization_mode=mode) as other,
        ludus.make_vec("CartPole-v1", 2, vectorization_mode=mode) as smaller,
    ):
        env.reset(seed=3)
        env.step(np.array([0, 1, 0]))
        save_state(env, tmp_path / "s")
        load_state(tmp_path / "s", other)
        assert same(env.get_state(), other.get_state())
        with pytest.raises(StateFileError, match="number of environments: 3; here: 2"):
            load_state(tmp_path / "s", smaller)


def test_the_render_mode_does_not_matter_but_other_arguments_do(tmp_path: Path) -> None:
    env = ludus.make("FrozenLake-v1", render_mode="ansi", is_slippery=False)
    env.reset(seed=0)
    save_state(env, tmp_path / "s")
    load_state(tmp_path / "s", ludus.make("FrozenLake-v1", is_slippery=False))
    with pytest.raises(StateFileError, match="Its arguments: "):
        load_state(tmp_path / "s", ludus.make("FrozenLake-v1"))


class OtherSpaces(Walk):
    observation_space = Box(-1, 2, (2,))


OtherSpaces.__name__ = "Walk"


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Run, r"environment and wrappers: \['Walk'\]; here: \['Run'\]"),
        (lambda: Layer(Walk()), r"here: \['Layer', 'Walk'\]"),
        (OtherSpaces, r"observation space: 'Box\(-1.0, 1.0, .*; here: 'Box\(-1.0, 2.0"),
        (lambda: ludus.make("CartPole-v1"), "Its id: None; here: 'CartPole-v1'"),
    ],
)
def test_another_environment_is_refused_and_untouched(
    other: Any, message: str, saved: Path
) -> None:
    env = other()
    before = env.get_state()
    with pytest.raises(StateFileError, match=message) as caught:
        load_state(saved, env)
    assert str(saved) in str(caught.value)
    assert isinstance(caught.value, StateError)
    assert same(env.get_state(), before)


def test_an_environment_that_refuses_is_put_back(tmp_path: Path) -> None:
    env = walked(Stubborn)
    before = env.get_state()
    far = env.get_state()
    far["fields"]["position"] = 500.0
    save_state(far, tmp_path / "s")
    with pytest.raises(StateFileError, match=r"Stubborn refuses: .*OverflowError\('too far'\)"):
        load_state(tmp_path / "s", env)
    assert same(env.get_state(), before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s["fields"].update(position="far"), r"\['position'\] is a str instead of a flo"),
        (lambda s: s["fields"].update(board=np.zeros((2, 3))), "array of float64 with 2 axes inst"),
        (lambda s: s["fields"].update(board=np.zeros(3, np.int16)), "array of int16 with 1 axes"),
        (lambda s: s["fields"].update(board=[[0]]), "is a list instead of a ndarray"),
        (lambda s: s["fields"].update(extra=1), r"fields \['extra'\]"),
        (lambda s: s.update(fields=[]), r"state\['fields'\] is a list instead of a dict"),
        (lambda s: s.pop("fields"), r"refuses: .*KeyError\('fields'\)"),
        (lambda s: s.pop("env"), "taken from None"),
        (lambda s: s.update(rng={}), "refuses"),
        (lambda s: s["rng"]["generator"].update(bit_generator="os.system"), "random generator"),
        (lambda s: s["rng"]["generator"]["state"].update(state="0x" + "f" * 99), "refuses"),
    ],
)
def test_states_of_the_wrong_structure_are_refused(
    change: Any, message: str, tmp_path: Path
) -> None:
    env = walked()
    before, state = env.get_state(), env.get_state()
    change(state)
    save_state(state, tmp_path / "s")
    with pytest.raises(StateFileError, match=message):
        load_state(tmp_path / "s", env)
    assert same(env.get_state(), before)


def test_every_cut_and_every_flipped_byte_is_noticed(saved: Path, tmp_path: Path) -> None:
    whole, broken = saved.read_bytes(), tmp_path / "broken"
    for end in range(len(whole)):
        broken.write_bytes(whole[:end])
        with pytest.raises(StateFileError, match="truncated|begins with b''"):
            load_state(broken)
        broken.unlink()  # writing over a file is much slower
    for at in range(len(whole)):
        broken.write_bytes(whole[:at] + bytes((whole[at] ^ 0x40,)) + whole[at + 1 :])
        with pytest.raises(StateFileError):
            load_state(broken)
        broken.unlink()
    broken.write_bytes(whole + b"\0")
    with pytest.raises(StateFileError, match="has bytes appended"):
        load_state(broken)


def test_damage_is_told_from_other_problems(saved: Path) -> None:
    whole = bytearray(saved.read_bytes())
    whole[-1] ^= 1
    saved.write_bytes(whole)
    with pytest.raises(StateFileError, match="damaged: the hash"):
        load_state(saved)


def test_a_newer_format_asks_for_an_upgrade(tmp_path: Path) -> None:
    write_sealed(tmp_path / "s", _MARK, _FORMAT + 1, b"whatever")
    with pytest.raises(StateFileError, match="format 2, which is newer .* upgrade"):
        load_state(tmp_path / "s")


FIRED: list[str] = []


class Exploit:
    def __reduce__(self) -> Any:
        return (FIRED.append, ("ran",))


def _npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.array([Exploit()], dtype=object))
    return file.getvalue()


def _zip_bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("state.npy", b"\0" * 2**24)
    return file.getvalue()


CONTENTS = {
    "pickle": pickle.dumps(Exploit()),
    "npz of objects": _npz(),
    "zip bomb": _zip_bomb(),
    "deep nesting": b"\x91" * 100_000,
    "length bomb": b"\xdd\xff\xff\xff\xff",
    "a list": encode([1]),
    "other keys": encode({"state": {}}),
    "state is a list": encode({"ludus": "1", "about": None, "state": []}),
    "about is a list": encode({"ludus": "1", "about": [], "state": {}}),
    "about is odd": encode({"ludus": "1", "about": {}, "state": {}}),
    "about is empty": encode({"ludus": 1, "about": dict.fromkeys(
        ("env", "num_envs", "layers", "arguments", "observation_space", "action_space", "texts")
    ), "state": {}}),
    "nothing": b"",
}  # fmt: skip


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS.keys())
def test_malicious_files_are_refused_and_never_run(
    content: bytes, sealed: bool, tmp_path: Path
) -> None:
    FIRED.clear()
    path = tmp_path / "s"
    if sealed:
        write_sealed(path, _MARK, _FORMAT, content)
    else:
        path.write_bytes(content)
    with pytest.raises(StateFileError):
        load_state(path, walked())
    assert FIRED == []


def test_a_claimed_length_is_held_against_limit_and_file(saved: Path) -> None:
    whole = saved.read_bytes()
    saved.write_bytes(whole[:10] + (2**63).to_bytes(8, "big") + whole[18:])
    with pytest.raises(StateFileError, match="at most"):
        load_state(saved)
    saved.write_bytes(whole)
    with pytest.raises(StateFileError, match="at most 100 are allowed"):
        load_state(saved, limits=DecodeLimits(total_bytes=100))


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(StateFileError, match="not a regular file"):
            load_state(path)
    with pytest.raises(FileNotFoundError):
        load_state(tmp_path / "missing")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = saved.read_bytes()

    def fail(handle: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save_state(walked(steps=9), saved)
    assert saved.read_bytes() == whole
    assert list(saved.parent.iterdir()) == [saved]


def test_files_have_the_permissions_that_the_user_gives_to_new_files(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        save_state({}, tmp_path / "s")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "got int"),
        ({"a": {"b": object()}}, r"file\['state'\]\['a'\]\['b'\]: it is of type object"),
        (Wrapper(Env()), "does not declare its state"),
    ],
)
def test_what_cannot_be_saved_is_refused(value: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(StateError, match=message):
        save_state(value, tmp_path / "s")
    assert not list(tmp_path.iterdir())


def test_the_file_describes_its_environment(saved: Path) -> None:
    document = decode(saved.read_bytes()[HEADER:])
    assert document["ludus"] == ludus.__version__
    assert document["about"]["layers"] == ["Walk"]
    assert document["about"]["texts"]["action_space"] == "Discrete(2)"
