"""Sources made to break their reader: it dies alone, and the rest is still scanned."""

from __future__ import annotations

import psutil
import pytest

from ludus.audit.limits import Limits
from ludus.audit.scanning import scan_sources
from ludus.audit.target import Member

LIMITS = Limits(file_seconds=4.0, memory=400 * 2**20)
GOOD = b"import os\nos.system('x')\n"


def member(path, content):
    return Member(path, len(content), lambda most: content[:most])


BOMBS = {
    "parentheses": b"(" * 100_000,
    "brackets": b"[" * 5000 + b"]" * 5000,
    "signs": b"-" * 200_000 + b"1",
    "negations": b"not " * 100_000 + b"1",
    "a sum": b"+".join([b"a"] * 200_000),
    "attributes": b"a" + b".b" * 100_000,
    "calls": b"a" + b"()" * 100_000,
    "subscripts": b"a" + b"[0]" * 100_000,
    "lambdas": b"lambda:" * 50_000 + b"0",
    "conditions": b"1 if 1 else " * 50_000 + b"1",
    "elifs": b"if 1:\n pass\n" + b"elif 1:\n pass\n" * 20_000,
    "indentation": b"\n".join(b" " * i + b"if 1:" for i in range(500)),
    "a decimal": b"x = " + b"9" * 1_000_000,
    "f-strings": b'f"{' * 200 + b"1" + b'}"' * 200,
    "powers": b"9**" * 50_000 + b"9",
    "a long list": b"x=[" + b"1," * 1_500_000 + b"]",
}


@pytest.mark.parametrize("content", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_a_finding_and_the_next_file_is_read(content):
    scan = scan_sources([member("bomb.py", content), member("good.py", GOOD)], LIMITS)
    found = {(item.rule, item.path) for item in scan.findings}
    assert ("unscanned-file", "bomb.py") in found
    assert ("subprocess", "good.py") in found
    assert set(scan.sources) == {"good.py"}
    assert scan.incomplete == []


@pytest.mark.parametrize(
    "content",
    [
        b"x = 0x" + b"f" * 2_000_000,
        b"x = 9 ** 9 ** 9 ** 9",
        b"x = 'a' * 10 ** 12",
        b"import os\ngetattr(os, 'a' * 10 ** 12)",
        b"import os\ngetattr(os, '%1000000000d' % 1)",
        b"import os\ngetattr(os, '{:>1000000000}'.format('a'))",
        b"import os\ngetattr(os, 'a'.replace('', 'b' * 10 ** 9))",
        b"x = y = " * 20_000 + b"1",
        b"[x" + b" for x in y" * 20_000 + b"]",
        b"\n".join(b"def f%d(): return f%d() + f%d()" % (i, i + 1, i + 1) for i in range(300)),
        b"a = b\nb = a\na.b.a.b()\n" * 500,
    ],
)
def test_what_would_take_long_to_compute_is_not_computed(content):
    scan = scan_sources([member("a.py", content), member("good.py", GOOD)], LIMITS)
    assert "good.py" in scan.sources
    assert not [item for item in scan.findings if "seconds" in item.message]


def test_a_reader_out_of_time_is_killed(monkeypatch):
    import ludus.audit.scanning as scanning

    program = scanning._PROGRAM.replace("main()", "import time; time.sleep(600)")
    monkeypatch.setattr(scanning, "_PROGRAM", program)
    limits = Limits(file_seconds=0.3, failures=2)
    before = set(psutil.Process().children())
    scan = scan_sources([member(f"{number}.py", GOOD) for number in range(9)], limits)
    reasons = [item.message for item in scan.findings]
    assert sum("longer than 0.3 seconds" in reason for reason in reasons) == 3
    assert scan.incomplete
    assert set(psutil.Process().children()) <= before


@pytest.mark.parametrize("answer", ["nonsense", "[]", '{"hits": 1, "specs": []}', "{}"])
def test_a_reader_that_was_taken_over_is_not_believed(answer, monkeypatch):
    import ludus.audit.scanning as scanning

    program = f"import sys; sys.stdin.readline(); print({answer!r}, flush=True)"
    monkeypatch.setattr(scanning, "_PROGRAM", program)
    scan = scan_sources([member("a.py", GOOD)], LIMITS)
    assert [item.rule for item in scan.findings] == ["unscanned-file"]
    assert scan.sources == {}


def test_a_file_that_is_too_long_is_not_read():
    scan = scan_sources([member("a.py", b"#" * 101)], Limits(source=100))
    assert "longer than 100 bytes" in scan.findings[0].message
