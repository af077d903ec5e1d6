"""The driver of a kernel, written as source: loops that call its functions over stored rows.

One text serves every execution. Compiled, the loops become native code, and those without random
numbers or arrays vectorise, because every number lies in a row of its own; run as it stands, it is
the plain-Python reference.

Storage, for ``n`` environments: ``F`` float rows (the state's floats, then return and last return),
``I`` int rows (the state's ints and bools, then elapsed steps and last length), ``U`` random words,
``O`` observations, ``X`` infos, ``R`` rewards, ``T`` terminated, ``C`` truncated (cut off), ``D``
waiting for a reset; ``OF`` and ``XF`` keep an episode's last observation and info.
"""

from __future__ import annotations

from ludus.kernel.contract import Field, Kernel

__all__ = ["driver_source", "observation_rows"]

_RESULTS = (("rewards", "R"), ("ended", "T"), ("cut", "C"), ("waiting", "D"))
ARGUMENTS = "F, I, U, P, A, O, OF, R, T, C, D, X, XF, L, mode, limit, first, last"
BAD_ACTION, OVER = -1, -2
"""What ``step`` returns instead of a count: nothing was stepped."""


class _Writer:
    """Collects lines at an indentation."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, indent: int, *lines: str) -> None:
        self.lines += ["    " * indent + line for line in lines]


def driver_source(kernel: Kernel, actions: list[str], rows: int) -> str:
    """Return the text of the driver.

    Args:
        kernel: The kernel.
        actions: ``"int"`` or ``"float"`` for each number of an action.
        rows: How many numbers an observation has; 0 if it is an array.

    Names end in ``__TAG__``, to be replaced by something of the kernel's own: compiled code finds
    its functions by name, also those that another process has left on disk.
    """
    return _Driver(kernel, actions, rows).text()


def observation_rows(rows: int) -> list[str]:
    """Return the names under which a loop writes an observation's numbers."""
    return [f"o{k}" for k in range(rows)]


