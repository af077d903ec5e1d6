"""Structured calls, and that they are the commands that they stand for."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ludus.research.tools.calls import WrongCall, command_line, tool_schemas
from ludus.research.tools.inside.table import TOOLS
from ludus.research.tools.installing import installed


@pytest.mark.parametrize(
    ("tool", "arguments", "line"),
    [
        ("goto", {"line": 12}, "goto 12"),
        ("open", {"path": "a b.py", "line": 3}, "open 'a b.py' 3"),
        ("open", {"path": "a.py", "line": None}, "open a.py"),
        ("search_dir", {"text": "$(rm -rf /)"}, "search_dir '$(rm -rf /)'"),
        ("submit", {}, "submit"),
    ],
)
def test_command_lines(tool, arguments, line):
    assert command_line(tool, arguments) == line


@pytest.mark.parametrize("text", ["", "x", "x\n", "a'b\n$HOME `id`\n", "END_\nEND\n", "é\\n"])
def test_text_arrives_as_it_is(text):
    line = command_line("insert", {"line": 0, "text": text})
    program = f"insert() {{ cat; }}; {line}"
    got = subprocess.run(["bash", "-c", program], capture_output=True, check=True).stdout.decode()
    assert got == (text if not text or text.endswith("\n") else text + "\n")


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("opne", {}, "Did you mean 'open'"),
        ("frobnicate", {}, "There are: shell, open"),
        ("goto", {}, "needs the argument 'line'"),
        ("goto", {"line": "3"}, "expected a whole number"),
        ("goto", {"line": True}, "expected a whole number"),
        ("goto", {"line": 10**5000}, "at most 18 digits"),
        ("open", {"path": 3}, "expected a text"),
        ("submit", {"score": 1}, "no argument 'score'"),
    ],
)
def test_wrong_calls_say_what_is_wrong(tool, arguments, words):
    with pytest.raises(WrongCall, match=words):
        command_line(tool, arguments)


def test_every_tool_has_a_schema_and_a_command(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path))
    schemas = {made["function"]["name"]: made["function"] for made in tool_schemas()}
    assert list(schemas) == ["shell", *TOOLS, "jobs"]
    assert schemas["edit"]["parameters"]["required"] == ["lines", "text"]
    folder = installed()
    assert installed() == folder
    assert {path.name for path in (folder / "bin").iterdir()} == set(TOOLS)
    done = subprocess.run(
        shlex.split(f"{folder}/bin/goto 1"),
        env={"PATH": "/usr/bin:/bin", "LUDUS_TOOL_STATE": str(tmp_path / "state")},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"No file is open" in done.stderr
