"""Reader of untrusted YAML, with limits.

Only strings, numbers, booleans, ``null``, lists and mappings are supported. Dates and sexagesimal
numbers are read as strings; tags, duplicate keys and recursive values are rejected. Anchors and
merge keys are supported, if their expansion is within the limits.
"""

# ruff: noqa: ARG001 - all constructors share one signature

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import yaml

__all__ = ["YamlDocument", "YamlError", "YamlLimits", "read_yaml", "with_numbers"]

_TAG = "tag:yaml.org,2002:"
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)\Z")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?\Z"
    r"|[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z"
)
_DIGITS = 40
_NO_TEXT = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlLimits:
    """Limits of a YAML document.

    Args:
        characters: Characters of the document, also with expanded aliases.
        nodes: Keys, values and lists, with expanded aliases.
        depth: Depth of nesting.
        scalar: Characters of one string.
    """

    characters: int = 1_000_000
    nodes: int = 20_000
    depth: int = 40
    scalar: int = 200_000


class YamlError(ValueError):
    """The text is not valid YAML, or not supported.

    Attributes:
        problem: Description of the problem.
        line: Line number, from 1.
    """

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(f"line {line}: {problem}")
        self.problem = problem
        self.line = line


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """The data of a document, with line numbers.

    Attributes:
        data: Plain data; ``None`` for an empty document.
    """

    data: Any
    _root: yaml.Node | None

    def line_of(self, path: Sequence[str | int]) -> int:
        """Return the line of the value at a path, or of the nearest enclosing value."""
        node = self._root
        line = 1 if node is None else node.start_mark.line + 1
        for part in path:
            if isinstance(node, yaml.MappingNode):
                pairs = {key.value: (key, value) for key, value in node.value}
                if str(part) not in pairs:
                    break
                key, node = pairs[str(part)]
                line = key.start_mark.line + 1
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                node = node.value[part]
                line = node.start_mark.line + 1
            else:
                break
        return line

    def mapping_at(self, path: Sequence[str]) -> yaml.MappingNode | None:
        """Return the node of the mapping at a path; ``None`` if there is none."""
        node = self._root
        for part in path:
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            node = next((value for key, value in pairs if key.value == part), None)
        return node if isinstance(node, yaml.MappingNode) and node.value else None


def read_yaml(text: str | bytes, limits: YamlLimits | None = None) -> YamlDocument:
    r"""Read one YAML document.

    Args:
        text: The text; bytes are UTF-8.
        limits: Limits of the document; ``None`` for the default.

    Raises:
        YamlError: The text is not valid YAML, not supported, or too large.

    >>> document = read_yaml("name: test\nseeds: [1, 2]")
    >>> document.data, document.line_of(["seeds"])
    ({'name': 'test', 'seeds': [1, 2]}, 2)
    """
    limits = limits or YamlLimits()
    if len(text) > limits.characters:
        raise YamlError(f"it has {len(text)} characters; {limits.characters} are allowed", 1)
    if isinstance(text, bytes):
        text = _decoded(text)
    loader = None
    try:
        loader = _Loader(text, limits)
        root = loader.get_single_node()
        if root is None:
            return YamlDocument(None, None)
        _Expansion(limits).measure(root, 1)
        return YamlDocument(loader.construct_document(root), root)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        raise YamlError(problem.problem or "invalid YAML", mark.line + 1 if mark else 1) from None
    except yaml.reader.ReaderError as problem:
        line = text.count("\n", 0, problem.position) + 1
        raise YamlError(f"the character {chr(problem.character)!r} is not allowed", line) from None
    except (ValueError, OverflowError) as problem:
        if isinstance(problem, YamlError):
            raise
        # An escape such as "\UFFFFFFFF" for a character that does not exist.
        raise YamlError(f"invalid YAML: {problem}", loader.line + 1 if loader else 1) from None