class _Driver:
    def __init__(self, kernel: Kernel, actions: list[str], rows: int) -> None:
        self.kernel = kernel
        self.actions = actions
        self.rows = rows
        self.state = kernel.state_fields
        self.floats = [f.name for f in self.state if f.kind == "float"]
        self.ints = [f.name for f in self.state if f.kind in ("int", "bool")]
        self.arrays = kernel.array_fields
        self.param_arrays = [f.name for f in kernel.param_fields if f.kind == "array"]
        self.info = kernel.info_fields
        self.extra = "".join(
            f", {name}" for name in [*(f"s_{a}" for a in self.arrays), *self._param_names()]
        )
        self.vectorises = not (kernel.transition_draws or self.arrays or kernel.writes_observation)

    def _param_names(self) -> list[str]:
        return [f"p_{name}" for name in self.param_arrays]

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
            lines.append(
                f"i_{field}[{column}] = {value}"
                if kinds[field] == "int"
                else f"i_{field}[{column}] = 1 if {value} else 0"
            )
        return lines

    def bind(self, part: str = "") -> list[str]:
        """Return the lines that name the rows, or the given part of each."""
        lines = [f"f_{name} = F[{k}]{part}" for k, name in enumerate(self.floats)]
        lines += [f"total = F[{len(self.floats)}]{part}"]
        lines += [f"last_total = F[{len(self.floats) + 1}]{part}"]
        lines += [f"i_{name} = I[{k}]{part}" for k, name in enumerate(self.ints)]
        lines += [f"elapsed = I[{len(self.ints)}]{part}"]
        lines += [f"last_elapsed = I[{len(self.ints) + 1}]{part}"]
        lines += [f"o{k} = O[{k}]{part}" for k in range(self.rows)]
        lines += [f"x{k} = X[{k}]{part}" for k in range(len(self.info))]
        return lines

    def show(self, column: str, name: str) -> list[str]:
        """Return the lines that write the observation and info of a state."""
        if self.kernel.writes_observation:
            lines = [f"_observation(p, {name}, O[{column}])"]
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
        return self.kernel.observation.__annotations__.get("return", "") not in (
            "int",
            "float",
            int,
            float,
        )

    def action(self, column: str) -> str:
        """Return the expression of an action: a number if it is one int, else a tuple."""
        parts = [f"a{k}[{column}]" for k in range(len(self.actions))]
        if self.actions == ["int"]:
            return parts[0]
        return f"({', '.join(parts)},)"

    # --- functions ----------------------------------------------------------------------------

    def text(self) -> str:
        writer = _Writer()
        self._reset_row(writer)
        self._reset(writer)
        self._observe(writer)
        if self.vectorises:
            self._step_in_two_passes(writer)
        else:
            self._step_in_one_pass(writer)
        self._step_one(writer)
        self._rollout(writer)
        self._rollout_policy(writer)
        return "\n".join(writer.lines) + "\n"

    def _reset_row(self, writer: _Writer) -> None:
        kept = f"{self.load('i')}, " if self.kernel.keeps_state else ""
        writer.add(0, "@_jit", f"def reset_row__TAG__(F, I, U, p, O, X, i{self.extra}):")
        writer.add(1, *self.bind())
        writer.add(1, "last_total[i] = total[i]", "last_elapsed[i] = elapsed[i]")
        writer.add(1, f"s = _initial(p, {kept}_rng(U, i))", *self.store("i", "s"))
        writer.add(1, "total[i] = 0.0", "elapsed[i] = 0", *self.show("i", "s"), "")

    def _reset(self, writer: _Writer) -> None:
        writer.add(0, "@_main", f"def reset__TAG__(F, I, U, P, O, T, C, D, X, M{self.extra}):")
        writer.add(1, f"p = {self.params()}", "for i in range(M.shape[0]):")
        writer.add(2, "if M[i]:")
        writer.add(3, f"reset_row__TAG__(F, I, U, p, O, X, i{self.extra})")
        writer.add(3, "T[i] = False", "C[i] = False", "D[i] = False")
        writer.add(0, "")

    def _observe(self, writer: _Writer) -> None:
        writer.add(0, "@_main", f"def observe__TAG__(F, I, P, O, X{self.extra}):")
        writer.add(1, f"p = {self.params()}", *self.bind())
        writer.add(1, "for i in range(F.shape[1]):")
        writer.add(2, f"s = {self.load('i')}", *self.show("i", "s"))
        writer.add(0, "")

    def _advance(self, rng: str, rewards: str = "R", ended: str = "T", cut: str = "C") -> list[str]:
        """Return the lines that step environment ``i`` and write all results."""
        return [
            f"s = {self.load('i')}",
            f"a = {self.action('i')}",
            f"n = _transition(p, s, a, {rng})",
            "r = _reward(p, s, a, n)",
            *self.store("i", "n"),
            *self.show("i", "n"),
            f"{rewards}[i] = r",
            "total[i] = total[i] + r",
            "e = elapsed[i] + 1",
            "elapsed[i] = e",
            f"{ended}[i] = _terminal(p, n)",
            f"{cut}[i] = e >= limit",
        ]

    def _refuse(self, writer: _Writer) -> None:
        """Look at all actions and flags before anything is stepped; ``L`` has the bounds."""
        if "int" in self.actions:
            writer.add(1, "wrong = 0", "for i in range(last - first):")
            for k in range(len(self.actions)):
                writer.add(2, f"wrong += (a{k}[i] < L[{k}, 0]) | (a{k}[i] > L[{k}, 1])")
            writer.add(1, "if wrong > 0:")
            writer.add(2, f"return {BAD_ACTION}")
        writer.add(1, "if mode == 2:")
        writer.add(2, "over_now = 0", "for i in range(last - first):")
        writer.add(3, "over_now += waiting[i]")
        writer.add(2, "if over_now > 0:")
        writer.add(3, f"return {OVER}")

    def _keep_last(self) -> list[str]:
        lines = [f"OF[{k}, i] = O[{k}, i]" for k in range(self.rows)]
        if self.kernel.writes_observation:
            lines = ["OF[i] = O[i]"]
        return lines + [f"XF[{k}, i] = X[{k}, i]" for k in range(len(self.info))]

    def _step_in_two_passes(self, writer: _Writer) -> None:
        """Step all, also those that only wait for a reset; then reset, over what that wrote."""
        writer.add(0, "@_main", f"def step__TAG__({ARGUMENTS}{self.extra}):")
        # Rows cut to size and counted from zero: an index that might be negative, and so mean one
        # from the end, keeps a loop from vectorising.
        writer.add(1, f"p = {self.params()}", *self.bind("[first:last]"))
        writer.add(1, *(f"a{k} = A[{k}][first:last]" for k in range(len(self.actions))))
        writer.add(1, *(f"{row} = {name}[first:last]" for row, name in _RESULTS))
        self._refuse(writer)
        writer.add(1, "for i in range(last - first):")
        writer.add(2, *self._advance("0", "rewards", "ended", "cut"))
        writer.add(1, "count = 0", "if mode == 0:")
        writer.add(2, "for i in range(last - first):")
        writer.add(3, "count += waiting[i]")
        writer.add(2, "if count > 0:")
        writer.add(3, "for i in range(first, last):")
        writer.add(4, "if D[i]:")
        writer.add(5, f"reset_row__TAG__(F, I, U, p, O, X, i{self.extra})")
        writer.add(5, "R[i] = 0.0", "T[i] = False", "C[i] = False")
        writer.add(1, "count = 0", "for i in range(last - first):")
        writer.add(2, "over = ended[i] | cut[i]", "waiting[i] = over", "count += over")
        writer.add(1, "if mode == 1 and count > 0:")
        writer.add(2, "for i in range(first, last):")
        writer.add(3, "if D[i]:")
        writer.add(4, *self._keep_last(), f"reset_row__TAG__(F, I, U, p, O, X, i{self.extra})")
        writer.add(4, "D[i] = False")
        writer.add(1, "return count", "")

    def _step_in_one_pass(self, writer: _Writer) -> None:
        writer.add(0, "@_main", f"def step__TAG__({ARGUMENTS}{self.extra}):")
        writer.add(1, f"p = {self.params()}", *self.bind(), "count = 0")
        writer.add(1, *(f"a{k} = A[{k}][first:last]" for k in range(len(self.actions))))
        writer.add(1, "waiting = D[first:last]")
        self._refuse(writer)
        writer.add(1, *(f"a{k} = A[{k}]" for k in range(len(self.actions))))
        writer.add(1, "for i in range(first, last):")
        writer.add(2, "if mode == 0 and D[i]:")
        writer.add(3, f"reset_row__TAG__(F, I, U, p, O, X, i{self.extra})")
        writer.add(3, "R[i] = 0.0", "T[i] = False", "C[i] = False", "D[i] = False", "continue")
        writer.add(2, *self._advance("_rng(U, i)"))
        writer.add(2, "over = T[i] | C[i]", "D[i] = over", "count += over")
        writer.add(2, "if mode == 1 and over:")
        writer.add(3, *self._keep_last(), f"reset_row__TAG__(F, I, U, p, O, X, i{self.extra})")
        writer.add(3, "D[i] = False")
        writer.add(1, "return count", "")

    def _step_one(self, writer: _Writer) -> None:
        """One environment with as few arguments as possible: unpacking them takes the time.

        ``B`` holds params, then the float rows, then reward and infos; ``J`` the int rows.
        """
        scalars = sum(field.kind != "array" for field in self.kernel.param_fields)
        rng = ", U" if self.kernel.transition_draws else ""
        given = ", ".join(f"a{k}" for k in range(len(self.actions)))
        action = "a0" if self.actions == ["int"] else f"({given},)"
        writer.add(0, "@_main", f"def step_one__TAG__(B, J, O, {given}{rng}{self.extra}):")
        floats, ints = len(self.floats), len(self.ints)
        writer.add(1, f"p = {self.params('B')}")
        writer.add(1, f"F = B[{scalars}:{scalars + floats + 2}].reshape(({floats + 2}, 1))")
        writer.add(1, f"I = J.reshape(({ints + 2}, 1))")
        writer.add(1, f"X = B[{scalars + floats + 3}:].reshape(({max(len(self.info), 1)}, 1))")
        writer.add(1, *self.bind(), f"s = {self.load('0')}")
        draws = "_rng(U, 0)" if self.kernel.transition_draws else "0"
        writer.add(1, f"a = {action}", f"n = _transition(p, s, a, {draws})")
        writer.add(1, "r = _reward(p, s, a, n)", *self.store("0", "n"), *self.show("0", "n"))
        writer.add(1, f"B[{scalars + floats + 2}] = r", "total[0] = total[0] + r")
        writer.add(1, "elapsed[0] = elapsed[0] + 1", "return _terminal(p, n)", "")

    def _rollout(self, writer: _Writer) -> None:
        arguments = "F, I, U, P, AA, OO, OF, RR, TT, CC, D, X, XF, L, mode, limit, first, last"
        writer.add(0, "@_main", f"def rollout__TAG__({arguments}{self.extra}):")
        writer.add(1, "for t in range(RR.shape[0]):")
        inner = "F, I, U, P, AA[t], OO[t], OF, RR[t], TT[t], CC[t], D, X, XF, L, mode, limit"
        writer.add(2, f"count = step__TAG__({inner}, first, last{self.extra})", "if count < 0:")
        writer.add(3, "return count")
        writer.add(1, "return 0", "")

    def _rollout_policy(self, writer: _Writer) -> None:
        arguments = "F, I, U, P, weights, V, AA, O, OO, OF, RR, TT, CC, D, X, XF, L, mode, limit"
        writer.add(0, "def rollout_policy(policy):", "    @_jit")
        writer.add(1, f"def run__TAG__({arguments}, first, last{self.extra}):")
        writer.add(2, "for t in range(RR.shape[0]):")
        writer.add(3, "seen = O if t == 0 else OO[t - 1]", "for i in range(first, last):")
        if self.kernel.writes_observation:
            view = "seen[i]"
        else:
            view = f"({', '.join(f'seen[{k}, i]' for k in range(self.rows))},)"
        writer.add(4, f"a = policy(weights, {view}, _rng(V, i))")
        if self.actions == ["int"]:
            writer.add(4, "AA[t, 0, i] = a")
        else:
            writer.add(4, *(f"AA[t, {k}, i] = a[{k}]" for k in range(len(self.actions))))
        inner = "F, I, U, P, AA[t], OO[t], OF, RR[t], TT[t], CC[t], D, X, XF, L, mode, limit"
        writer.add(3, f"count = step__TAG__({inner}, first, last{self.extra})", "if count < 0:")
        writer.add(4, "return count")
        writer.add(2, "return 0")
        writer.add(1, "return run__TAG__", "")
