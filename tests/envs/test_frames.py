"""Frames of every environment that draws with pygame: exact, owned by the caller, in any order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import gymnasium
import numpy as np
import pytest

import ludus
from ludus.envs.screen import Screen, pixels_of
from ludus.registration.entry_point import load_env_creator

pygame = pytest.importorskip("pygame")

FAMILIES = ("classic_control", "toy_text", "grid", "box2d", "board")


def draws(spec):
    creator = load_env_creator(spec.entry_point)
    return "rgb_array" in getattr(creator, "metadata", {}).get("render_modes", ())


DRAWN = [spec.id for spec in ludus.registry.values() if spec.family in FAMILIES and draws(spec)]
SHARED = [env_id for env_id in DRAWN if env_id in gymnasium.registry]
SOME = ["CartPole-v1", "Taxi-v3", "Blackjack-v1", "LunarLander-v3", "CarRacing-v3"]


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def frames_of(env_id, count=6, every=1):
    env = ludus.make(env_id, render_mode="rgb_array")
    env.reset(seed=3)
    env.action_space.seed(5)
    frames = [env.render()]
    for turn in range(count * every):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if turn % every == every - 1:
            frames.append(env.render())
        if terminated or truncated:
            env.reset()
    env.close()
    return frames


def test_there_are_environments_to_look_at():
    assert {"CartPole-v1", "Taxi-v4", "LunarLander-v3", "MinAtar/Breakout-v1"} <= set(DRAWN)
    assert {"CartPole-v1", "Blackjack-v1", "FrozenLake-v1", "CarRacing-v3"} <= set(SHARED)


@pytest.mark.parametrize("env_id", DRAWN)
def test_pixels_are_those_of_a_new_surface_of_32_bits(env_id, monkeypatch):
    drawn = frames_of(env_id)

    def canvas(self):
        surface = pygame.Surface(self._size, 0, 32)
        surface.fill((255, 255, 255))
        return surface

    monkeypatch.setattr(Screen, "canvas", canvas)
    for frame, expected in zip(drawn, frames_of(env_id), strict=True):
        np.testing.assert_array_equal(frame, expected)


@pytest.mark.parametrize("env_id", DRAWN)
def test_a_frame_belongs_to_whom_it_was_given(env_id):
    env = ludus.make(env_id, render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    kept = first.copy()
    assert first.dtype == np.uint8
    assert first.flags.c_contiguous
    assert first.flags.writeable
    env.step(env.action_space.sample())
    second = env.render()
    assert not np.shares_memory(first, second)
    np.testing.assert_array_equal(first, kept)
    second[...] = 77
    third = env.render()
    assert (third != 77).any()
    np.testing.assert_array_equal(third, env.render())
    env.close()


@pytest.mark.parametrize("env_id", SHARED)
def test_layout_is_gymnasiums(env_id):
    if env_id.startswith(("phys2d/", "tabular/")):
        pytest.importorskip("flax")
    frames = []
    for library in (ludus, gymnasium):
        with library.make(env_id, render_mode="rgb_array") as env:
            env.reset(seed=0)
            frames.append(env.render())
    ours, theirs = frames
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    # Gymnasium cuts BipedalWalker's frame out of a wider one.
    if theirs.flags.c_contiguous:
        assert ours.strides == theirs.strides


def test_pixels_of_any_surface():
    for depth in (24, 32):
        surface = pygame.Surface((7, 5), 0, depth)
        surface.fill((10, 20, 30))
        surface.set_at((6, 1), (200, 100, 50))
        pixels = pixels_of(surface)
        assert pixels.shape == (5, 7, 3)
        assert pixels[1, 6].tolist() == [200, 100, 50]
        assert pixels[4, 0].tolist() == [10, 20, 30]


@pytest.mark.parametrize("env_id", SOME)
def test_drawing_survives_the_end_of_pygame(env_id):
    env = ludus.make(env_id, render_mode="rgb_array")
    env.reset(seed=0)
    frame = env.render()
    pygame.quit()
    np.testing.assert_array_equal(env.render(), frame)
    env.close()
    np.testing.assert_array_equal(env.render(), frame)
    env.close()


def test_threads_draw_at_a_time():
    expected = {env_id: frames_of(env_id) for env_id in SOME}
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(frames_of, SOME * 3))
    for env_id, frames in zip(SOME * 3, drawn, strict=True):
        np.testing.assert_array_equal(frames, expected[env_id])


@pytest.mark.parametrize("env_id", ["CartPole-v1", "FrozenLake-v1", "CarRacing-v3"])
def test_workers_draw(env_id):
    seen = []
    for mode in ("sync", "async"):
        envs = ludus.make_vec(env_id, num_envs=2, vectorization_mode=mode, render_mode="rgb_array")
        envs.reset(seed=1)
        envs.step(np.stack([envs.single_action_space.sample() * 0] * 2))
        seen.append(np.array(envs.render()))
        envs.close()
    np.testing.assert_array_equal(*seen)


def test_two_windows_and_one_that_was_closed():
    one = ludus.make("CartPole-v1", render_mode="human")
    other = ludus.make("LunarLander-v3", render_mode="human")
    for env in (one, other, one, other):
        env.reset(seed=0)
        env.step(0)
    one.close()
    other.step(0)
    pygame.quit()
    other.step(0)
    other.close()
    one.reset(seed=0)
    one.step(0)
    assert pygame.display.get_surface() is not None
    one.close()


def test_the_flames_are_where_gymnasium_draws_its_particles():
    ours = ludus.make("LunarLander-v3", render_mode="rgb_array")
    theirs = gymnasium.make("LunarLander-v3", render_mode="rgb_array")
    for env in (ours, theirs):
        env.reset(seed=4)
    sky, found = np.array([18, 18, 30]), 0
    for turn in range(60):
        action = 0 if turn < 30 else (2, 1, 3)[turn // 5 % 3]
        for env in (ours, theirs):
            env.step(action)
        frame, _ = ours.render(), theirs.render()
        # Gymnasium's particles lose 0.15 of their life with each picture.
        for particle in (p for p in theirs.unwrapped.particles if p.ttl > 0.15):
            x, y = (round(place * 30) for place in particle.position)
            if 5 < x < 595 and 5 < 400 - y < 395:
                found += 1
                near = frame[400 - y - 4 : 400 - y + 4, x - 4 : x + 4]
                assert (near != sky).any(), (turn, x, y)
    assert found > 50
    ours.close()
    theirs.close()
