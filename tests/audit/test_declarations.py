"""What environments declare, compared with what the code does."""

from __future__ import annotations

import pytest

from ludus.distribution import DISTRIBUTION
from tests.audit.support import make_wheel, rules

NETWORK = "import socket\ndef f(): socket.socket()\n"
PROGRAMS = "import subprocess\ndef f(): subprocess.run(['ls'])\n"
FILES = "def f(): open('/data/levels/1.txt')\n"


def suspect(tmp_path, registration, code=NETWORK + PROGRAMS + FILES, **fields):
    header = "import ludus\nfrom ludus import SecuritySpec, register\n"
    files = {"pkg/__init__.py": header + registration, "pkg/code.py": code}
    return {
        rule
        for rule in rules(make_wheel(tmp_path, files, **fields))
        if "declar" in rule or "claims" in rule
    }


NONE = {"undeclared-network", "undeclared-subprocess", "undeclared-file"}


@pytest.mark.parametrize(
    ("registration", "expected"),
    [
        ("register('A-v0', 'pkg:A')", NONE),
        ("ludus.register(id='A-v0', entry_point='pkg:A', security=None)", NONE),
        ("import ludus as gym\ngym.register('A-v0', 'pkg:A')", NONE),
        ("from ludus.registration import register as r\nr('A-v0', 'pkg:A')", NONE),
        ("register('A-v0', 'pkg:A', security=SecuritySpec(network='none'))", NONE),
        ("register('A-v0', 'pkg:A', security=SecuritySpec(network='host'))",
         NONE - {"undeclared-network"}),
        ("register('A-v0', 'pkg:A', security=SecuritySpec(subprocess=True))",
         NONE - {"undeclared-subprocess"}),
        ("register('A-v0', 'pkg:A', security=SecuritySpec(filesystem=('/data',)))",
         NONE - {"undeclared-file"}),
        ("register('A-v0', 'pkg:A', security=SecuritySpec(filesystem=('/dat',)))", NONE),
        ("S = SecuritySpec((), 'host', ('/data/levels',), True)\n"
         "register('A-v0', 'pkg:A', security=S)", set()),
        ("def specs(): return [ludus.EnvSpec('A-v0', 'pkg:A')]", NONE),
        ("register('A-v0', 'pkg:A', security=make())", {"unreadable-declaration"}),
        ("register('A-v0', 'pkg:A', security=SecuritySpec(network=x))", {"unreadable-declaration"}),
        ("register('A-v0', 'pkg:A', security=SecuritySpec(trust='builtin', network='host',"
         " subprocess=True, filesystem=('/data',)))", {"claims-builtin"}),
        ("x = 1", set()),
        ("def register(*a): pass\natexit.register(1)", set()),
    ],
)  # fmt: skip
def test_mismatches(registration, expected, tmp_path):
    assert suspect(tmp_path, registration) == expected


def test_what_is_not_done_need_not_be_declared(tmp_path):
    assert suspect(tmp_path, "register('A-v0', 'pkg:A')", "x = 1\n") == set()


@pytest.mark.parametrize(
    ("name", "expected"),
    [(DISTRIBUTION, set()), ("ludus_Gym", set()), ("ludus", {"claims-builtin"})],
)
def test_only_ludus_itself_may_register_what_is_builtin(name, expected, tmp_path):
    trusted = "register('A-v0', 'pkg:A', security=SecuritySpec(trust='builtin'))"
    assert suspect(tmp_path, trusted, "x = 1\n", name=name) == expected
