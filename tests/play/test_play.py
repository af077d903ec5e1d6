"""Playing for real: SDL's dummy driver draws, posted events press the keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ludus.core import EnvSpec, Wrapper
from ludus.play import MissingKeysToAction, PlayableGame, display_arr, play
from ludus.testing.envs import ImageEnv

pygame = pytest.importorskip("pygame")

KEYS = {"d": 0, "w": 1, "a": 2, ("s", "d"): 3}
A, D, S, W = (ord(key) for key in "adsw")


@pytest.fixture(autouse=True)
def _dummy_display(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame.init()
    pygame.event.clear()
    yield
    pygame.quit()


class Recorded(ImageEnv):
    """Remembers its calls."""

    def __init__(self, render_mode: str | None = "rgb_array") -> None:
        super().__init__(render_mode=render_mode)
        self.actions: list[int] = []
        self.seeds: list[int | None] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.seeds.append(seed)
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        self.actions.append(int(action))
        return super().step(action)


class HasKeys(Recorded):
    def get_keys_to_action(self) -> dict[tuple[int, ...], int]:
        return {(D,): 0, (W,): 1}


def key_down(key: int) -> Any:
    return pygame.event.Event(pygame.KEYDOWN, key=key)


def key_up(key: int) -> Any:
    return pygame.event.Event(pygame.KEYUP, key=key)


class Player:
    """A callback that posts events after given steps, and leaves after the last one."""

    def __init__(self, script: dict[int, list[Any]], last: int) -> None:
        self.script = script
        self.last = last
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *call: Any) -> None:
        self.calls.append(call)
        for event in self.script.get(len(self.calls), ()):
            pygame.event.post(event)
        if len(self.calls) == self.last:
            pygame.event.post(pygame.event.Event(pygame.QUIT))


def test_keys_choose_the_actions() -> None:
    env = Recorded()
    player = Player(
        {
            1: [key_down(W)],
            2: [key_up(W), key_down(A)],
            3: [key_up(A), key_down(S)],
            4: [key_down(D)],
            5: [key_up(S)],
            6: [key_up(D), key_down(ord("x"))],
        },
        last=7,
    )
    play(env, keys_to_action=KEYS, callback=player, seed=5, fps=1000, noop=2)
    # Nothing; w; a; s alone is unknown; s and d together; d; x is unknown.
    assert env.actions == [2, 1, 2, 2, 3, 0, 2]
    assert env.seeds == [5, 5]
    assert not pygame.get_init()


def test_callback_gets_the_transition() -> None:
    env = Recorded()
    player = Player({}, last=2)
    play(env, keys_to_action=KEYS, callback=player, seed=5, fps=1000)
    reference = ImageEnv()
    first, _ = reference.reset(seed=5)
    second, reward, terminated, truncated, info = reference.step(np.int64(0))
    obs_t, obs_tp1, *rest = player.calls[0]
    np.testing.assert_array_equal(obs_t, first)
    np.testing.assert_array_equal(obs_tp1, second)
    assert rest == [0, reward, terminated, truncated, info]
    np.testing.assert_array_equal(player.calls[1][0], second)


def test_a_finished_episode_is_followed_by_the_next() -> None:
    env = Recorded()
    player = Player({1: [key_down(D)]}, last=45)
    play(env, keys_to_action=KEYS, callback=player, seed=5, fps=1000)
    ends = sum(call[4] for call in player.calls)
    assert ends >= 2
    assert env.seeds == [5] * (2 + ends)
    after_end = [player.calls[i + 1][0] for i, call in enumerate(player.calls[:-1]) if call[4]]
    np.testing.assert_array_equal(after_end[0], player.calls[0][0])


def test_escape_leaves() -> None:
    env = Recorded()
    pygame.event.post(key_down(pygame.K_ESCAPE))
    play(env, keys_to_action=KEYS, fps=1000)
    assert env.actions == []


def test_escape_may_be_an_action() -> None:
    env = Recorded()
    pygame.event.post(key_down(pygame.K_ESCAPE))
    play(env, keys_to_action={pygame.K_ESCAPE: 3}, callback=Player({}, last=2), fps=1000)
    assert env.actions == [3, 3]


def test_waiting_for_the_player(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Recorded()
    frames = 0

    def flip() -> None:
        nonlocal frames
        frames += 1
        if frames == 5:
            pygame.event.post(key_down(W))

    monkeypatch.setattr(pygame.display, "flip", flip)
    play(env, keys_to_action=KEYS, callback=Player({}, last=1), wait_on_player=True, fps=1000)
    assert env.actions == [1]
    assert frames > 5


def test_the_window_shows_the_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(
        pygame.display,
        "flip",
        lambda: shown.append(pygame.surfarray.array3d(pygame.display.get_surface())),
    )
    env = Recorded()
    play(env, keys_to_action=KEYS, callback=Player({}, last=1), seed=5, fps=1000, zoom=2)
    reference = ImageEnv()
    picture, _ = reference.reset(seed=5)
    expected = picture.swapaxes(0, 1).repeat(2, axis=0).repeat(2, axis=1)
    np.testing.assert_array_equal(shown[0], expected)


def test_the_environments_own_keys_are_found_through_wrappers() -> None:
    env = HasKeys()
    play(Wrapper(env), callback=Player({1: [key_down(W)]}, last=2), fps=1000)
    assert env.actions == [0, 1]


def test_lists_of_frames_show_the_last() -> None:
    class Listed(Recorded):
        def render(self) -> Any:
            return [np.zeros((2, 2, 3), np.uint8), self._picture()]

    env = Listed()
    env.render_mode = "rgb_array_list"
    play(env, keys_to_action=KEYS, callback=Player({}, last=1), fps=1000)
    assert env.actions == [0]


def test_display_is_closed_if_the_callback_raises() -> None:
    def fail(*call: Any) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        play(Recorded(), keys_to_action=KEYS, callback=fail, fps=1000)
    assert not pygame.get_init()


@pytest.mark.parametrize(
    ("keys", "problem", "words"),
    [
        ([("a", 1)], TypeError, "must be a dictionary"),
        ({1.5: 1}, TypeError, "must be integers or strings"),
        ({(1.5,): 1}, TypeError, "must be integers or strings"),
        ({("ab",): 1}, TypeError, "single characters"),
        ({(): 1}, ValueError, "cannot be empty"),
        ({"a": 9}, ValueError, "not a valid action"),
    ],
)
def test_bad_mappings(keys: Any, problem: type[Exception], words: str) -> None:
    with pytest.raises(problem, match=words):
        play(Recorded(), keys_to_action=keys)


def test_a_mapping_is_needed() -> None:
    with pytest.raises(ValueError, match=r"must have an `env\.spec`"):
        play(Recorded())
    env = Recorded()
    env.spec = EnvSpec("Image-v0")
    with pytest.raises(MissingKeysToAction, match="Image-v0 does not have explicit key to action"):
        play(env)
    env.reset()
    with pytest.raises(MissingKeysToAction, match="Recorded instance"):
        PlayableGame(_reset(Recorded()))


def _reset(env: Any) -> Any:
    env.reset(seed=1)
    return env


def test_the_frame_rate_must_be_an_integer() -> None:
    env = Recorded()
    env.metadata = {"render_modes": ["rgb_array"], "render_fps": 2.5}
    with pytest.raises(TypeError, match="to be an integer"):
        play(env, keys_to_action=KEYS)


@pytest.mark.parametrize("mode", ["human", "ansi", None])
def test_other_render_modes_are_refused(mode: str | None) -> None:
    env = _reset(Recorded())
    env.render_mode = mode
    with pytest.raises(ValueError, match="rgb_array and rgb_array_list"):
        PlayableGame(env, {})


def test_frames_must_be_arrays() -> None:
    env = _reset(type("NoFrame", (Recorded,), {"render": lambda self: None})())
    with pytest.raises(TypeError, match="expected an array"):
        PlayableGame(env, {})


def test_game_attributes_and_zoom() -> None:
    game = PlayableGame(_reset(HasKeys()), zoom=1.5)
    assert game.relevant_keys == {D, W}
    assert game.video_size == game.original_video_size == (30, 24)
    assert game.screen.get_size() == (30, 24)
    assert game.running
    for zoom in (0, -1.0):
        with pytest.raises(ValueError, match="positive"):
            PlayableGame(_reset(HasKeys()), zoom=zoom)
    with pytest.raises(TypeError, match="dictionary"):
        PlayableGame(_reset(HasKeys()), [1])  # type: ignore[arg-type]


def test_events() -> None:
    game = PlayableGame(_reset(HasKeys()))
    game.process_event(key_down(W))
    game.process_event(key_down(S))
    assert game.pressed_keys == {W}
    game.process_event(key_up(W))
    game.process_event(key_up(W))
    game.process_event(key_up(S))
    assert game.pressed_keys == set()
    for size, expected in (((40, 100), (40, 32)), ((200, 16), (20, 16)), ((20, 16), (20, 16))):
        game.process_event(pygame.event.Event(pygame.WINDOWRESIZED, x=size[0], y=size[1]))
        assert game.video_size == expected
    game.process_event(pygame.event.Event(pygame.MOUSEMOTION, pos=(0, 0), rel=(0, 0), buttons=()))
    assert game.running
    game.process_event(pygame.event.Event(pygame.QUIT))
    assert not game.running


def test_display_arr_centres_and_transposes() -> None:
    picture = np.full((2, 4, 3), 200, np.uint8)
    screen = pygame.display.set_mode((6, 6))
    display_arr(screen, picture, (4, 2), True)
    pixels = pygame.surfarray.array3d(screen)
    assert (pixels[1:5, 2:4] == 200).all()
    assert pixels.sum() == picture.sum()
    display_arr(screen, picture, (2, 4), False)
    assert (pygame.surfarray.array3d(screen)[2:4, 1:5] == 200).all()
    for bad in ([[0]], picture.astype(float)):
        with pytest.raises(TypeError, match="uint8"):
            display_arr(screen, bad, (2, 4), True)  # type: ignore[arg-type]
