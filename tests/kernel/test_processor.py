"""Processors are told apart, without a compiler."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.kernel import processor
from ludus.kernel.code_memory import CodeMemory
from ludus.kernel.processor import machine

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LLVM tells them apart here")

ASK = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
from ludus.kernel.processor import machine
print(machine(), "llvmlite" in sys.modules)
"""
BIG = "CPU implementer : 0x41\nCPU part : 0xd0b\nCPU revision : 1\nFeatures : fp asimd sve\n"
LITTLE = "CPU implementer : 0x41\nCPU part : 0xd05\nCPU revision : 0\nFeatures : fp asimd\n"


@pytest.fixture(autouse=True)
def ask_again():
    machine.cache_clear()
    yield
    machine.cache_clear()


def cpuinfo(monkeypatch, *blocks):
    """Let the system tell of these processors; return the hash."""
    text = "\n".join(f"processor : {k}\n{block}" for k, block in enumerate(blocks))
    monkeypatch.setattr(Path, "read_text", lambda path: text)
    return processor._aarch64()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="another processor")
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


@pytest.mark.skipif(platform.machine() != "x86_64", reason="asks an x86")
def test_what_a_processor_can_do_is_part_of_the_name():
    told = dict(part.split(":") for part in processor._x86_64().split("|")[:-1])
    ecx = int(told["1.0"].split(",")[1], 16)
    flags = next(
        line.split()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("flags")
    )
    for bit, flag in ((0, "pni"), (19, "sse4_1"), (28, "avx"), (12, "fma")):
        assert bool(ecx >> bit & 1) == (flag in flags)


def test_several_kinds_of_processors(monkeypatch):
    both = cpuinfo(monkeypatch, BIG, LITTLE, LITTLE)
    assert cpuinfo(monkeypatch, LITTLE, BIG) == both
    assert cpuinfo(monkeypatch, BIG, BIG) != both
    assert cpuinfo(monkeypatch, LITTLE) != cpuinfo(monkeypatch, BIG)
    assert "sve" in cpuinfo(monkeypatch, BIG)


def test_llvm_is_asked_where_the_system_does_not_tell(monkeypatch):
    pytest.importorskip("llvmlite")
    usual = machine()
    machine.cache_clear()
    with pytest.raises(ValueError, match="does not tell"):
        cpuinfo(monkeypatch, "nothing : known")

    def refuse(self, begin, end, *, run):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(CodeMemory, "protect", refuse)
    assert processor._on_linux() is None
    assert machine() != usual
