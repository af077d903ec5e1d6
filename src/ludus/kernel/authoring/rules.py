"""The rules for the source of kernels.

Each broken rule is reported with its id, the reason (``summary``) and what to write instead
(``hint``). ``DEBUGGING`` lists the rules that apply to compiled code only.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ludus.checking.rule import Rule
from ludus.errors import KernelError

__all__ = ["DEBUGGING", "RULES"]

_PRINT_HINT = (
    "Remove it, or run the kernel as plain Python with LUDUS_JIT=0, where print() and breakpoint() "
    "work."
)
_ARRAY_HINT = "Use a tuple, or an array field of the state or params and change it in place."

# id, why, what to write instead
_TABLE: tuple[tuple[str, str, str], ...] = (
    # Functions
    ("kernel-function", "is not a plain Python function", "Write a module-level `def`."),
    (
        "kernel-closure",
        "uses variables of an enclosing function, which compiled code cannot see",
        "Pass them in params, or make them constants of the module.",
    ),
    (
        "kernel-parameters",
        "has keyword-only parameters or **kwargs, which compiled functions do not have",
        "Write plain parameters; they can have default values and be passed by name.",
    ),
    (
        "kernel-nested-function",
        "defines a function inside a kernel function",
        "Define the helper at module level and call it by name.",
    ),
    (
        "kernel-generator",
        "makes a generator or coroutine; a kernel function returns one value",
        "Write a `for` loop over range() and return the result.",
    ),
    (
        "kernel-recursion",
        "calls itself, directly or through helpers",
        "Write a loop with a bound instead.",
    ),
    (
        "kernel-missing-return",
        "returns nothing on one path, where Python would return None",
        "End every path with a `return`; close an `if` chain with `else`.",
    ),
    (
        "kernel-assignment-expression",
        "assigns with `:=`, which the compiler does not know everywhere",
        "Write the assignment as a statement before this one.",
    ),
    (
        "kernel-return-type",
        "returns something else than its role requires",
        "Return what docs/kernels.md lists for the function, in the declared types.",
    ),
    (
        "kernel-endless-loop",
        "never ends: there is no break, return or raise in `while True`",
        "Loop over range() with a bound, or add a break.",
    ),
    # Names
    ("kernel-undefined-name", "is not defined", "Define or import it at module level."),
    (
        "kernel-unassigned",
        "is not assigned on every path that leads here; compiled code would read a zero",
        "Assign it a value before the `if`.",
    ),
    (
        "kernel-global-state",
        "changes module-level state; compiled code holds constants of the module by value",
        "Keep what changes in the state, and return it in the new State.",
    ),
    (
        "kernel-global-value",
        "is a module-level object that compiled code cannot use",
        "Use numbers, tuples of numbers or NumPy arrays as constants of the module.",
    ),
    (
        "kernel-import",
        "imports a module while the kernel runs",
        "Import at the top of the file.",
    ),
    # Fields
    (
        "kernel-unknown-field",
        "is not a field of the NamedTuple",
        "Use one of its fields, or add the field to the class.",
    ),
    (
        "kernel-fields",
        "does not give each field of the NamedTuple one value",
        "Pass one value per field, in the order of the class or by name.",
    ),
    (
        "kernel-field-assignment",
        "assigns to a field of a NamedTuple, which is constant",
        "Build and return a new State; elements of array fields are assigned with `[...]`.",
    ),
    (
        "kernel-params-changed",
        "changes an array of params, which all environments of a batch share",
        "Keep what changes in an array field of the state.",
    ),
    (
        "kernel-array-replaced",
        "puts another array into an array field; the driver keeps the array it gave",
        "Change the field's array in place (`state.field[...] = ...`) and pass `state.field` on.",
    ),
    # Types
    ("kernel-none", "uses None; compiled numbers have no such value", "Use a number such as -1."),
    (
        "kernel-string",
        "uses a string or bytes",
        "Use an int constant of the module; texts are allowed in `raise` and `assert` only.",
    ),
    ("kernel-dict", "uses a dict", "Use a tuple or an array indexed by an int."),
    ("kernel-set", "uses a set", "Compare with `x in (a, b)`, or use an array of bools."),
    ("kernel-list", "uses a list, which would be allocated at each step", _ARRAY_HINT),
    ("kernel-allocation", "allocates an array at each step", _ARRAY_HINT),
    (
        "kernel-class",
        "is a class; kernels know numbers, arrays and NamedTuples of them",
        "Use a NamedTuple of numbers, a constant or a function of the module.",
    ),
    (
        "kernel-mixed-types",
        "has different types on different paths",
        "Give it one type: 0.0 instead of 0 for a float, False instead of 0 for a bool.",
    ),
    (
        "kernel-large-int",
        "does not fit 64 bits, which is what an int of compiled code has",
        "Use smaller numbers.",
    ),
    # Calls
    ("kernel-print", "writes to the terminal; compiled code cannot call Python", _PRINT_HINT),
    (
        "kernel-debugger",
        "enters a debugger; compiled code cannot call Python",
        _PRINT_HINT,
    ),
    (
        "kernel-try",
        "handles exceptions; compiled code has no handlers",
        "Test the condition before the operation.",
    ),
    (
        "kernel-raise",
        "raises something else than an exception class with constant arguments",
        'Write `raise ValueError("a constant text")`.',
    ),
    ("kernel-delete", "deletes a name, which compiled code cannot", "Leave the name as it is."),
    ("kernel-with", "uses a context manager", "Do this outside the kernel."),
    (
        "kernel-builtin",
        "is a builtin that kernels do not have",
        "Use abs, bool, divmod, enumerate, float, int, len, max, min, pow, range, round or zip.",
    ),
    (
        "kernel-math",
        "is a function whose last bits differ from machine to machine",
        "Use ludus.kernel.math.",
    ),
    (
        "kernel-float-power",
        "raises a float to a power, whose last bits differ between Python and compiled code",
        "Write multiplications (x * x), sqrt(x), or exp(y * log(x)) from ludus.kernel.math.",
    ),
    (
        "kernel-round-digits",
        "rounds to digits, which compiled code does in another way than Python",
        "Write round(x * 100.0) / 100.0, or round outside the kernel.",
    ),
    (
        "kernel-reduction",
        "adds up floats in an order that differs between Python and compiled code",
        "Write a loop: total = 0.0, then total += x for each element.",
    ),
    (
        "kernel-random",
        "draws random numbers outside the environment's stream; no seed would repeat them",
        "Use uniform, random or integers of ludus.kernel.random with the parameter rng.",
    ),
    (
        "kernel-rng-method",
        "calls a method of rng, which is a row of numbers in compiled code",
        "Write uniform(rng, low, high), random(rng) or integers(rng, low, high).",
    ),
    (
        "kernel-clock",
        "reads the clock; a step must depend on state, action and rng only",
        "Count steps in the state.",
    ),
    (
        "kernel-io",
        "uses files, the network or the system",
        "Read before the environment is built and pass numbers in params.",
    ),
    (
        "kernel-foreign-call",
        "calls a function that is not written in Python, so it cannot be compiled",
        "Write a helper function, or use ludus.kernel.math.",
    ),
    (
        "kernel-dotted-helper",
        "calls a helper through its module; only functions called by name are compiled",
        "Write `from module import function`, and call the function by name.",
    ),
    (
        "kernel-call",
        "does not fit the parameters of the function",
        "Pass one value per parameter.",
    ),
    # What only the compiler can tell
    (
        "kernel-types",
        "cannot be compiled",
        "Kernels use numbers, tuples, arrays of params and state, loops and helper functions.",
    ),
    (
        "kernel-interpreter",
        "needs the Python interpreter, which compiled code must not call",
        "Remove what is not a number, a tuple or an array.",
    ),
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {name: Rule(name, "error", why, hint, raises=KernelError) for name, why, hint in _TABLE}
)
"""Every rule by its id."""

DEBUGGING = frozenset({"kernel-print", "kernel-debugger"})
"""The rules that apply to compiled code only; plain Python may print and use a debugger."""
