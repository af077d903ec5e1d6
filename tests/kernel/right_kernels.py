"""Unusual but right helpers of kernels: each row is one, with what it returns in one case."""

from __future__ import annotations

import textwrap
from typing import NamedTuple


class Right(NamedTuple):
    """A function ``feature(params, state, action)``, and what it returns for action 2 at first."""

    id: str
    source: str
    first: float


def row(id, first, body, prelude=""):
    name = id.replace("-", "_")
    head = f"def {name}(params, state, action):\n"
    text = textwrap.dedent(prelude) + "\n\n" + head + textwrap.indent(textwrap.dedent(body), "    ")
    return Right(id, text, first)


RIGHT_ROWS = [
    row(
        "nested-helpers",
        9.0,
        "return outer(action) + 1.0",
        "def inner(x):\n    return x * x\n\ndef outer(x):\n    return 2.0 * inner(x)",
    ),
    row(
        "default-parameters",
        7.0,
        "return scaled(action) + scaled(action, 0.5)",
        "def scaled(x, by=3.0):\n    return x * by",
    ),
    row(
        "keyword-arguments",
        5.0,
        "return away(stop=7.0, start=action)",
        "def away(start, stop):\n    return stop - start",
    ),
    row("early-return", 1.0, "if action > 1:\n    return 1.0\nreturn 0.0"),
    row(
        "bounded-while",
        8.0,
        "x = 1\nwhile x < 100:\n    x *= 2\n    if x >= 4 * action:\n        break\nreturn 1.0 * x",
    ),
    row(
        "for-else",
        3.0,
        "for k in range(5):\n    if k == action:\n        break\nelse:\n    k = 9\nreturn k + 1.0",
    ),
    row(
        "nested-loops-continue",
        5.0,
        "total = 0\nfor i in range(3):\n    for j in range(3):\n"
        "        if i == j:\n            continue\n        total += i\nreturn total - 1.0",
    ),
    row(
        "tuple-unpacking",
        12.0,
        "a, (b, c) = action, (3, 4)\na, b = b, a\nreturn 1.0 * (a * c * b) / 2.0",
    ),
    row(
        "augmented-assignment",
        1.0,
        "x = 10\nx -= 1\nx *= action\nx //= 4\nx <<= 2\nx |= 1\nx ^= 16\nx %= 4\nreturn 1.0 * x",
    ),
    row("conditional-expression", 2.0, "return 2.0 if action > 1 else (1.0 if action else 0.0)"),
    row("array-slices", 6.0, "part = params.table[1:4]\nreturn part[0] + part[1] + part[2]"),
    row(
        "module-constants",
        1.25,
        "return WEIGHTS[action] + OFFSETS[1] + SCALE",
        "WEIGHTS = (0.25, 0.5, 0.75)\nOFFSETS = np.array([0.0, 0.25])\nSCALE = 0.25",
    ),
    row(
        "match-statement",
        20.0,
        "match action:\n    case 0:\n        return 0.0\n"
        "    case 1 | 2:\n        return 20.0\n    case _:\n        return 30.0",
    ),
    row("chained-comparison", 1.0, "return 1.0 if 0 < action <= 2 != 3 else 0.0"),
    row(
        "builtins",
        9.5,
        "return float(min(action, 5, 3) + max(1, action) + abs(-action)\n"
        "    + round(2.5) + int(1.9) + bool(action) + len((1, 2))) - 2.5",
    ),
    row(
        "enumerate-zip",
        13.0,
        "total = 0\nfor k, x in enumerate(params.table[:3]):\n"
        "    total += k * x\nfor a, b in zip(WAYS, params.table):\n    total += a * b\n"
        "return 1.0 * total",
        "WAYS = (1, 2, 3)",
    ),
    row("integer-power", 9.0, "return 1.0 * (action ** 3 + pow(action, 0))"),
    row("quotient-and-rest", 21.0, "q, r = divmod(7 * action, 4)\nreturn 10.0 * r + q - 2.0"),
    row("bit-operations", 6.0, "return 1.0 * ((action << 2 | 5) & ~9 ^ 2)"),
    row("boolean-logic", 1.0, "open_ = action > 1 and not state.won or False\nreturn 1.0 * open_"),
    row("in-list-of-constants", 1.0, "return 1.0 if action in [1, 2] and 3 not in (4, 5) else 0.0"),
    row(
        "loop-over-list-of-constants", 6.0, "x = 0\nfor k in [1, 2, 3]:\n    x += k\nreturn 1.0 * x"
    ),
    row(
        "docstring-annotation",
        4.0,
        '"""Has a text."""\nx: "float" = 2.0 * action\n"a text that stands alone"\nreturn x',
    ),
    row(
        "procedure",
        3.0,
        "fill(state.marks, action)\nreturn 1.0 + state.marks[0]",
        "def fill(out, x):\n    if x < 0:\n        return\n    out[0] = x",
    ),
    row(
        "assigned-under-one-condition",
        2.0,
        "if action > 1:\n    y = 2.0\nz = 0.0\nif action > 1:\n    z = y\nreturn z",
    ),
    row("assigned-in-a-loop", 3.0, "for k in range(4):\n    last = 1.0 * k\nreturn last"),
    row(
        "while-true-with-return",
        5.0,
        "x = 0\nwhile True:\n    x += 1\n    if x > 4:\n        return 1.0 * x",
    ),
    row(
        "named-tuples",
        3.0,
        "p = Point(1.0, y=2.0)\nx, y = p\nreturn x + p.y",
        "class Point(NamedTuple):\n    x: float\n    y: float = 0.0",
    ),
    row(
        "enum",
        1.0,
        "return 1.0 if action == Way.LEFT else 0.0",
        "class Way(enum.IntEnum):\n    UP = 0\n    LEFT = 2",
    ),
    row("lambda-helper", 4.0, "return double(action)", "double = lambda x: 2.0 * x"),
    row("numpy-scalars", 2.5, "return np.float64(action) + np.minimum(0.5, 1.0) + np.floor(0.5)"),
    row("exact-math", 4.0, "return math.sqrt(4.0) + math.floor(2.5) + math.copysign(0.0, -1.0)"),
    row(
        "own-math",
        0.0,
        "return sin(0.0) * sqrt(4.0) + floor(0.5)",
        "from ludus.kernel.math import floor",
    ),
    row(
        "raise-not-reached",
        2.0,
        'if action > 5:\n    raise ValueError("far away")\n'
        'assert action < 5, "far away"\nreturn 1.0 * action',
    ),
    row("uneven-index", 5.0, "return 1.0 * params.table[-1]"),
]

