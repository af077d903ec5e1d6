"""The text of an algorithmic task, character by character."""

from __future__ import annotations

import numpy as np
import pytest

from ludus.envs.algorithmic import CopyEnv, ReversedAdditionEnv
from tests.envs.algorithmic.play import target

GREEN, RED, END = "\x1b[42m", "\x1b[41m", "\x1b[0m"


def tape(symbols, **kwargs):
    """Return a Copy environment with the given input."""
    env = CopyEnv(render_mode="ansi", **kwargs)
    env.reset(seed=0)
    n = len(symbols)
    state = env.state
    state.data[:n, 0] = state.target[:n] = symbols
    env.state = state._replace(width=n, target_length=n, limit=2 * n + 4)
    return env


def test_before_any_step():
    assert tape([0, 2, 4]).render() == (
        "Total length of input instance: 3, step: 0\n"
        "==========================================\n"
        f"Observation Tape    :   {GREEN}A{END}CE  \n"
        "Output Tape         :   \n"
        "Targets             :   ACE  \n"
        "\n"
        "\n\n\n\n\n"
    )


def test_after_right_and_wrong_symbols():
    env = tape([0, 2, 4])
    env.step((1, 1, 0))
    assert env.render() == (
        "Total length of input instance: 3, step: 1\n"
        "==========================================\n"
        f"Observation Tape    :   A{GREEN}C{END}E  \n"
        f"Output Tape         :   {GREEN}A{END}\n"
        "Targets             :   ACE  \n"
        "\n"
        "Current reward      :   1.000\n"
        "Cumulative reward   :   1.000\n"
        "Action              :   Tuple(move over input: right,\n"
        "                              write to the output tape: True,\n"
        "                              prediction: A)\n"
    )
    env.step((0, 0, 3))
    lines = env.render().splitlines()
    assert lines[3] == "Output Tape         :   A"
    assert lines[6:9] == [
        "Current reward      :   0.000",
        "Cumulative reward   :   1.000",
        "Action              :   Tuple(move over input: left,",
    ]
    assert lines[9].endswith("write to the output tape: False,")
    assert lines[10].endswith("prediction: D)")
    env.step((0, 1, 1))
    lines = env.render().splitlines()
    assert lines[2] == f"Observation Tape    :  {GREEN} {END}ACE  "
    assert lines[3] == f"Output Tape         :   A{RED}B{END}"
    assert lines[6] == "Current reward      :   -0.500"


def test_a_head_far_outside_is_not_drawn():
    env = tape([1])
    for _ in range(2):
        env.step((0, 0, 0))
    assert env.render().splitlines()[2] == f"Observation Tape    : {GREEN} {END} B  "
    env.step((0, 0, 0))
    assert env.render().splitlines()[2] == "Observation Tape    :   B  "


def test_writing_past_the_target_is_red():
    env = tape([1])
    env.step((0, 1, 1))
    with pytest.warns(UserWarning, match="past the end"):
        env.step((0, 1, 1))
    assert env.render().splitlines()[3] == f"Output Tape         :   B{RED}B{END}"


def test_digits_instead_of_letters():
    assert f"{GREEN}0{END}24" in tape([0, 2, 4], chars=False).render()


def test_grid():
    env = ReversedAdditionEnv(render_mode="ansi")
    env.reset(seed=0)
    state = env.state
    state.data[:2] = np.array([[1, 2], [0, 1]])
    env.state = state._replace(width=2)
    env.step((3, 0, 0))
    lines = env.render().splitlines()
    assert lines[2:6] == [
        "Observation Grid    :       ",
        " " * 22 + "  10  ",
        " " * 22 + f"  {GREEN}2{END}1  ",
        " " * 28,
    ]
    assert lines[7] == "Targets             :   " + "".join(map(str, target(env))) + "  "
    env.step((3, 0, 0))
    assert env.render().splitlines()[5] == " " * 22 + f"  {GREEN} {END}   "
    assert "move over input: down," in env.render()


def test_human_writes_to_stdout(capsys):
    env = CopyEnv(render_mode="human")
    env.reset(seed=0)
    first = capsys.readouterr().out
    assert first.startswith("Total length of input instance:")
    env.step((0, 0, 0))
    assert "step: 1\n" in capsys.readouterr().out
    assert env.render() is None


def test_without_a_mode_render_warns():
    env = CopyEnv()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without specifying any render mode"):
        assert env.render() is None


def test_nothing_to_show_before_reset():
    assert CopyEnv(render_mode="ansi").render() is None
