"""The tapes of an algorithmic task as text."""

from __future__ import annotations

from collections.abc import Sequence

from ludus.core.colorize import colorize
from ludus.envs.algorithmic.tape import Params, State

__all__ = ["draw"]

MOVES = ("left", "right", "up", "down")
MARGIN = "  "
INDENT = 22
ACTION_INDENT = 30


def draw(params: Params, state: State, action: Sequence[int] | None, symbols: Sequence[str]) -> str:
    """Return input, output, target and the last step; ``action`` is ``None`` before any step."""
    title = f"Total length of input instance: {state.width}, step: {state.steps}"
    target = [symbols[state.target[i]] for i in range(state.target_length)]
    lines = [
        title,
        "=" * len(title),
        *_input(params, state, symbols),
        _label("Output Tape") + MARGIN + _output(state, action, target, symbols),
        _label("Targets") + MARGIN + "".join(target) + MARGIN,
        "",
    ]
    if action is None:
        return "\n".join(lines) + "\n" * 6
    move, write, symbol = action
    indent = " " * ACTION_INDENT
    lines += [
        f"{_label('Current reward')}  {state.reward:.3f}",
        f"{_label('Cumulative reward')}  {state.total:.3f}",
        f"{_label('Action')}  Tuple(move over input: {MOVES[move]},",
        f"{indent}write to the output tape: {write == 1},",
        f"{indent}prediction: {symbols[symbol]})",
    ]
    return "\n".join(lines) + "\n"


def _label(name: str) -> str:
    return f"{name:<{INDENT - 2}}: "


def _input(params: Params, state: State, symbols: Sequence[str]) -> list[str]:
    rows = range(1) if params.moves == 2 else range(-1, params.rows + 1)
    label = _label("Observation Tape" if params.moves == 2 else "Observation Grid")
    lines = []
    for y in rows:
        cells = [label if y == rows[0] else " " * INDENT]
        for x in range(-2, state.width + 2):
            inside = 0 <= x < state.width and 0 <= y < params.rows
            cell = symbols[state.data[x, y]] if inside else " "
            head = (x, y) == (state.x, state.y)
            cells.append(colorize(cell, "green", highlight=True) if head else cell)
        lines.append("".join(cells))
    return lines


def _output(
    state: State, action: Sequence[int] | None, target: Sequence[str], symbols: Sequence[str]
) -> str:
    if action is None or action[1] != 1:
        return "".join(target[: state.written])
    newest = symbols[action[2]]
    right = target[state.written - 1 : state.written] == [newest]
    mark = colorize(newest, "green" if right else "red", highlight=True)
    return "".join(target[: state.written - 1]) + mark
