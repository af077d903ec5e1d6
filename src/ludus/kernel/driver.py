"""Generates the source of a kernel's driver: loops that call its functions on stored rows.

The same source is compiled or run as plain Python. Compiled loops without random numbers or arrays
vectorise, because the numbers of a row are contiguous.

``storage.py`` defines the rows, ``layout.py`` how the table ``Z`` leads to them. Names in the
source: ``f_…`` and ``i_…`` are rows of the state's floats and ints (``all_F`` and ``all_I`` hold
them if an environment's numbers are contiguous instead), ``s_…`` its arrays, ``a0 …`` rows of
actions, ``o`` and ``of`` observations and an episode's last ones, with an environment's numbers
contiguous (``o0 …`` and ``of0 …`` for the parts of a tuple, ``seen_all`` and ``last_all`` for
arrays), ``x0 …`` and ``xf0 …`` infos and an episode's last ones, ``ended``, ``cut`` and ``waiting``
flags, ``rule`` the params followed by bounds, mode and limit.
"""

from __future__ import annotations

from ludus.kernel.contract import Kernel
from ludus.kernel.driver_parts import DriverParts
from ludus.kernel.layout import Layout

__all__ = ["BAD_ACTION", "FAILED", "FUNCTIONS", "MODES", "OVER", "driver_source"]

BAD_ACTION, OVER, FAILED = -1, -2, -3
"""Results of ``step`` that are not a count: no environment was stepped.

``FAILED`` is that of a shared call, a piece of which raised an exception.
"""

MODES = {"next_step": 0, "same_step": 1, "disabled": 2, "by_caller": 3, "only_reset": 4}
"""Autoreset modes of a driver.

``by_caller`` keeps stepping finished environments, ``only_reset`` resets waiting environments and
steps none.
"""

FUNCTIONS = {
    "reset": "ii",
    "check": "iii",
    "take": "iii",
    "step": "iii",
    "step_one": "i*",
    "rollout": "iiiiiiii",
}
"""The functions and their arguments: ``i`` a 64-bit int, ``f`` a double, ``*`` an action."""


def driver_source(kernel: Kernel, actions: list[str], rows: int, layout: Layout) -> str:
    """Return the source of the driver.

    Args:
        kernel: The kernel.
        actions: ``"int"`` or ``"float"`` for each number of an action.
        rows: How many numbers an observation has; 0 if it is an array.
        layout: The places of the arrays.

    Function names end in ``__TAG__``, to be replaced by a tag that is unique to the kernel, because
    compiled code finds functions by name.
    """
    return _Driver(kernel, actions, rows, layout).text()


