"""Control-flow analysis of a function: missing returns, endless loops, unassigned names.

It assumes that a loop runs at least once, and that an ``if`` with the same condition as an earlier
one takes the same branch, so that correct functions are not rejected.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

__all__ = ["endless_loops", "falls_off", "returns_values", "unassigned"]


def falls_off(body: Sequence[ast.stmt]) -> bool:
    """Return whether control can reach the end of a block."""
    return all(_goes_on(statement) for statement in body)


def returns_values(node: ast.AST) -> list[ast.Return]:
    """Return the ``return`` statements of a function that have a value."""
    found = [part for part in ast.walk(node) if isinstance(part, ast.Return)]
    return [part for part in found if part.value is not None and not _is_none(part.value)]


def endless_loops(node: ast.AST) -> Iterator[ast.While]:
    """Yield the loops ``while True`` without a way out."""
    for part in ast.walk(node):
        if isinstance(part, ast.While) and _is_true(part.test) and not _ends(part):
            yield part


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _ends(loop: ast.While) -> bool:
    leaving = any(isinstance(part, ast.Return | ast.Raise) for part in ast.walk(loop))
    return leaving or _breaks(loop.body)


def _breaks(body: Sequence[ast.stmt]) -> bool:
    """Return whether a loop's body has a ``break`` of that loop."""
    for statement in body:
        if isinstance(statement, ast.Break):
            return True
        if isinstance(statement, ast.For | ast.While):
            inner = statement.orelse
        else:
            inner = [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.stmt)]
            inner += [part for case in getattr(statement, "cases", ()) for part in case.body]
        if _breaks(inner):
            return True
    return False


def _goes_on(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
        return False
    if isinstance(statement, ast.If):
        return falls_off(statement.body) or falls_off(statement.orelse)
    if isinstance(statement, ast.While) and _is_true(statement.test):
        return _breaks(statement.body)
    if isinstance(statement, ast.For | ast.While) and statement.orelse:
        return _breaks(statement.body) or falls_off(statement.orelse)
    if isinstance(statement, ast.Match):
        complete = any(_takes_all(case) for case in statement.cases)
        return not complete or any(falls_off(case.body) for case in statement.cases)
    if isinstance(statement, ast.With):
        return falls_off(statement.body)
    return True


def _takes_all(case: ast.match_case) -> bool:
    pattern = case.pattern
    return case.guard is None and isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def unassigned(node: ast.FunctionDef, parameters: set[str]) -> list[ast.Name]:
    """Return the uses of local names that are not assigned on every path to them."""
    local = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    } - parameters
    return _Paths(local).uses(node.body)


class _Paths:
    """Follows the paths of a function and collects uses of names before their assignment."""

    def __init__(self, local: set[str]) -> None:
        self._local = local
        self._found: list[ast.Name] = []
        # Names assigned in the branches of each condition.
        self._under: dict[str, set[str]] = {}

    def uses(self, body: Sequence[ast.stmt]) -> list[ast.Name]:
        self._block(body, set())
        return self._found

    def _block(self, body: Sequence[ast.stmt], known: set[str]) -> set[str] | None:
        """Return the names assigned after a block, ``None`` if control does not reach its end."""
        now = set(known)
        for statement in body:
            after = self._statement(statement, now)
            if after is None:
                return None
            now = after
        return now

    def _statement(self, statement: ast.stmt, known: set[str]) -> set[str] | None:
        if isinstance(statement, ast.If):
            return self._branch(statement, known)
        if isinstance(statement, ast.Match):
            known = self._expression(statement.subject, known)
            ends = [self._case(case, known) for case in statement.cases]
            if not any(_takes_all(case) for case in statement.cases):
                ends.append(known)
            return _common(ends)
        if isinstance(statement, ast.While | ast.For):
            return self._loop(statement, known)
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
            return self._assignment(statement, known)
        known = self._expression(statement, known)
        leaves = isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue)
        return None if leaves else known

    def _branch(self, statement: ast.If, known: set[str]) -> set[str] | None:
        known = self._expression(statement.test, known)
        condition = ast.dump(statement.test)
        chosen = self._block(statement.body, known | self._under.get(condition, set()))
        other = self._block(statement.orelse, known)
        self._under.setdefault(condition, set()).update((chosen or set()) - known)
        return _common([chosen, other])

    def _case(self, case: ast.match_case, known: set[str]) -> set[str] | None:
        bound = {part.name for part in ast.walk(case.pattern) if isinstance(part, ast.MatchAs)}
        return self._block(case.body, known | {name for name in bound if name is not None})

    def _loop(self, statement: ast.While | ast.For, known: set[str]) -> set[str] | None:
        if isinstance(statement, ast.While):
            known = self._expression(statement.test, known)
        else:
            known = self._expression(statement.iter, known) | _stored(statement.target)
        self._block(statement.body, known)
        # Assumes at least one iteration, which assigns all names of the body.
        known = known | {name for part in statement.body for name in _stored(part)}
        if isinstance(statement, ast.While) and _is_true(statement.test):
            return known if _breaks(statement.body) else None
        return self._block(statement.orelse, known)

    def _assignment(
        self, statement: ast.Assign | ast.AnnAssign | ast.AugAssign, known: set[str]
    ) -> set[str]:
        if statement.value is None:
            return known
        known = self._expression(statement.value, known)
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for target in targets:
            if isinstance(statement, ast.AugAssign) and isinstance(target, ast.Name):
                self._use(target, known)
            known = self._expression(target, known) | _stored(target)
        return known

    def _expression(self, node: ast.AST, known: set[str]) -> set[str]:
        """Record the names that an expression reads; return those assigned after it."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load):
                self._use(part, known | _stored(node))
        return known | _stored(node)

    def _use(self, name: ast.Name, known: set[str]) -> None:
        if name.id in self._local and name.id not in known:
            self._found.append(name)


def _stored(node: ast.AST) -> set[str]:
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _common(ends: Sequence[set[str] | None]) -> set[str] | None:
    """Return the names assigned on every path that continues."""
    reached = [end for end in ends if end is not None]
    return set.intersection(*reached) if reached else None