def with_numbers(text: str, path: Sequence[str], numbers: Mapping[str, float]) -> str:
    r"""Return a document with other numbers in the mapping at a path; all else is unchanged.

    Fields that the mapping lacks are added after its last one.

    Raises:
        YamlError: There is no such mapping, or its text cannot be changed without changing more.

    >>> with_numbers("a: {b: 1} # why\n", ["a"], {"b": 2.5, "c": 3.0})
    'a: {b: 2.5, c: 3.0} # why\n'
    """
    document = read_yaml(text)
    mapping = document.mapping_at(path)
    if mapping is None:
        raise YamlError(f"there are no fields in {'.'.join(path)!r}", document.line_of(path))
    places = {key.value: value for key, value in mapping.value}
    changes: list[tuple[int, int, str]] = []
    for name, number in numbers.items():
        if name in places:
            value = places[name]
            changes.append((value.start_mark.index, value.end_mark.index, _number(number)))
    added = {name: number for name, number in numbers.items() if name not in places}
    if added:
        changes.append(_addition(text, mapping, added))
    changed = text
    for start, end, new in sorted(changes, reverse=True):
        changed = changed[:start] + new + changed[end:]
    _check_only(document.data, changed, path, numbers)
    return changed


def _addition(
    text: str, mapping: yaml.MappingNode, numbers: Mapping[str, float]
) -> tuple[int, int, str]:
    """Return where fields are added to a mapping, and their text."""
    key, last = mapping.value[-1]
    place = last.end_mark.index
    fields = [f"{name}: {_number(number)}" for name, number in numbers.items()]
    if mapping.flow_style:
        return place, place, "".join(f", {field}" for field in fields)
    # Behind the comment of the last field.
    place = max(place, 1) - (text[place - 1 : place] == "\n")
    end = text.find("\n", place)
    place = len(text) if end < 0 else end
    indent = " " * key.start_mark.column
    return place, place, "".join(f"\n{indent}{field}" for field in fields)


def _number(value: float) -> str:
    text = repr(float(value))
    # An exponent without a point is a string.
    return text.replace("e", ".0e") if "e" in text and "." not in text else text


def _check_only(
    before: Any, changed: str, path: Sequence[str], numbers: Mapping[str, float]
) -> None:
    """Check that nothing but these numbers was changed; an alias could refer to them elsewhere."""
    wanted = copy.deepcopy(before)
    inner = wanted
    for part in path:
        inner = inner[part]
    inner.update(numbers)
    if read_yaml(changed).data != wanted:
        raise YamlError(f"{'.'.join(path)} cannot be changed alone; write the numbers yourself", 1)


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise YamlError(f"it is not UTF-8: {problem.reason}", line) from None


def _refuse(problem: str, node: yaml.Node) -> NoReturn:
    raise YamlError(problem, node.start_mark.line + 1)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """A SafeLoader that supports fewer types and enforces the limits."""

    yaml_implicit_resolvers: ClassVar[dict[Any, Any]] = {}
    yaml_constructors: ClassVar[dict[Any, Any]] = {}

    def __init__(self, text: str, limits: YamlLimits) -> None:
        super().__init__(text)
        self._limits = limits
        self._depth = 0
        self._nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        line = self.peek_event().start_mark.line + 1
        self._nodes += 1
        self._depth += 1
        if self._nodes > self._limits.nodes:
            raise YamlError(f"it has more than {self._limits.nodes} values", line)
        if self._depth > self._limits.depth:
            raise YamlError(f"it is nested more than {self._limits.depth} deep", line)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(node, yaml.ScalarNode):
            self._check_text(node)
        return node

    def _check_text(self, node: yaml.ScalarNode) -> None:
        if len(node.value) > self._limits.scalar:
            length = len(node.value)
            _refuse(f"a text has {length} characters; {self._limits.scalar} are allowed", node)
        if _NO_TEXT.search(node.value):
            _refuse("a text has half of a surrogate pair, which is not valid Unicode", node)

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        # Checked here, because merging may add keys that exist already.
        lines: dict[Any, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                _refuse("a key must be a scalar, not a list or a mapping", key)
            line = key.start_mark.line + 1
            # Compared as text and as value: 1 and 0x1 are the same key.
            is_merge = key.tag == _TAG + "merge"
            for form in {(key.value,), (key.value,) if is_merge else self.construct_object(key)}:
                if form in lines:
                    _refuse(
                        f"{key.value[:80]!r} is given twice, in lines {lines[form]} and {line}; "
                        "remove one",
                        key,
                    )
                lines[form] = line
        return node


class _Expansion:
    """Measures a document with expanded aliases."""

    def __init__(self, limits: YamlLimits) -> None:
        self._limits = limits
        self._known: dict[int, tuple[int, int]] = {}
        self._around: set[int] = set()

    def measure(self, node: yaml.Node, depth: int) -> tuple[int, int]:
        """Return the number of nodes and characters of a node."""
        if id(node) in self._around:
            _refuse("a value contains itself, by an alias", node)
        if depth > self._limits.depth:
            _refuse(f"it is nested more than {self._limits.depth} deep", node)
        if id(node) in self._known:
            return self._known[id(node)]
        nodes, characters = 1, 0
        self._around.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            characters = len(node.value)
        else:
            for part in _parts(node):
                more, longer = self.measure(part, depth + 1)
                nodes, characters = nodes + more, characters + longer
        self._around.discard(id(node))
        if nodes > self._limits.nodes or characters > self._limits.characters:
            _refuse(
                f"its aliases expand to more than {self._limits.nodes} values or "
                f"{self._limits.characters} characters",
                node,
            )
        self._known[id(node)] = nodes, characters
        return nodes, characters


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value)


