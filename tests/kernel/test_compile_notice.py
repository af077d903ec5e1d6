"""What is told about compiling."""

from __future__ import annotations

import io
import logging
import sys

from ludus.kernel.native.compile_notice import compile_notice


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_sees_a_line_that_goes_away(monkeypatch, caplog):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with caplog.at_level(logging.INFO, "ludus.kernel"), compile_notice("Pole", "step"):
        shown = sys.stderr.getvalue()
    assert "Compiling Pole" in shown
    line, cover, rest = sys.stderr.getvalue().split("\r")
    assert cover == " " * len(line)
    assert rest == ""
    assert "Compiled step of Pole in" in caplog.text


def test_a_file_gets_no_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with compile_notice("Pole", "step"):
        assert sys.stderr.getvalue() == ""
