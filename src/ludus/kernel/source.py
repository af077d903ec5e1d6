"""The driver of a kernel, written as source: loops that call its functions over stored rows.

One text serves every execution. Compiled, the loops become native code, and those without random
numbers or arrays vectorise, because every number lies in a row of its own; run as it stands, it is
the plain-Python reference.

``storage.py`` says which rows there are, ``layout.py`` how ``Z`` leads to them. Names in the text:
``F`` float rows, ``I`` int rows, ``U`` random words, ``P`` params and rules, ``A`` actions,
``both`` the observations ``O`` and an episode's last ones ``OF``, ``B`` the flags ``T`` terminated,
``C`` truncated (cut off) and ``D`` waiting for a reset, ``R`` rewards.
"""

from __future__ import annotations

from ludus.kernel.contract import Field, Kernel
from ludus.kernel.layout import Layout

__all__ = ["BAD_ACTION", "FUNCTIONS", "MODES", "OVER", "driver_source"]

BAD_ACTION, OVER = -1, -2
"""What ``step`` returns instead of a count: nothing was stepped."""

MODES = {"next_step": 0, "same_step": 1, "disabled": 2, "by_caller": 3}
"""Who resets a finished environment, and when; ``by_caller`` steps on without a word."""

FUNCTIONS = {"reset": "ii", "check": "iii", "step": "iii", "step_one": "i*", "rollout": "iiiiiiii"}
"""The functions and their arguments: ``i`` a 64-bit int, ``f`` a double, ``*`` an action."""

_PART = "[first:last]"
_KEEP_SUMS = ("last_total[i] = total[i]", "last_elapsed[i] = elapsed[i]")


def driver_source(kernel: Kernel, actions: list[str], rows: int, layout: Layout) -> str:
    """Return the text of the driver.

    Args:
        kernel: The kernel.
        actions: ``"int"`` or ``"float"`` for each number of an action.
        rows: How many numbers an observation has; 0 if it is an array.
        layout: Where the arrays are.

    Names end in ``__TAG__``, to be replaced by something of the kernel's own: compiled code finds
    its functions by name.
    """
    return _Driver(kernel, actions, rows, layout).text()


