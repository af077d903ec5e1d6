"""Windows where there is no display. Each case is a process, since SDL asks once for its driver."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import warnings
import ludus

warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    try:
        with ludus.make("CartPole-v1", render_mode="human") as env:
            env.reset(seed=0)
            env.step(0)
    except ludus.errors.Error as problem:
        print("Error", problem)
for warning in caught:
    print("Warning", warning.message)
"""


def told(**variables: str) -> str:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=env | variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_driver_without_its_display_is_an_error():
    said = told(SDL_VIDEODRIVER="x11")
    assert said.startswith("Error Found no display")
    assert "render_mode='rgb_array'" in said


def test_drawing_unseen_is_told():
    said = told()
    if not said:
        pytest.skip("this machine has a screen")
    assert "Found no display" in said
    assert "rgb_array" in said


@pytest.mark.parametrize("driver", ["dummy", "offscreen"])
def test_who_asks_for_no_window_is_not_told(driver):
    assert told(SDL_VIDEODRIVER=driver) == ""
