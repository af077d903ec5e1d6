"""YAML from anybody: every attack ends in one error that names the line, and none in a hang."""

from __future__ import annotations

import math

import pytest

from ludus.bench.planning.suite import parse_suite
from ludus.errors import ResearchError, SuiteError, TaskError
from ludus.plain_yaml import YamlError, YamlLimits, read_yaml
from ludus.research.agents.simple import ScriptedAgent
from ludus.research.running.agents import parse_options
from ludus.research.task.config_file import parse_config

pytestmark = pytest.mark.timeout(60)


def billion(levels=12, width=9):
    lines = ["a0: &a0 [x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * width)}]" for i in range(1, levels)]
    return "\n".join(lines)


def merges(levels=12, width=9):
    lines = ["a0: &a0 {k0: 1}"]
    lines += [
        f"a{i}: &a{i} {{k{i}: 1, <<: [{', '.join([f'*a{i - 1}'] * width)}]}}"
        for i in range(1, levels)
    ]
    return "\n".join(lines)


ATTACKS = {
    "laughs": (billion(), 6, "aliases expand"),
    "merge bomb": (merges(), 5, "aliases expand"),
    "long text by aliases": (
        f"a: &a {'x' * 50_000}\nb: [{', '.join(['*a'] * 50)}]",
        2,
        "aliases expand",
    ),
    "contains itself": ("a: &a [1, *a]", 1, "contains itself"),
    "merges itself": ("a: &a\n  b: 1\n  <<: *a", 1, "contains itself"),
    "contains itself as key": ("a: &a {? *a : 1}", 1, "a key must be a scalar"),
    "deep lists": ("a: " + "[" * 100_000, 1, "deep"),
    "deep mappings": ("a: " + "{a: " * 100_000, 1, "deep"),
    "deep block": ("\n".join(" " * i + "a:" for i in range(200)), 40, "deep"),
    "deep keys": ("? " * 50_000, 1, "deep"),
    "many values": ("a: [" + "1, " * 100_000 + "]", 1, "more than 20000 values"),
    "long": ("#" * 1_000_001, 1, "1000001 characters"),
    "long text": (f"b: 1\na: {'x' * 300_000}", 2, "a text has 300000"),
    "digits": (f"b: 1\na: {'9' * 100_000}", 2, "100000 digits"),
    "hexadecimal digits": (f"a: 0x{'f' * 100_000}", 1, "100002 digits"),
    "float digits": (f"a: 1.{'9' * 100_000}", 1, "100002 digits"),
    "large float": ("a: 1.0e+999999", 1, "too large"),
    "key twice": ("b: 1\na: 2\nb: 3", 3, "'b' is given twice, in lines 1 and 3"),
    "key twice in other forms": ("1: a\n0x1: b", 2, "'0x1' is given twice"),
    "merge twice": ("a: &a {b: 1}\nc:\n  <<: *a\n  <<: *a", 4, "given twice"),
    "list as key": ("? [a]\n: b", 1, "a key must be a scalar"),
    "tagged date": ("b: 1\na: !!timestamp 2026-99-99", 2, "timestamp' is not supported"),
    "tagged binary": ("a: !!binary aGVsbG8=", 1, "binary' is not supported"),
    "tagged set": ("a: !!set {b}", 1, "set' is not supported"),
    "tagged code": ("a: !!python/object/apply:os.system [id]", 1, "is not supported"),
    "own tag": ("a: !mine b", 1, "'!mine' is not supported"),
    "sexagesimal by tag": (f"a: !!int {':'.join(['1'] * 15)}", 1, "not an integer"),
    "long sexagesimal by tag": (f"a: !!int {'1:' * 90_000}1", 1, "180001 digits"),
    "no truth": ("a: !!bool perhaps", 1, "neither true nor false"),
    "no number": ("a: !!float many", 1, "not a number"),
    "text of a list": ("a: !!str [b]", 1, "expected a single value"),
    "list of a mapping": ("a: !!seq {b: c}", 1, "expected a sequence"),
    "mapping of a list": ("a: !!map [b]", 1, "expected a mapping"),
    "merge of a text": ("b: 1\n<<: c", 2, "expected a mapping"),
    "unknown alias": ("a: *b", 1, "undefined alias"),
    "two documents": ("a: 1\n---\nb: 2", 2, "another document"),
    "no such character": ('b: 1\na: "\\UFFFFFFFF"', 2, "invalid YAML"),
    "half a character": ('b: 1\na: "\\ud800"', 2, "surrogate"),
    "control character": ("b: 1\na: \x07", 2, "'\\\\x07' is not allowed"),
    "unbalanced": ("b: 1\na: [1", 2, "expected"),
    "tab": ("a:\n\tb: 1", 2, "cannot start any token"),
    "directive": ("%YAML 9.9\n---\na: 1", 1, "incompatible"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_attacks(attack):
    text, line, words = ATTACKS[attack]
    with pytest.raises(YamlError, match=words) as caught:
        read_yaml(text)
    assert caught.value.line == line
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_reader_of_yaml_tells_its_own_error(attack, tmp_path):
    text, line, _ = ATTACKS[attack]
    with pytest.raises(SuiteError, match=f"line {line}|characters"):
        parse_suite(text, "mine.yaml")
    with pytest.raises(TaskError, match=f"line {line}|characters"):
        parse_config(text, "task.yaml")
    if len(text) < 300_000:
        script = tmp_path / "script.yaml"
        script.write_text(text, "utf-8", "surrogatepass")
        with pytest.raises(ResearchError, match="script"):
            ScriptedAgent.from_file(script)
        with pytest.raises(ResearchError, match="no YAML"):
            parse_options([f"a={text}"])


def test_bytes_that_are_no_text():
    with pytest.raises(YamlError, match="line 2: it is not UTF-8"):
        read_yaml(b"a: 1\nb: \xff")
    assert read_yaml("\ufeffa: 1".encode()).data == {"a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-01-02", "2026-01-02"),
        ("2026-99-99", "2026-99-99"),
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
        ("1:30", "1:30"),
        ("1:30.5", "1:30.5"),
        (":".join(["1"] * 50_000), ":".join(["1"] * 50_000)),
        ("0777", "0777"),
        ("0", 0),
        ("-12", -12),
        ("+1_000_000", 1_000_000),
        ("0xff", 255),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1.0e-3", 0.001),
        ("1.5e3", 1500.0),
        ("-.inf", -math.inf),
        ("yes", True),
        ("off", False),
        ("null", None),
        ("~", None),
        ("=", "="),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
        ("[1, {a: b}]", [1, {"a": "b"}]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_values(text, value):
    found = read_yaml(f"a: {text}").data["a"]
    assert found == value
    assert type(found) is type(value)


def test_anchors_and_merges_within_limits():
    text = "a: &a {x: 1, y: 2}\nb: &b {<<: *a, y: 3}\nc: {<<: [*b, *a], z: *a}\n"
    assert read_yaml(text).data["c"] == {"x": 1, "y": 3, "z": {"x": 1, "y": 2}}


def test_limits_are_the_callers():
    with pytest.raises(YamlError, match="more than 3 values"):
        read_yaml("[1, 2, 3]", YamlLimits(nodes=3))
    with pytest.raises(YamlError, match="2 deep"):
        read_yaml("[[1]]", YamlLimits(depth=2))
    with pytest.raises(YamlError, match="5 characters; 4"):
        read_yaml("[abc]", YamlLimits(characters=4))


def test_lines_of_fields():
    document = read_yaml("a:\n  b: [1,\n    2]\nc: 3\n")
    assert [document.line_of(path) for path in [(), ("a",), ("a", "b", 1), ("c",), ("d",)]] == [
        1,
        1,
        3,
        4,
        1,
    ]
    assert read_yaml("").line_of(("a",)) == 1
