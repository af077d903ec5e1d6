"""Wrong kernels: the function that is wrong, the line that the error must show, and a phrase."""

from __future__ import annotations

from typing import NamedTuple


class Wrong(NamedTuple):
    """A mistake.

    ``line`` is the text of the source line that the error must name, ``phrase`` a part of the
    sentence. ``found`` says by what the mistake is found: ``source`` before anything runs,
    ``values`` in what the functions return (plain) or in its type (compiled), ``types`` by the
    compiler only.
    """

    id: str
    rule: str
    line: str
    phrase: str
    parts: dict[str, str]
    found: str = "source"


def step(*lines: str, prelude: str = "") -> dict[str, str]:
    """Return a transition with these lines."""
    head = "def transition(params, state, action, rng):\n"
    return {"transition": head + "\n".join(f"    {line}" for line in lines), "prelude": prelude}


OK = "return State(state.x, state.steps, False)"


def row(id, rule, line, phrase, *more, prelude="", found="source"):
    """Return a row whose transition has the wrong line, others around it and a right return."""
    lines = more or (line, OK)
    return Wrong(id, f"kernel-{rule}", line, phrase, step(*lines, prelude=prelude), found)


WRONG = [
    # Output, system, time, chance
    row("print", "print", "print(state.x)", "LUDUS_JIT=0"),
    row(
        "print-in-helper",
        "print",
        "print(x)",
        "in helper",
        "helper(state.x)",
        OK,
        prelude="def helper(x):\n    print(x)",
    ),
    row("breakpoint", "debugger", "breakpoint()", "debugger"),
    row("open", "io", 'f = open("log.txt")', "files"),
    row("clock", "clock", "t = time.time()", "reads the clock"),
    row("python-random", "random", "x = random.random()", "ludus.kernel.random"),
    row("numpy-random", "random", "x = np.random.rand()", "ludus.kernel.random"),
    row(
        "generator", "random", "x = RNG.random()", "seed", prelude="RNG = np.random.default_rng(0)"
    ),
    row("rng-method", "rng-method", "x = rng.uniform(0.0, 1.0)", "uniform(rng, low, high)"),
    # Mathematics that is not the same everywhere
    row("math-sin", "math", "x = math.sin(state.x)", "from ludus.kernel.math import sin"),
    row("numpy-sin", "math", "x = np.sin(state.x)", "from ludus.kernel.math import sin"),
    row(
        "imported-cos",
        "math",
        "x = cos(state.x)",
        "from ludus.kernel.math import cos",
        prelude="from math import cos",
    ),
    row("hypot", "math", "x = math.hypot(state.x, 1.0)", "sqrt(x * x + y * y)"),
    row("root-by-power", "float-power", "x = state.x ** 0.5", "sqrt(x)"),
    row("clip", "allocation", "x = np.clip(state.x, -1.0, 1.0)", "min(max(x, low), high)"),
    row("where", "allocation", "x = np.where(state.won, 1.0, 0.0)", "a if condition else b"),
    row(
        "bool-to-float",
        "types",
        "x = float(state.x > 1.0)",
        "1.0 if condition else 0.0",
        found="types",
    ),
    row(
        "largest-of-a-tuple",
        "types",
        "k = np.argmax((state.x, 1.0))",
        "to a function that needs an array",
        found="types",
    ),
    row(
        "action-as-array",
        "types",
        "x = state.x + action[0]",
        "one number, of type int",
        found="types",
    ),
    row(
        "assignment-expression",
        "assignment-expression",
        "if (y := state.x + 1.0) > 3.0:",
        "Write the assignment as a statement",
        "if (y := state.x + 1.0) > 3.0:",
        "    return State(y, state.steps, True)",
        OK,
    ),
    row("round-digits", "round-digits", "x = round(state.x, 2)", "rounds to digits"),
    row(
        "float-power",
        "float-power",
        "return State(state.x ** 3, state.steps, False)",
        "x * x",
        "return State(state.x ** 3, state.steps, False)",
        found="types",
    ),
    # Types that compiled code has not
    row("string", "string", 'mode = "fast"', "'fast'"),
    row("f-string", "string", 'label = f"{state.x}"', "f-string"),
    row("dict", "dict", "table = {0: 1.0, 1: 2.0}", "a dict"),
    row("global-dict", "dict", "x = TABLE[action]", "a dict", prelude="TABLE = {0: 1.0}"),
    row("set", "set", "seen = {1, 2}", "a set"),
    row("mixed-list", "list", "values = [1, 2.0, (3, 4)]", "Use a tuple"),
    row(
        "global-list",
        "list",
        "x = MOVES[action]",
        "Make the constant a tuple",
        prelude="MOVES = [1, 2, 3]",
    ),
    row("comprehension", "list", "xs = [k for k in range(3)]", "allocated"),
    row("new-array", "allocation", "a = np.zeros(3)", "allocates"),
    row("object", "class", "p = Thing()", "NamedTuple", prelude="class Thing:\n    pass"),
    row("class-inside", "class", "class Inner: pass", "class"),
    row("none", "none", "best = None", "None"),
    row("large-int", "large-int", "mask = 0x1_0000_0000_0000_0000", "64 bits"),
    # Statements
    row(
        "try",
        "try",
        "try:",
        "handles exceptions",
        "try:",
        "    x = 1 / action",
        "except ZeroDivisionError:",
        "    x = 0.0",
        OK,
    ),
    row(
        "with",
        "with",
        "with np.errstate(all='ignore'):",
        "context manager",
        "with np.errstate(all='ignore'):",
        f"    {OK}",
    ),
    row("delete", "delete", "del x", "deletes a name", "x = 1.0", "del x", OK),
    row("infinity", "string", 'x = float("inf")', "math.inf"),
    row(
        "keyword-only",
        "parameters",
        "def helper(x, *, y=1.0):",
        "keyword-only",
        "helper(1.0)",
        OK,
        prelude="def helper(x, *, y=1.0):\n    return x + y",
    ),
    row(
        "class-attribute",
        "class",
        "x = Thing.size",
        "constant",
        prelude="class Thing:\n    size = 1.0",
    ),
    row(
        "matrix-product",
        "reduction",
        "x = np.dot(TABLE, TABLE)",
        "Write a loop",
        prelude="TABLE = np.zeros(3)",
    ),
    row("import", "import", "import os", "top of the file"),
    row(
        "global",
        "global-state",
        "global COUNT",
        "module-level state",
        "global COUNT",
        "COUNT += 1",
        OK,
        prelude="COUNT = 0",
    ),
    row(
        "global-array",
        "global-state",
        "BOARD[0] = 1",
        "module-level state",
        prelude="BOARD = np.zeros(3)",
    ),
    row("yield", "generator", "yield state.x", "generator", "yield state.x", OK),
    row("generator-expression", "generator", "x = max(k for k in (1, 2))", "generator"),
    row("lambda-inside", "nested-function", "f = lambda x: x + 1", "module level"),
    row(
        "recursion",
        "recursion",
        "return n * fact(n - 1) if n > 1 else 1",
        "calls itself",
        "return State(state.x, fact(3), False)",
        prelude="def fact(n):\n    return n * fact(n - 1) if n > 1 else 1",
    ),
    row(
        "endless",
        "endless-loop",
        "while True:",
        "never ends",
        "x = 0",
        "while True:",
        "    x += 1",
        OK,
    ),
    row(
        "raise-computed",
        "raise",
        "raise ValueError(state.x)",
        "constant",
        "if state.x > 1.0:",
        "    raise ValueError(state.x)",
        OK,
    ),
    # Names
    row("undefined", "undefined-name", "x = stat.x", "stat is not defined"),
    row("misspelt-global", "undefined-name", "x = LIMMIT", "Did you mean LIMIT?"),
    row("missing-attribute", "undefined-name", "x = np.sine(state.x)", "np.sine is not defined"),
    row(
        "unassigned",
        "unassigned",
        "return State(y, state.steps, False)",
        "not assigned on every",
        "if action == 1:",
        "    y = 1.0",
        "return State(y, state.steps, False)",
    ),
    row(
        "dotted-helper",
        "dotted-helper",
        "x = own.sin(state.x)",
        "Write `from ludus.kernel.math import",
        prelude="from ludus.kernel import math as own",
    ),
    row(
        "builtin",
        "builtin",
        "x = sorted_by(state)",
        "is a builtin",
        prelude="sorted_by = isinstance",
    ),
    row("unknown-field", "unknown-field", "x = state.speed", "which has x, steps, won"),
    row("assigned-field", "field-assignment", "state.x = 1.0", "Build and return a new State"),
    row(
        "replace",
        "unknown-field",
        "return state._replace(x=1.0)",
        "State(...)",
        "return state._replace(x=1.0)",
    ),
    # What is returned
    row(
        "missing-return",
        "missing-return",
        "if action == 1:",
        "returns nothing on one path",
        "if action == 1:",
        f"    {OK}",
    ),
    row(
        "bare-return",
        "missing-return",
        "return",
        "returns nothing on one path",
        "if action == 1:",
        "    return",
        OK,
    ),
    Wrong(
        "no-return",
        "kernel-missing-return",
        "def reward(params, state, action, next_state):",
        "reward returns nothing",
        {"reward": "def reward(params, state, action, next_state):\n    x = 1.0"},
    ),
    row(
        "tuple-for-state",
        "return-type",
        "return state.x, state.steps, False",
        "a tuple instead of State",
        "return state.x, state.steps, False",
    ),
    row(
        "other-class",
        "return-type",
        "return Other(state.x)",
        "returns Other instead of State",
        "return Other(state.x)",
    ),
    row(
        "too-few-fields",
        "fields",
        "return State(state.x, 1)",
        "missing a required argument: 'won'",
        "return State(state.x, 1)",
    ),
    row(
        "too-many-fields",
        "fields",
        "return State(state.x, 1, False, 2)",
        "too many positional",
        "return State(state.x, 1, False, 2)",
    ),
    row(
        "float-for-int",
        "return-type",
        "return State(state.x, 1.5, False)",
        "declared int",
        "return State(state.x, 1.5, False)",
    ),
    row(
        "helper-arguments",
        "call",
        "x = helper(1.0, 2.0)",
        "too many positional arguments",
        prelude="def helper(x):\n    return x",
    ),
    Wrong(
        "short-observation",
        "kernel-return-type",
        "return (state.x,)",
        "the observation space has 2",
        {"observation": "def observation(params, state):\n    return (state.x,)"},
    ),
    Wrong(
        "long-observation",
        "kernel-return-type",
        "return state.x, 1.0, 2.0",
        "the observation space has 2",
        {"observation": "def observation(params, state):\n    return state.x, 1.0, 2.0"},
    ),
    Wrong(
        "tuple-reward",
        "kernel-return-type",
        "return 1.0, 2.0",
        "instead of one number",
        {"reward": "def reward(params, state, action, next_state):\n    return 1.0, 2.0"},
    ),
    # Found in values by plain Python, in types by the compiler
    row(
        "computed-float-for-int",
        "return-type",
        "return State(state.x, n, False)",
        "State with a float in the field steps, which is declared int",
        "n = state.steps + 0.5 * action",
        "return State(state.x, n, False)",
        found="values",
    ),
    row(
        "tuple-from-helper",
        "return-type",
        "return pair(state.x)",
        "a tuple of 2 values instead of State",
        "return pair(state.x)",
        prelude="def pair(x):\n    return x, 1",
        found="values",
    ),
    Wrong(
        "float-terminal",
        "kernel-return-type",
        "return state.x - params.goal",
        "returns a float instead of a bool",
        {"terminal": "def terminal(params, state):\n    return state.x - params.goal"},
        "values",
    ),
    # Found by the compiler only
    row(
        "mixed-variable",
        "mixed-types",
        "return State(x, state.steps, False)",
        "gives x different types on different paths",
        "x = (1.0, 2.0)",
        "if action == 1:",
        "    x = 1.0",
        "return State(x, state.steps, False)",
        found="types",
    ),
    row(
        "mixed-fields",
        "mixed-types",
        "return State(0, 0, False)",
        "returns State(int, int, bool) in line",
        "if action == 1:",
        "    return State(0, 0, False)",
        OK,
        found="types",
    ),
    row("number-and-tuple", "types", "x = state.x + (1.0, 2.0)", "applies + to", found="types"),
    row(
        "field-in-helper",
        "unknown-field",
        "return s.speed",
        "uses the attribute speed",
        "return State(helper(state), 0, False)",
        prelude="def helper(s):\n    return s.speed",
        found="types",
    ),
]