class _Driver(DriverParts):
    def text(self) -> str:
        self._reset()
        self._check()
        self._take()
        self._step()
        self._step_one()
        self._rollout()
        self._rollout_policy()
        return ("\n".join(self.lines) + "\n").replace("__ROWS__", str(len(self.numbers)))

    def _reset(self) -> None:
        self.define("@_main", "reset", "Z, mask")
        self.add(1, self.row("chosen", "mask", "0", "B"))
        self.add(1, *self.name_state("0"), *self.name_results("0"), "for i in range(n):")
        self.add(2, "if chosen[i]:")
        self.add(3, *self.keep_sums("i"), *self.begin("i", "i"))
        self.add(3, "ended[i] = False", "cut[i] = False", "waiting[i] = False")
        self.add(1, "return 0", "")

    def _check(self) -> None:
        """Check the actions of all steps of a rollout."""
        self.define("@_main", "check", "Z, actions, steps")
        self.add(1, "_use_widest_vectors()", "wrong = 0", "for t in range(steps):")
        self.add(2, *self.name_actions("actions", f"t * {len(self.actions)} + ", "0"))
        self._count_wrong(2, "0", "n")
        self.add(1, f"return {BAD_ACTION} if wrong > 0 else 0", "")

    def _take(self) -> None:
        """Copy actions to where a step reads them, and check them."""
        self.define("@_main", "take", "Z, first, last")
        self.add(1, "_use_widest_vectors()", "wrong = 0", *self.name_actions("A", "", "first"))
        self.add(1, f"actions = _word(Z, {self.given_at})")
        for k in range(len(self.actions)):
            self.add(1, self.row("given", "actions", f"{k} * n + first", "A"))
            self.add(1, "for i in range(last - first):", f"    a{k}[i] = given[i]")
        self._count_wrong(1, "first", "last")
        self.add(1, f"return {BAD_ACTION} if wrong > 0 else 0", "")

    def _count_wrong(self, indent: int, first: str, last: str) -> None:
        for k, kind in enumerate(self.actions):
            loop = f"for i in range({last} - {first}):"
            if kind == "int":
                low, high = self.bounds(k)
                self.add(indent, f"low, high = {low}, {high}", loop)
                self.add(indent + 1, f"wrong += (a{k}[i] < low) | (a{k}[i] > high)")
            else:
                # The difference of a number and itself is 0 unless it is NaN or infinite.
                self.add(indent, loop, f"    wrong += (a{k}[i] - a{k}[i]) != 0.0")

    def _step(self) -> None:
        self.define("@_main", "step", "Z, first, last")
        self.add(1, "_use_widest_vectors()", *self.name_actions("A", "", "first"))
        stepping = f"int(rule[{self.rules_at}]) != {MODES['only_reset']}"
        self.add(1, f"if first == 0 and last == n and {stepping}:", "    wrong = 0")
        self._count_wrong(2, "first", "last")
        self.add(2, "if wrong > 0:", f"    return {BAD_ACTION}")
        self.add(1, *self.name_state("first"), *self.name_finals("first"))
        self.add(1, *self.name_results("first"))
        self._advance(1)
        self.add(1, "return count", "")

    def _advance(self, indent: int) -> None:
        """Step all environments, then reset those that are due, overwriting their results."""

        def add(deeper: int, *lines: str) -> None:
            self.add(indent + deeper, *lines)

        add(0, f"mode = int(rule[{self.rules_at}])", f"limit = int(rule[{self.rules_at + 1}])")
        add(0, "number = last - first", "over_now = 0", "for i in range(number):")
        add(1, "over_now += waiting[i]")
        add(0, f"if mode == {MODES['disabled']} and over_now > 0:")
        add(1, f"return {OVER}")
        add(0, f"only_reset = mode == {MODES['only_reset']}")
        add(0, f"due = over_now if (mode == {MODES['next_step']}) | only_reset else 0")
        if self.kernel.vectorises:
            add(0, "start = 0", "if due > 0:")
            self._list_due(indent, "waiting")
            # Before the next loop, which steps them needlessly.
            add(1, "for k in range(due):", "    i = listed[k]")
            add(2, *self.keep_sums("i"))
            add(0, "for i in range(0 if only_reset else number):")
        else:
            self._part_due(indent)
            add(0, "for k in range(0 if only_reset else start):", "    i = listed[k]")
        rng = self.rng("U", "first + i") if self.kernel.transition_draws else "0"
        add(1, f"s = {self.load('i')}", f"a = {self.action('i')}")
        add(1, f"m = _transition(p, s, a, {rng})", "r = _reward(p, s, a, m)")
        add(1, *self.store("i", "m"), *self.show("i", "m"))
        total, elapsed = self.cell("total", "i"), self.cell("elapsed", "i")
        add(1, "rewards[i] = r", f"{total} = {total} + r")
        add(1, f"e = {elapsed} + 1", f"{elapsed} = e")
        add(1, "ended[i] = _terminal(p, m)", "cut[i] = e >= limit")
        add(0, f"if mode == {MODES['same_step']}:", "    for i in range(number):")
        add(2, "due += ended[i] | cut[i]")
        add(1, "if due > 0:")
        add(2, "start = 0")
        self._list_due(indent + 1, "ended", "cut")
        self._reset_due(indent)
        add(0, "count = 0", f"keeps = mode != {MODES['same_step']}")
        add(0, "for i in range(number):")
        add(1, "over = ended[i] | cut[i]", "waiting[i] = over & keeps", "count += over")

    def _list_due(self, indent: int, *flags: str) -> None:
        """Collect the indices at which a flag is set, without a branch for each.

        First collects the groups of eight with a flag among them, at the end of the list, so that
        writing the indices at its beginning does not overwrite groups that are still to be read.
        """
        condition = " | ".join(f"{flag}[i]" for flag in flags)
        some = " | ".join(f"_any_of_8({flag}, k * 8)" for flag in flags)
        self.add(indent + 1, "eights = number // 8", "found = number - eights")
        self.add(indent + 1, "for k in range(eights):")
        self.add(indent + 2, "listed[found] = k * 8", f"found += {some}")
        self.add(indent + 1, "due = 0", "for k in range(number - eights, found):")
        self.add(indent + 2, "begin = listed[k]", "for i in range(begin, begin + 8):")
        self.add(indent + 3, "listed[due] = i", f"due += {condition}")
        self.add(indent + 1, "for i in range(eights * 8, number):")
        self.add(indent + 2, "listed[due] = i", f"due += {condition}")

    def _part_due(self, indent: int) -> None:
        """List the environments to step, followed by those to reset, without a branch for each."""
        add = self.add
        add(indent, "start = 0", "if due > 0:", "    back = number - 1")
        add(indent + 1, "for i in range(number):")
        add(indent + 2, "listed[start] = i", "listed[back] = i", "w = int(waiting[i])")
        add(indent + 2, "start += 1 - w", "back -= w")
        add(indent + 1, "for k in range(start, number):")
        add(indent + 2, "i = listed[k]", *self.keep_sums("i"))
        add(indent, "else:", "    start = number", "    for i in range(number):")
        add(indent + 2, "listed[i] = i")

    def _reset_due(self, indent: int) -> None:
        finals = [f"xf{k}[i] = x{k}[i]" for k in range(len(self.info))]
        if self.kernel.writes_observation:
            # Element by element, because assigning whole arrays would allocate memory.
            axes = range(self.layout["both"].ndim - 2)
            loops = [f"for j{k} in range(both.shape[{k + 2}]):" for k in axes]
            finals += ["    " * k + loop for k, loop in enumerate(loops)]
            index = ", ".join(["i", *(f"j{k}" for k in axes)])
            finals.append("    " * len(loops) + f"last_all[{index}] = seen_all[{index}]")
        else:
            finals += [
                f"{self.observed(k, 'i', 'of')} = {self.observed(k, 'i')}" for k in range(self.rows)
            ]
        self.add(indent, "for k in range(start, start + due):")
        self.add(indent + 1, "i = listed[k]", f"if mode == {MODES['same_step']}:")
        self.add(indent + 2, *self.keep_sums("i"), *finals)
        self.add(indent + 1, "else:")
        self.add(indent + 2, "rewards[i] = rewards[i] if only_reset else 0.0")
        self.add(indent + 2, "ended[i] = False", "cut[i] = False")
        self.add(indent + 1, *self.begin("i", "first + i"))

    def _step_one(self) -> None:
        given = "".join(f", a{k}" for k in range(len(self.actions)))
        action = "a0" if self.actions == ["int"] else f"({given[2:]},)"
        self.define("@_main", "step_one", f"Z{given}")
        self.add(1, *self.name_state("0"), *self.name_results("0"), f"s = {self.load('0')}")
        draws = self.rng("U", "0") if self.kernel.transition_draws else "0"
        self.add(1, f"a = {action}", f"m = _transition(p, s, a, {draws})")
        self.add(1, "r = _reward(p, s, a, m)", *self.store("0", "m"), *self.show("0", "m"))
        total, elapsed = self.cell("total", "0"), self.cell("elapsed", "0")
        self.add(1, "rewards[0] = r", f"{total} = {total} + r")
        self.add(1, f"{elapsed} = {elapsed} + 1", "return 1 if _terminal(p, m) else 0", "")

    def _rollout(self) -> None:
        self.define("@_main", "rollout", "Z, actions, seen, rewarded, flags, steps, first, last")
        self._begin_rollout(1)
        self.add(1, "for t in range(steps):")
        self.add(2, *self.name_actions("actions", f"t * {len(self.actions)} + ", "first"))
        self.add(2, *self.name_results_of_time("first"))
        self._advance(2)
        self.add(1, "return 0", "")

    def _begin_rollout(self, indent: int) -> None:
        self.add(indent, "_use_widest_vectors()", *self.name_state("first"))
        self.add(indent, *self.name_finals("first"))
        if not self.rows:
            place = self.layout["both"]
            sizes = ["steps", *(f"both.shape[{k}]" for k in range(1, place.ndim))]
            shape = f"({', '.join(sizes)})"
            self.add(indent, f"OO = _carray(_pointer(seen), {shape}, _{place.code})")

    def _rollout_policy(self) -> None:
        self.add(0, "def rollout_policy(policy):")
        names = "Z, weights, V, actions, seen, rewarded, flags, steps, first, last"
        self.define("@_jit", "run", names, 1)
        self._begin_rollout(2)
        # The first observation is that of the step before the rollout.
        self.add(2, *self.name_results("first"), "for t in range(steps):")
        self.add(3, *self.name_actions("actions", f"t * {len(self.actions)} + ", "first"))
        self.add(3, "for i in range(last - first):")
        if self.kernel.writes_observation:
            view = "seen_all[i]"
        else:
            view = f"({', '.join(self.observed(k, 'i') for k in range(self.rows))},)"
        self.add(4, f"a = policy(weights, {view}, {self.rng('V', 'first + i')})")
        if self.actions == ["int"]:
            self.add(4, "a0[i] = a")
        else:
            self.add(4, *(f"a{k}[i] = a[{k}]" for k in range(len(self.actions))))
        self.add(3, "wrong = 0")
        self._count_wrong(3, "first", "last")
        self.add(3, "if wrong > 0:", f"    return {BAD_ACTION}")
        self.add(3, *self.name_results_of_time("first"))
        self._advance(3)
        self.add(2, "return 0")
        self.add(1, "return run__TAG__", "")
