"""Lines and expressions of a driver's source."""

from __future__ import annotations

from ludus.kernel.contract import Field, Kernel
from ludus.kernel.layout import Layout

__all__ = ["DriverParts"]


class DriverParts:
    """Lines and expressions of the driver of one kernel; ``driver.py`` explains the names."""

    def __init__(self, kernel: Kernel, actions: list[str], rows: int, layout: Layout) -> None:
        self.kernel = kernel
        self.actions = actions
        self.rows = rows
        self.layout = {place.name: place for place in layout}
        # The numbers of an observation are contiguous, except for tuples.
        self.side_by_side = rows > 0 and self.layout["both"].ndim == 2
        self.given_at = layout.size
        self.state = kernel.state_fields
        self.floats = [f.name for f in self.state if f.kind == "float"]
        self.ints = [f.name for f in self.state if f.kind in ("int", "bool")]
        self.info = kernel.info_fields
        self.scalars = sum(field.kind != "array" for field in kernel.param_fields)
        self.rules_at = self.scalars + 2 * len(actions)
        # The rows of each array, in order.
        kept = {
            "F": [*(f"f_{name}" for name in self.floats), "total", "last_total"],
            "I": [*(f"i_{name}" for name in self.ints), "elapsed", "last_elapsed"],
        }
        self.widths = {array: len(names) for array, names in kept.items()}
        self.cells = {name: (array, k) for array in kept for k, name in enumerate(kept[array])}
        self.numbers: dict[str, int] = {}
        self.lines: list[str] = []

    def add(self, indent: int, *lines: str) -> None:
        """Add lines to the source."""
        self.lines += ["    " * indent + line for line in lines]

    def row(self, name: str, array: str, offset: str, like: str = "") -> str:
        """Return the line that assigns a row, an array from an offset on, to a name.

        Args:
            name: The name; rows of the same name may overlap in memory, others must not.
            array: One of the layout's arrays, or an argument with the address of an array.
            offset: First element of the row.
            like: The layout's array whose dtype an argument has.
        """
        number = self.numbers.setdefault(name, len(self.numbers))
        where = array if like else self.address(array)
        code = self.layout[like or array].code
        return f"{name} = _row({where}, '{code}', {offset}, {number}, __ROWS__)"

    def address(self, array: str) -> str:
        """Return the expression of an array's address."""
        return f"_word(Z, {self.layout[array].at})"

    def define(self, decorator: str, name: str, arguments: str, indent: int = 0) -> None:
        """Begin a function, and read the params and arrays."""
        self.add(indent, decorator, f"def {name}__TAG__({arguments}):")
        indent += 1
        # The number of environments, and the distance between rows.
        self.add(indent, f"n = _word(Z, {self.layout['U'].at + 1})")
        self.add(indent, f"m = _word(Z, {self.layout['B'].at + 2})", self.row("rule", "P", "0"))
        for place in self.layout.values():
            if place.name.startswith(("S_", "p_")) or (place.name == "both" and not self.rows):
                self.add(indent, f"{place.name} = {place.expression}")
        parts, index = [], 0
        for field in self.kernel.param_fields:
            if field.kind == "array":
                parts.append(f"p_{field.name}")
                continue
            word = f"rule[{index}]"
            parts.append(
                {"float": word, "int": f"int({word})", "bool": f"{word} != 0.0"}[field.kind]
            )
            index += 1
        self.add(indent, f"p = _Params({', '.join(parts)})")

    def name_state(self, first: str) -> list[str]:
        """Return the lines that assign the rows of states and sums, from an environment on."""
        if self.kernel.vectorises:
            lines = [
                self.row(name, array, f"{k} * m + {first}")
                for name, (array, k) in self.cells.items()
            ]
        else:
            lines = [
                self.row(f"all_{array}", array, f"{width} * ({first})")
                for array, width in self.widths.items()
            ]
        lines.append(self.row("listed", "L", first))
        count = max(len(self.info), 1)
        for k in range(len(self.info)):
            lines.append(self.row(f"x{k}", "R", f"{1 + k} * m + {first}"))
            lines.append(self.row(f"xf{k}", "R", f"{1 + count + k} * m + {first}"))
        lines.append(self.row("waiting", "B", f"2 * m + {first}"))
        return lines + [f"s_{name} = S_{name}[{first}:]" for name in self.kernel.array_fields]

    def cell(self, name: str, column: str) -> str:
        """Return the expression of one environment's number of a state or a sum."""
        if self.kernel.vectorises:
            return f"{name}[{column}]"
        array, k = self.cells[name]
        return f"all_{array}[{column} * {self.widths[array]} + {k}]"

    def keep_sums(self, column: str) -> list[str]:
        """Return the lines that save the sums of a finished episode."""
        return [
            f"{self.cell(f'last_{name}', column)} = {self.cell(name, column)}"
            for name in ("total", "elapsed")
        ]

    def name_results(self, first: str) -> list[str]:
        """Return the lines that assign the rows of results of a single step."""
        lines = [self.row("rewards", "R", first)]
        lines += [self.row("ended", "B", first), self.row("cut", "B", f"m + {first}")]
        if not self.rows:
            return [*lines, f"seen_all = both[0][{first}:]"]
        if self.side_by_side:
            return [*lines, self.row("o", "both", f"{self.rows} * ({first})")]
        return lines + [self.row(f"o{k}", "both", f"{k} * m + {first}") for k in range(self.rows)]

    def name_results_of_time(self, first: str) -> list[str]:
        """Return the lines that assign the rows of results of a rollout's step ``t``."""
        lines = [self.row("rewards", "rewarded", f"t * n + {first}", "R")]
        lines.append(self.row("ended", "flags", f"t * n + {first}", "B"))
        lines.append(self.row("cut", "flags", f"(steps + t) * n + {first}", "B"))
        if not self.rows:
            return [*lines, f"seen_all = OO[t][{first}:]"]
        if self.side_by_side:
            return [*lines, self.row("o", "seen", f"(t * n + {first}) * {self.rows}", "both")]
        return lines + [
            self.row(f"o{k}", "seen", f"(t * {self.rows} + {k}) * n + {first}", "both")
            for k in range(self.rows)
        ]

    def name_finals(self, first: str) -> list[str]:
        """Return the lines that assign the rows of an episode's last observations."""
        if not self.rows:
            return [f"last_all = both[1][{first}:]"]
        if self.side_by_side:
            return [self.row("of", "both", f"(n + {first}) * {self.rows}")]
        return [
            self.row(f"of{k}", "both", f"{self.rows + k} * m + {first}") for k in range(self.rows)
        ]

    def observed(self, k: int, column: str, name: str = "o") -> str:
        """Return the expression of one number of an environment's observation.

        Args:
            k: Which number.
            column: Which environment.
            name: ``o``, or ``of`` for an episode's last observation.
        """
        if self.side_by_side:
            return f"{name}[{column} * {self.rows} + {k}]"
        return f"{name}{k}[{column}]"

    def name_actions(self, array: str, before: str, first: str) -> list[str]:
        """Return the lines that assign the rows of actions; ``before`` rows precede them."""
        apart, like = ("m", "") if array == "A" else ("n", "A")
        return [
            self.row(f"a{k}", array, f"({before}{k}) * {apart} + {first}", like)
            for k in range(len(self.actions))
        ]

    def load(self, column: str) -> str:
        """Return the expression that builds a state from its rows."""

        def part(field: Field) -> str:
            if field.kind == "array":
                return f"s_{field.name}[{column}]"
            if field.kind == "float":
                return self.cell(f"f_{field.name}", column)
            word = self.cell(f"i_{field.name}", column)
            return word if field.kind == "int" else f"{word} != 0"

        return f"_State({', '.join(map(part, self.state))})"

    def store(self, column: str, name: str) -> list[str]:
        """Return the lines that store a state's scalars in their rows."""
        lines = [f"{self.cell(f'f_{field}', column)} = {name}.{field}" for field in self.floats]
        kinds = {field.name: field.kind for field in self.state}
        for field in self.ints:
            value = f"{name}.{field}"
            value = value if kinds[field] == "int" else f"1 if {value} else 0"
            lines.append(f"{self.cell(f'i_{field}', column)} = {value}")
        return lines

    def show(self, column: str, name: str, function: str = "_observation") -> list[str]:
        """Return the lines that write the observation and info of a state."""
        if self.kernel.writes_observation:
            lines = [f"{function}(p, {name}, seen_all[{column}])"]
        else:
            lines = [f"seen_one = {function}(p, {name})"]
            one = self.rows == 1 and self.kernel.observes_one_number
            lines += [
                f"{self.observed(k, column)} = {'seen_one' if one else f'seen_one[{k}]'}"
                for k in range(self.rows)
            ]
        if self.info:
            lines.append(f"told = _info(p, {name})")
            lines += [f"x{k}[{column}] = told.{f.name}" for k, f in enumerate(self.info)]
        return lines

    def rng(self, words: str, index: str) -> str:
        """Return the expression of an environment's random generator."""
        name = "random" if words == "V" else "own_random"
        number = self.numbers.setdefault(name, len(self.numbers))
        where = words if words == "V" else self.address(words)
        return f"_rng({where}, {index}, {number}, __ROWS__)"

    def begin(self, column: str, index: str) -> list[str]:
        """Return the lines that start an episode."""
        kept = f"{self.load(column)}, " if self.kernel.keeps_state else ""
        return [
            f"s = _initial(p, {kept}{self.rng('U', index)})",
            *self.store(column, "s"),
            f"{self.cell('total', column)} = 0.0",
            f"{self.cell('elapsed', column)} = 0",
            *self.show(column, "s", "_first_observation"),
        ]

    def action(self, column: str) -> str:
        """Return the expression of an action: a number for a single int, else a tuple."""
        parts = [f"a{k}[{column}]" for k in range(len(self.actions))]
        if self.actions == ["int"]:
            return parts[0]
        return f"({', '.join(parts)},)"

    def bounds(self, k: int) -> tuple[str, str]:
        """Return the expressions of an action's lowest and highest number."""
        at = self.scalars + 2 * k
        return f"int(rule[{at}])", f"int(rule[{at + 1}])"
