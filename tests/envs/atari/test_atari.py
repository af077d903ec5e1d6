"""Atari games: states and ids."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
import zlib

import pytest

from ludus.errors import StateError

pytest.importorskip("ale_py")

import ludus.classic as classic
from ludus.core.spec import EnvSpec
from ludus.envs.atari import AtariEnv
from ludus.envs.atari.registration import SPECS
from tests.envs.atari.sampling import GAMES_TRIED
from tests.reference.twins import assert_same
from tests.sampling import ALL


def play(env, steps):
    """Play at random and return what was given and returned, ``None`` for a reset."""
    events, over = [], False
    for _ in range(steps):
        if over:
            events.append((None, env.reset()))
            over = False
        else:
            action = env.action_space.sample()
            events.append((action, env.step(action)))
            over = events[-1][1][2] or events[-1][1][3]
    return events


def assert_replays(env, events):
    for action, expected in events:
        assert_same(env.reset() if action is None else env.step(action), expected)


def assert_round_trip(**kwargs):
    env, fresh = (AtariEnv(**kwargs, render_mode="rgb_array") for _ in range(2))
    env.action_space.seed(4)
    env.reset(seed=6)
    for _ in range(2):
        play(env, 25)
        state, frame = env.get_state(), env.render()
        events = play(env, 25)
        for other in (env, fresh):
            other.set_state(state)
            assert_same(other.render(), frame)
            assert_same(other.get_state(), state)
            assert_replays(other, events)


@pytest.mark.parametrize("game", GAMES_TRIED)
def test_a_saved_game_plays_on(game):
    env = AtariEnv(game=game)
    env.action_space.seed(4)
    env.reset(seed=6)
    play(env, 20)
    state = env.get_state()
    events = play(env, 20)
    env.reset()
    env.set_state(state)
    assert_replays(env, events)


@pytest.mark.parametrize("stickiness", [0.0, 0.25])
@pytest.mark.parametrize("game", GAMES_TRIED if ALL else ("qbert",))
def test_a_saved_game_plays_on_in_a_machine_just_started(game, stickiness):
    """Frame by frame; how the last frame ended is not saved, and matters to the next."""
    options = {"frameskip": 1, "repeat_action_probability": stickiness, "obs_type": "ram"}
    env = AtariEnv(game, **options)
    env.action_space.seed(4)
    env.reset(seed=6)
    play(env, 5)
    state = env.get_state()
    events = play(env, 20)
    env.reset(seed=7)
    env.set_state(state)
    assert_replays(env, events)


@pytest.mark.parametrize(
    "options",
    [
        {"repeat_action_probability": 0.0},
        {"repeat_action_probability": 0.8, "frameskip": 1},
        {"repeat_action_probability": 1.0},
        {"frameskip": (2, 5), "max_num_frames_per_episode": 50},
        {"continuous": True},
        {"mode": 3, "difficulty": 1, "obs_type": "ram", "full_action_space": True},
    ],
)
def test_states_with_options(options):
    assert_round_trip(game="space_invaders", **options)


def test_a_state_right_after_reset_and_at_the_end():
    env = AtariEnv("breakout", max_num_frames_per_episode=40)
    env.reset(seed=1)
    start = env.get_state()
    events = play(env, 30)
    other = AtariEnv("breakout", max_num_frames_per_episode=40)
    other.set_state(start)
    assert_replays(other, events)


def test_a_game_that_was_never_reset_can_be_saved():
    env, other = AtariEnv("pong"), AtariEnv("pong")
    env.step(2)
    other.set_state(env.get_state())
    for action in (3, 0, 2):
        assert_same(other.step(action), env.step(action))


@pytest.mark.parametrize("stickiness", [0.0, 0.25])
def test_a_new_game_whose_first_frame_depends_on_more_than_is_saved(stickiness):
    env, other = (AtariEnv("tetris", repeat_action_probability=stickiness) for _ in range(2))
    env.reset(seed=1)
    state = env.get_state()
    future = [env.step(action) for action in (3, 0, 2, 4) * 5]
    other.reset(seed=2)
    other.step(1)
    for again in (env, other):
        again.set_state(state)
        assert_same([again.step(action) for action in (3, 0, 2, 4) * 5], future)


@pytest.mark.parametrize(
    "damage",
    [
        {"game": "pong"},
        {"emulator": b"xx"},
        {"frame": b"xx"},
        {"emulator": None},
        {"frame": zlib.compress(bytes(2**28), 1)},
        {"held_action": 99},
        {"held_action": -1},
        {"held_strength": 2.0},
    ],
    ids=lambda damage: next(iter(damage)),
)
def test_damaged_states_are_refused(damage):
    env = AtariEnv("breakout")
    env.reset(seed=1)
    state = env.get_state()
    state["fields"].update(damage)
    with pytest.raises(StateError):
        env.set_state(state)


def test_copies_are_new_emulators():
    env = pickle.loads(pickle.dumps(AtariEnv("pong", obs_type="ram", frameskip=2)))
    assert env.reset(seed=2)[0].shape == (128,)
    assert env.step(0)[4]["frame_number"] == 2


def test_restoring_the_emulators_own_state_keeps_the_held_action():
    env = AtariEnv("pong", repeat_action_probability=0.9, frameskip=1)
    env.action_space.seed(2)
    env.reset(seed=3)
    play(env, 10)
    before = env.clone_state(include_rng=True)
    play(env, 10)
    env.restore_state(before)
    state = env.get_state()
    events = play(env, 30)
    other = AtariEnv("pong", repeat_action_probability=0.9, frameskip=1)
    other.set_state(state)
    assert_replays(other, events)


def test_ids():
    ids = {spec.id for spec in SPECS}
    assert len(ids) == len(SPECS) == 848
    assert all(spec.description and spec.tags and spec.family == "atari" for spec in SPECS)


def test_specs_are_those_that_the_constructor_builds():
    for spec in SPECS:
        fields = {f.name: getattr(spec, f.name) for f in dataclasses.fields(spec) if f.init}
        built = EnvSpec(**fields)
        assert spec == built
        assert vars(spec).keys() == vars(built).keys()
    kwargs = [id(spec.kwargs) for spec in SPECS]
    assert len(set(kwargs)) == len(kwargs), "specs may be changed one by one"


@pytest.mark.parametrize(
    ("env_id", "frameskip", "sticky", "observed"),
    [
        ("ALE/TicTacToe3D-v5", 4, 0.25, None),
        ("Pong-v0", (2, 5), 0.25, None),
        ("Pong-v4", (2, 5), 0.0, None),
        ("PongNoFrameskip-v4", 1, 0.0, None),
        ("PongDeterministic-v0", 4, 0.25, None),
        ("SpaceInvadersDeterministic-v4", 3, 0.0, None),
        ("SpaceInvaders-ramDeterministic-v0", 3, 0.25, "ram"),
        ("Pong-ram-v0", (2, 5), 0.25, "ram"),
        ("Pong-ramNoFrameskip-v4", 1, 0.0, "ram"),
    ],
)
def test_names_spell_options(env_id, frameskip, sticky, observed):
    (kwargs,) = (spec.kwargs for spec in SPECS if spec.id == env_id)
    assert kwargs["frameskip"] == frameskip
    assert kwargs["repeat_action_probability"] == sticky
    assert kwargs.get("obs_type") == observed


def test_reading_the_specs_loads_no_emulator():
    script = "import sys, ludus; ludus.spec('ALE/Pong-v5'); sys.exit('ale_py' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode == 0


@pytest.mark.parametrize("env_id", ["Pong-v0", "Pong-ram-v4"])
def test_classic_gym(env_id):
    """Seeded as in classic Gym, the sticky actions repeat themselves, too."""

    def run():
        env = classic.make(env_id)
        assert env.seed(3)[0] == 3
        seen = [env.reset()]
        env.action_space.seed(1)
        for _ in range(30):
            observation, reward, done, info = env.step(env.action_space.sample())
            seen.append((observation, reward, done, info))
        seen.append(env.render(mode="rgb_array"))
        env.close()
        return seen

    assert_same(run(), run())


def test_classic_gym_opens_a_window_when_asked_to(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = classic.make("Pong-v4")
    env.reset()
    assert env.render() is None
    assert env.render(mode="rgb_array").shape == (210, 160, 3)
    env.close()
