"""Constant folding of strings: joined, reversed and decoded literals."""

from __future__ import annotations

import ast
import base64
import binascii
import codecs
from collections.abc import Callable
from typing import Any

__all__ = ["Lookup", "fold", "literal"]

Lookup = Callable[[ast.Name], "ast.expr | None"]
"""Returns the only expression that a name is bound to, or ``None``."""

_MOST = 100_000
_DEPTH = 40
_BASE64 = ("b16decode", "b32decode", "b64decode", "b85decode", "decodebytes", "urlsafe_b64decode")
_DECODERS: dict[str, Callable[[bytes], bytes]] = {
    **{name: getattr(base64, name) for name in _BASE64},
    "unhexlify": binascii.unhexlify,
}
_METHODS = {"lower", "upper", "strip", "swapcase", "replace", "title", "capitalize", "format"}


def fold(node: ast.expr | None, lookup: Lookup, depth: int = 0) -> str | bytes | None:
    """Return the constant value of a string or bytes expression, or ``None``."""
    if node is None or depth > _DEPTH:
        return None
    try:
        value = _fold(node, lookup, depth + 1)
    except (ValueError, TypeError, LookupError, ArithmeticError, AttributeError):
        return None
    return value if isinstance(value, str | bytes) and len(value) <= _MOST else None


def literal(node: ast.expr) -> Any:
    """Return the value of a literal; raise ``ValueError`` if the node is not one."""
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as problem:
        raise ValueError("not a literal") from problem


def _fold(node: ast.expr, lookup: Lookup, depth: int) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return fold(lookup(node), lookup, depth)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, lookup, depth) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return fold(node.value, lookup, depth)
    if isinstance(node, ast.BinOp):
        return _operation(node, lookup, depth)
    if isinstance(node, ast.Subscript):
        return _part(node, lookup, depth)
    if isinstance(node, ast.Call):
        return _call(node, lookup, depth)
    return None


def _text(node: ast.expr, lookup: Lookup, depth: int) -> str:
    value = fold(node, lookup, depth)
    if not isinstance(value, str):
        raise TypeError
    return value


def _operation(node: ast.BinOp, lookup: Lookup, depth: int) -> Any:
    left: Any = fold(node.left, lookup, depth)
    if isinstance(node.op, ast.Add):
        return left + fold(node.right, lookup, depth)
    # Only %s, because a field width could need gigabytes.
    if (
        isinstance(node.op, ast.Mod)
        and isinstance(left, str)
        and left.count("%") == left.count("%s")
    ):
        values = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
        return left % tuple(fold(value, lookup, depth) for value in values)
    return None


def _part(node: ast.Subscript, lookup: Lookup, depth: int) -> Any:
    whole = fold(node.value, lookup, depth)
    if whole is None:
        return None
    if isinstance(node.slice, ast.Slice):
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        return whole[slice(*(None if bound is None else literal(bound) for bound in bounds))]
    return whole[literal(node.slice)]


def _call(node: ast.Call, lookup: Lookup, depth: int) -> Any:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if isinstance(node.func, ast.Name):
        name = node.func.id
        if name == "chr":
            return chr(literal(node.args[0]))
        if name == "bytes" and node.args:
            return bytes(literal(node.args[0]))
        if name == "str" and node.args:
            return fold(node.args[0], lookup, depth)
        if name == "reversed" and node.args:
            return _text(node.args[0], lookup, depth)[::-1]
    first: Any = fold(node.args[0], lookup, depth) if node.args else None
    if name in _DECODERS and first is not None:
        return _DECODERS[name](first.encode() if isinstance(first, str) else first)
    if name == "fromhex":
        return bytes.fromhex(first)
    if not isinstance(node.func, ast.Attribute):
        return None
    owner: Any = fold(node.func.value, lookup, depth)
    if name == "join" and node.args:
        return _joined(owner, node.args[0], lookup, depth)
    if name == "decode":
        return codecs.decode(first, "rot13") if owner is None else owner.decode(first or "utf-8")
    if name == "encode":
        return owner.encode()
    if name in _METHODS and isinstance(owner, str) and ":" not in owner:
        parts = [_text(argument, lookup, depth) for argument in node.args]
        if max(map(len, [owner, *parts])) < 300:
            return getattr(owner, name)(*parts)
    return None


def _joined(glue: Any, node: ast.expr, lookup: Lookup, depth: int) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        return glue.join([fold(part, lookup, depth) for part in node.elts])
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "map":
        # "".join(map(chr, [112, 105, ...]))
        return glue.join(chr(number) for number in literal(node.args[1]))
    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        # "".join(chr(n) for n in [112, 105, ...])
        return glue.join(chr(number) for number in literal(node.generators[0].iter))
    return glue.join(_text(node, lookup, depth))