def _text(loader: _Loader, node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        _refuse("expected a single value", node)
    return str(node.value)


def _null(loader: _Loader, node: yaml.Node) -> None:
    _text(loader, node)


def _bool(loader: _Loader, node: yaml.Node) -> bool:
    text = _text(loader, node).lower()
    if text not in loader.bool_values:
        _refuse(f"{text[:40]!r} is neither true nor false", node)
    return bool(loader.bool_values[text])


def _int(loader: _Loader, node: yaml.Node) -> int:
    text = _text(loader, node).replace("_", "")
    if len(text) > _DIGITS:
        _refuse(f"a number has {len(text)} digits; {_DIGITS} are allowed", node)
    if not _INT.match(text):
        _refuse(f"{text!r} is not an integer", node)
    return int(text, 16 if "x" in text else 10)


def _float(loader: _Loader, node: yaml.Node) -> float:
    text = _text(loader, node).replace("_", "").lower()
    if len(text) > 2 * _DIGITS:
        _refuse(f"a number has {len(text)} digits; {2 * _DIGITS} are allowed", node)
    if not (_FLOAT.match(text) or _INT.match(text)):
        _refuse(f"{text!r} is not a number", node)
    infinite = text.endswith((".inf", ".nan"))
    value = float(text.replace(".inf", "inf").replace(".nan", "nan"))
    if math.isinf(value) and not infinite:
        _refuse(f"{text!r} is too large; write .inf for infinity", node)
    return value


def _unknown(loader: _Loader, node: yaml.Node) -> NoReturn:
    _refuse(f"the tag {str(node.tag)[:80]!r} is not supported; use plain values", node)


_Loader.add_constructor(_TAG + "str", _text)
_Loader.add_constructor(_TAG + "null", _null)
_Loader.add_constructor(_TAG + "bool", _bool)
_Loader.add_constructor(_TAG + "int", _int)
_Loader.add_constructor(_TAG + "float", _float)
_Loader.add_constructor(_TAG + "seq", yaml.SafeLoader.construct_yaml_seq)
_Loader.add_constructor(_TAG + "map", yaml.SafeLoader.construct_yaml_map)
_Loader.add_constructor(None, _unknown)
_Loader.add_implicit_resolver(_TAG + "int", _INT, list("-+0123456789"))
_Loader.add_implicit_resolver(_TAG + "float", _FLOAT, list("-+0123456789."))
_Loader.add_implicit_resolver(
    _TAG + "bool",
    re.compile(r"(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)\Z"),
    list("yYnNtTfFoO"),
)
_Loader.add_implicit_resolver(
    _TAG + "null", re.compile(r"(?:~|null|Null|NULL|)\Z"), ["~", "n", "N", ""]
)
_Loader.add_implicit_resolver(_TAG + "merge", re.compile(r"<<\Z"), ["<"])
