"""Processors are told apart, without a compiler."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.kernel.native import processor
from ludus.kernel.native.processor import machine

ASK = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
from ludus.kernel.native.processor import machine
print(machine(), "llvmlite" in sys.modules)
"""
BIG = "CPU implementer : 0x41\nCPU part : 0xd0b\nCPU revision : 1\nFeatures : fp asimd sve\n"
LITTLE = "CPU implementer : 0x41\nCPU part : 0xd05\nCPU revision : 0\nFeatures : fp asimd\n"
X86 = "vendor_id : AuthenticAMD\nmodel : 17\nflags : fpu avx2 fma\ncpu MHz : 3000\n"


@pytest.fixture(autouse=True)
def ask_again():
    machine.cache_clear()
    yield
    machine.cache_clear()


def cpuinfo(monkeypatch, *blocks):
    """Let the system tell of these processors; return the name."""
    text = "\n".join(f"processor : {k}\n{block}" for k, block in enumerate(blocks))
    monkeypatch.setattr(Path, "read_text", lambda path, **options: text)
    machine.cache_clear()
    return machine()


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_every_processor_of_a_machine_has_the_same_name():
    told = {
        subprocess.run(
            [sys.executable, "-c", ASK, str(number)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for number in sorted(os.sched_getaffinity(0))[:3]
    }
    assert told == {f"{machine()} False\n"}


def test_several_kinds_of_processors(monkeypatch):
    both = cpuinfo(monkeypatch, BIG, LITTLE, LITTLE)
    assert cpuinfo(monkeypatch, LITTLE, BIG) == both
    assert cpuinfo(monkeypatch, BIG, BIG) != both
    assert cpuinfo(monkeypatch, LITTLE) != cpuinfo(monkeypatch, BIG)


def test_what_a_processor_can_do_is_part_of_the_name(monkeypatch):
    usual = cpuinfo(monkeypatch, X86)
    assert cpuinfo(monkeypatch, X86.replace("avx2", "avx512f")) != usual
    assert cpuinfo(monkeypatch, X86.replace("model : 17", "model : 18")) != usual
    assert cpuinfo(monkeypatch, X86.replace("3000", "2400")) == usual


def test_a_system_that_does_not_tell(monkeypatch):
    def refuse(path, **options):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(Path, "read_text", refuse)
    assert processor._listed() == ""
    assert len(machine()) == 8