MODULE = """
import enum
import math
from typing import Any, NamedTuple

import numpy as np

import ludus
from ludus.kernel import Kernel, KernelEnv
from ludus.kernel.math import sin, sqrt
from ludus.kernel.random import uniform


class Params(NamedTuple):
    table: np.ndarray


class State(NamedTuple):
    x: float
    won: bool
    marks: np.ndarray


{rows}


def initial(params, state, rng):
    for k in range(state.marks.shape[0]):
        state.marks[k] = 0.0
    return State(uniform(rng, 0.0, 1.0), False, state.marks)


def transition(params, state, action, rng):
    {calls}
    return State(state.x + uniform(rng, 0.0, 1.0), state.x > 3.0, state.marks)


def observation(params, state, out):
    for k in range(state.marks.shape[0]):
        out[k] = state.marks[k]


reward = lambda params, state, action, next_state: next_state.x - state.x


def terminal(params, state):
    return state.x > 4.0


def spaces(params):
    return ludus.spaces.Box(-np.inf, np.inf, ({size},), np.float64), ludus.spaces.Discrete(3)


class RightEnv(KernelEnv):
    kernel = Kernel(
        "Right", Params, State, initial, transition, observation, reward, terminal, spaces,
        state_arrays=lambda params: {{"marks": (({size},), np.float64)}},
    )

    def __init__(self):
        super().__init__(Params(np.arange(6)))
"""


def module_text():
    """Return one kernel that calls every row: compiled once instead of once for each."""
    calls = [
        f"state.marks[{k + 1}] = {row.id.replace('-', '_')}(params, state, action)"
        for k, row in enumerate(RIGHT_ROWS)
    ]
    rows = "\n\n".join(row.source for row in RIGHT_ROWS)
    return MODULE.format(rows=rows, calls="\n    ".join(calls), size=len(RIGHT_ROWS) + 1)