class _Driver:
    def __init__(self, kernel: Kernel, actions: list[str], rows: int, layout: Layout) -> None:
        self.kernel = kernel
        self.actions = actions
        self.rows = rows
        self.layout = {place.name: place for place in layout}
        self.state = kernel.state_fields
        self.floats = [f.name for f in self.state if f.kind == "float"]
        self.ints = [f.name for f in self.state if f.kind in ("int", "bool")]
        self.info = kernel.info_fields
        self.scalars = sum(field.kind != "array" for field in kernel.param_fields)
        self.lines: list[str] = []

    def define(self, decorator: str, name: str, arguments: str, indent: int = 0) -> None:
        """Begin a function, and find the arrays."""
        self.add(indent, decorator, f"def {name}__TAG__({arguments}):")
        for place in self.layout.values():
            self.add(indent + 1, f"{place.name} = {place.expression}")
        self.add(indent + 1, "n = F.shape[1]")

    def given(self, name: str, sizes: str, like: str) -> str:
        """Return the expression for an array that is passed by itself."""
        return f"_carray(_pointer({name}), ({sizes}), _{self.layout[like].code})"

    def add(self, indent: int, *lines: str) -> None:
        self.lines += ["    " * indent + line for line in lines]

    def text(self) -> str:
        self._reset()
        self._check()
        self._step()
        self._step_one()
        self._rollout()
        self._rollout_policy()
        return "\n".join(self.lines) + "\n"

    # --- pieces -------------------------------------------------------------------------------

    def params(self, source: str = "P") -> str:
        """Return the expression that builds the params from their packed form."""
        parts, index = [], 0
        for field in self.kernel.param_fields:
            if field.kind == "array":
                parts.append(f"p_{field.name}")
                continue
            word = f"{source}[{index}]"
            parts.append(
                {"float": word, "int": f"int({word})", "bool": f"{word} != 0.0"}[field.kind]
            )
            index += 1
        return f"_Params({', '.join(parts)})"

    def bind(self, part: str = "") -> list[str]:
        """Return the lines that name the rows, or the given part of each."""
        floats = [*(f"f_{name}" for name in self.floats), "total", "last_total"]
        # The row of rewards lies between; a rollout has one per step instead.
        infos = [f"x{k}" for k in range(len(self.info))]
        finals = [f"xf{k}" for k in range(len(self.info))]
        ints = [*(f"i_{name}" for name in self.ints), "elapsed", "last_elapsed", "listed"]
        lines = [f"{name} = F[{k}]{part}" for k, name in enumerate(floats)]
        lines += [f"{name} = F[{len(floats) + 1 + k}]{part}" for k, name in enumerate(infos)]
        at = len(floats) + 1 + max(len(infos), 1)
        lines += [f"{name} = F[{at + k}]{part}" for k, name in enumerate(finals)]
        lines += [f"{name} = I[{k}]{part}" for k, name in enumerate(ints)]
        lines += [f"o{k} = O[{k}]{part}" for k in range(self.rows)]
        lines += [f"s_{name} = S_{name}{part}" for name in self.kernel.array_fields]
        return lines if self.rows else [*lines, f"seen_all = O{part}"]

    def load(self, column: str) -> str:
        """Return the expression that builds a state from its rows."""

        def part(field: Field) -> str:
            if field.kind == "array":
                return f"s_{field.name}[{column}]"
            if field.kind == "float":
                return f"f_{field.name}[{column}]"
            word = f"i_{field.name}[{column}]"
            return word if field.kind == "int" else f"{word} != 0"

        return f"_State({', '.join(map(part, self.state))})"

    def store(self, column: str, name: str) -> list[str]:
        """Return the lines that put a state's scalars into their rows."""
        lines = [f"f_{field}[{column}] = {name}.{field}" for field in self.floats]
        kinds = {field.name: field.kind for field in self.state}
        for field in self.ints:
            value = f"{name}.{field}"
            value = value if kinds[field] == "int" else f"1 if {value} else 0"
            lines.append(f"i_{field}[{column}] = {value}")
        return lines

    def show(self, column: str, name: str) -> list[str]:
        """Return the lines that write the observation and info of a state."""
        if self.kernel.writes_observation:
            lines = [f"_observation(p, {name}, seen_all[{column}])"]
        else:
            lines = [f"seen = _observation(p, {name})"]
            one = self.rows == 1 and not self._returns_tuple()
            lines += [
                f"o{k}[{column}] = {'seen' if one else f'seen[{k}]'}" for k in range(self.rows)
            ]
        if self.info:
            lines.append(f"told = _info(p, {name})")
            lines += [f"x{k}[{column}] = told.{f.name}" for k, f in enumerate(self.info)]
        return lines

    def _returns_tuple(self) -> bool:
        returned = self.kernel.observation.__annotations__.get("return", "")
        return returned not in ("int", "float", int, float)

    def begin(self, column: str, words: str) -> list[str]:
        """Return the lines that start an episode."""
        kept = f"{self.load(column)}, " if self.kernel.keeps_state else ""
        return [
            f"s = _initial(p, {kept}_rng(U, {words}))",
            *self.store(column, "s"),
            f"total[{column}] = 0.0",
            f"elapsed[{column}] = 0",
            *self.show(column, "s"),
        ]

    def action(self, column: str) -> str:
        """Return the expression of an action: a number if it is one int, else a tuple."""
        parts = [f"a{k}[{column}]" for k in range(len(self.actions))]
        if self.actions == ["int"]:
            return parts[0]
        return f"({', '.join(parts)},)"

    # --- functions ----------------------------------------------------------------------------

    def _reset(self) -> None:
        self.define("@_main", "reset", "Z, mask")
        self.add(1, f"M = {self.given('mask', 'n,', 'B')}", "O = both[0]")
        self.add(1, f"p = {self.params()}", *self.bind(), "for i in range(n):")
        self.add(2, "if M[i]:")
        self.add(3, *_KEEP_SUMS, *self.begin("i", "i"))
        self.add(3, "B[0, i] = False", "B[1, i] = False", "B[2, i] = False")
        self.add(1, "return 0", "")

    def _check(self) -> None:
        """Look at the actions of all steps before anything is stepped."""
        self.define("@_main", "check", "Z, actions, steps")
        self.add(1, "_use_widest_vectors()")
        sizes = f"steps, {len(self.actions)}, n"
        self.add(1, f"AA = {self.given('actions', sizes, 'A')}", "wrong = 0")
        self._count_wrong(1)
        self.add(1, f"return {BAD_ACTION} if wrong > 0 else 0", "")

    def _count_wrong(self, indent: int) -> None:
        for k, kind in enumerate(self.actions):
            if kind == "int":
                low, high = (f"int(P[{self.scalars + 2 * k + end}])" for end in (0, 1))
                self.add(indent, "for t in range(AA.shape[0]):")
                self.add(indent + 1, f"a = AA[t, {k}]", "for i in range(n):")
                self.add(indent + 2, f"wrong += (a[i] < {low}) | (a[i] > {high})")

    def _step(self) -> None:
        self.define("@_main", "step", "Z, first, last")
        self.add(1, "_use_widest_vectors()")
        if "int" in self.actions:
            self.add(1, "if first == 0 and last == n:")
            one = f"_carray(_pointer(_word(Z, {self.layout['A'].at})), (1, {len(self.actions)}, n)"
            self.add(2, f"AA = {one}, _{self.layout['A'].code})", "wrong = 0")
            self._count_wrong(2)
            self.add(2, "if wrong > 0:", f"    return {BAD_ACTION}")
        self.add(1, f"R, T, C, D = F[{len(self.floats) + 2}], B[0], B[1], B[2]")
        self.add(1, "O, OF = both[0], both[1]")
        self._advance(1)
        self.add(1, "return count", "")

    def _advance(self, indent: int) -> None:
        """Step all, then reset those whose turn it is, over what the step wrote."""

        def add(deeper: int, *lines: str) -> None:
            self.add(indent + deeper, *lines)

        # Rows cut to size and counted from zero: an index that might be negative, and so mean one
        # from the end, keeps a loop from vectorising.
        add(0, f"p = {self.params()}", *self.bind(_PART))
        add(0, *(f"a{k} = A[{k}]{_PART}" for k in range(len(self.actions))))
        names = {"rewards": "R", "ended": "T", "cut": "C", "waiting": "D"}
        add(0, *(f"{row} = {name}{_PART}" for row, name in names.items()))
        rules = self.scalars + 2 * len(self.actions)
        add(0, f"mode = int(P[{rules}])", f"limit = int(P[{rules + 1}])")
        add(0, "number = last - first", "over_now = 0", "for i in range(number):")
        add(1, "over_now += waiting[i]")
        add(0, f"if mode == {MODES['disabled']} and over_now > 0:")
        add(1, f"return {OVER}")
        add(0, "due = 0", f"if mode == {MODES['next_step']}:")
        self._list_due(indent, "waiting[i]")
        add(0, "for i in range(number):")
        if not self.kernel.vectorises:
            add(1, f"if mode == {MODES['next_step']} and waiting[i]:")
            add(2, "continue")
        rng = "_rng(U, first + i)" if self.kernel.transition_draws else "0"
        add(1, f"s = {self.load('i')}", f"a = {self.action('i')}")
        add(1, f"m = _transition(p, s, a, {rng})", "r = _reward(p, s, a, m)")
        add(1, *self.store("i", "m"), *self.show("i", "m"))
        add(1, "rewards[i] = r", "total[i] = total[i] + r")
        add(1, "e = elapsed[i] + 1", "elapsed[i] = e")
        add(1, "ended[i] = _terminal(p, m)", "cut[i] = e >= limit")
        add(0, f"if mode == {MODES['same_step']}:")
        self._list_due(indent, "ended[i] | cut[i]")
        self._reset_due(indent)
        add(0, "count = 0", f"keeps = mode != {MODES['same_step']}")
        add(0, "for i in range(number):")
        add(1, "over = ended[i] | cut[i]", "waiting[i] = over & keeps", "count += over")

    def _list_due(self, indent: int, condition: str) -> None:
        """Collect the indices that fulfil a condition, without a branch for each."""
        self.add(indent + 1, "for i in range(number):")
        self.add(indent + 2, f"due += {condition}")
        self.add(indent + 1, "if due > 0:")
        self.add(indent + 2, "due = 0", "for i in range(number):")
        self.add(indent + 3, "listed[due] = i", f"due += {condition}")
        # Before the next loop steps them once more, for nothing.
        self.add(indent + 2, "for k in range(due):")
        self.add(indent + 3, "i = listed[k]", *_KEEP_SUMS)

    def _reset_due(self, indent: int) -> None:
        finals = [f"xf{k}[i] = x{k}[i]" for k in range(len(self.info))]
        if self.kernel.writes_observation:
            # Number by number: assigning whole arrays would allocate memory on the way.
            axes = range(self.layout["both"].ndim - 2)
            loops = [f"for j{k} in range(O.shape[{k + 1}]):" for k in axes]
            finals += ["    " * k + loop for k, loop in enumerate(loops)]
            index = ", ".join(["first + i", *(f"j{k}" for k in axes)])
            finals.append("    " * len(loops) + f"OF[{index}] = O[{index}]")
        else:
            finals += [f"OF[{k}, first + i] = o{k}[i]" for k in range(self.rows)]
        self.add(indent, "for k in range(due):")
        self.add(indent + 1, "i = listed[k]", f"if mode == {MODES['same_step']}:")
        self.add(indent + 2, *finals)
        self.add(indent + 1, "else:")
        self.add(indent + 2, "rewards[i] = 0.0", "ended[i] = False", "cut[i] = False")
        self.add(indent + 1, *self.begin("i", "first + i"))

    def _step_one(self) -> None:
        given = "".join(f", a{k}" for k in range(len(self.actions)))
        action = "a0" if self.actions == ["int"] else f"({given[2:]},)"
        self.define("@_main", "step_one", f"Z{given}")
        self.add(1, "O = both[0]", f"p = {self.params()}", *self.bind(), f"s = {self.load('0')}")
        draws = "_rng(U, 0)" if self.kernel.transition_draws else "0"
        self.add(1, f"a = {action}", f"m = _transition(p, s, a, {draws})")
        self.add(1, "r = _reward(p, s, a, m)", *self.store("0", "m"), *self.show("0", "m"))
        self.add(1, f"F[{len(self.floats) + 2}, 0] = r", "total[0] = total[0] + r")
        self.add(1, "elapsed[0] = elapsed[0] + 1", "return 1 if _terminal(p, m) else 0", "")

    def _rollout(self) -> None:
        self.define("@_main", "rollout", "Z, actions, seen, rewarded, flags, steps, first, last")
        self.add(1, "_use_widest_vectors()")
        self._name_times(1, f"AA = {self.given('actions', f'steps, {len(self.actions)}, n', 'A')}")
        self.add(1, "for t in range(steps):", "    A = AA[t]")
        self._advance_at_t(2)
        self.add(1, "return 0", "")

    def _name_times(self, indent: int, actions: str) -> None:
        sizes = ["steps", *(f"both.shape[{k}]" for k in range(1, self.layout["both"].ndim))]
        self.add(indent, actions, f"OO = {self.given('seen', ', '.join(sizes), 'both')}")
        self.add(indent, f"RR = {self.given('rewarded', 'steps, n', 'F')}")
        self.add(indent, f"FF = {self.given('flags', '2, steps, n', 'B')}")
        self.add(indent, "D, OF, now = B[2], both[1], both[0]")

    def _advance_at_t(self, indent: int) -> None:
        self.add(indent, "O, R, T, C = OO[t], RR[t], FF[0, t], FF[1, t]")
        self._advance(indent)

    def _rollout_policy(self) -> None:
        self.add(0, "def rollout_policy(policy):")
        names = "Z, weights, V, actions, seen, rewarded, flags, steps, first, last"
        self.define("@_jit", "run", names, 1)
        self.add(2, "_use_widest_vectors()")
        self._name_times(2, f"AA = {self.given('actions', f'steps, {len(self.actions)}, n', 'A')}")
        self.add(2, "for t in range(steps):")
        self.add(3, "before = now if t == 0 else OO[t - 1]", "A = AA[t]")
        self.add(3, "for i in range(first, last):")
        if self.kernel.writes_observation:
            view = "before[i]"
        else:
            view = f"({', '.join(f'before[{k}, i]' for k in range(self.rows))},)"
        self.add(4, f"a = policy(weights, {view}, _rng(V, i))")
        if self.actions == ["int"]:
            self.add(4, "A[0, i] = a")
        else:
            self.add(4, *(f"A[{k}, i] = a[{k}]" for k in range(len(self.actions))))
        self.add(3, "wrong = 0", "for i in range(first, last):")
        for k, kind in enumerate(self.actions):
            low, high = (f"int(P[{self.scalars + 2 * k + end}])" for end in (0, 1))
            bad = f"(A[{k}, i] < {low}) | (A[{k}, i] > {high})" if kind == "int" else "0"
            self.add(4, f"wrong += {bad}")
        self.add(3, "if wrong > 0:", f"    return {BAD_ACTION}")
        self._advance_at_t(3)
        self.add(2, "return 0")
        self.add(1, "return run__TAG__", "")
