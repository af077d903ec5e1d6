from __future__ import annotations

from typing import Any

import pytest

from ludus.wrappers import RenderCollection
from tests.wrappers.script_env import ScriptEnv


@pytest.mark.parametrize(
    ("pop", "clean", "expected"),
    [
        (True, True, (["<0>", "<1>"], [], ["<0>"])),
        (False, True, (["<0>", "<1>"], ["<0>", "<1>"], ["<0>"])),
        (False, False, (["<0>", "<1>"], ["<0>", "<1>"], ["<0>", "<1>", "<0>"])),
    ],
)
def test_frames_since_the_last_render(pop: bool, clean: bool, expected: Any) -> None:
    env = RenderCollection(ScriptEnv(render_mode="ansi"), pop_frames=pop, reset_clean=clean)
    env.reset()
    env.step(0)
    assert list(env.render()) == expected[0]
    assert list(env.render()) == expected[1]
    env.reset()
    assert list(env.render()) == expected[2]


def test_mode_and_metadata_change_outside_only() -> None:
    inner = ScriptEnv(render_mode="ansi")
    env = RenderCollection(inner)
    assert env.render_mode == "ansi_list"
    assert env.metadata["render_modes"] == [*inner.metadata["render_modes"], "ansi_list"]
    assert "ansi_list" not in inner.metadata["render_modes"]


@pytest.mark.parametrize("mode", [None, "rgb_array_list"])
def test_bad_mode(mode: str | None) -> None:
    with pytest.raises(ValueError, match=r"env\.render_mode"):
        RenderCollection(ScriptEnv(render_mode=mode))
