"""Object code gets into memory without LLVM: where it belongs, protected, or not at all."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.kernel import loader
from ludus.kernel.code_memory import CodeMemory
from ludus.kernel.cpython import symbol_address
from ludus.kernel.object_file import DamagedObject, UnknownObject, read_object
from ludus.kernel.relocation import PROCESSORS

pytestmark = pytest.mark.skipif(not loader.is_possible(), reason="LLVM loads the code here")
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="code for x86-64")


def assemble(text):
    """Return the object code of a text in assembly language."""
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()
    text = text.strip().replace('"', "\\22")
    lines = "\n".join(f'module asm "{line.strip()}"' for line in text.splitlines())
    target = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return target.emit_object(llvm.parse_assembly(lines))


def call(text, **places):
    """Load a function ``f`` and return what it returns."""

    def find(name):
        return places[name] if name in places else symbol_address(name)

    address = loader.load(assemble(text), "f", find)
    return ctypes.CFUNCTYPE(ctypes.c_int64)(address)()


X86 = {
    "a place anywhere": "f: movabsq $labs, %rax\n movq $-7, %rdi\n jmp *%rax",
    "a place nearby": "f: leaq number(%rip), %rax\n movq (%rax), %rax\n ret\n number: .quad 7",
    "other sections": """
        f: movq number(%rip), %rax
        addq more(%rip), %rax
        ret
        .section .rodata
        .p2align 6
        number: .quad 3
        .data
        more: .quad 4
    """,
    "variables": """
        f: movq $7, counter(%rip)
        movq counter(%rip), %rax
        ret
        .bss
        .p2align 4
        counter: .zero 16
    """,
    "common variables": """
        .comm counter,8,8
        .text
        f: movq $7, counter(%rip)
        movq counter(%rip), %rax
        ret
    """,
    "calls": "f: movq $-7, %rdi\n subq $8, %rsp\n call labs@PLT\n addq $8, %rsp\n ret",
    "calls through a slot": "f: movq $-7, %rdi\n jmp *labs@GOTPCREL(%rip)",
    "addresses in a slot": "f: movq labs@GOTPCREL(%rip), %rax\n movq $-7, %rdi\n jmp *%rax",
    "a slot as a number": """
        f: movslq way(%rip), %rax
        leaq way(%rip), %rcx
        movq $-7, %rdi
        jmp *(%rax,%rcx)
        way: .long labs@GOTPCREL
    """,
    "a long way": """
        f: movq way(%rip), %rax
        leaq way(%rip), %rcx
        addq %rcx, %rax
        movq $-7, %rdi
        jmp *%rax
        .section .rodata
        way: .quad labs - .
    """,
    "a table": """
        f: leaq table(%rip), %rax
        movq $-7, %rdi
        jmp *8(%rax)
        .section .data.rel.ro,"aw",@progbits
        .p2align 3
        table: .quad 0
        .quad labs
    """,
}


@on_x86
@pytest.mark.parametrize("text", X86.values(), ids=X86.keys())
def test_x86_relocations(text):
    assert call(f".globl f\n{text}") == 7


@on_x86
def test_names_may_be_given_places():
    text = ".globl f\nf: movabsq $ludus.number, %rax\n movq (%rax), %rax\n ret"
    number = ctypes.c_int64(7)
    assert call(text, **{"ludus.number": ctypes.addressof(number)}) == 7


REFUSED = {
    "an unknown symbol": "f: movabsq $no_such_function, %rax\n ret",
    "a symbol that may be missing": ".weak maybe\nf: movabsq $maybe, %rax\n ret",
    "a place too far for 32 bits": "f: movl $labs, %eax\n ret",
    "a place too far for 32 bits with a sign": "f: movq $labs, %rax\n ret",
    "a place too far away": "f: leaq far(%rip), %rax\n ret",
    "variables of a thread": "f: movq x@GOTTPOFF(%rip), %rax\n ret",
    "a section of a thread": 'f: ret\n.section .tdata,"awT",@progbits\n .quad 1',
    "code at the start": 'f: ret\n.section .init_array,"aw",@init_array\n .quad f',
    "code that writes itself": 'f: ret\n.section .x,"awx",@progbits\n .quad 1',
    "too much": "f: ret\n.comm big,1000000000000,8",
    "an odd alignment": "f: ret\n.comm big,8,1048576",
    "no function": "g: ret",
    "a variable": ".data\nf: .quad 1",
}


@on_x86
@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_what_is_not_understood_is_refused(text):
    code = assemble(f".globl f\n{text}" if text[0] == "f" else text)

    def find(name):
        return 4096 if name == "far" else symbol_address(name)

    with pytest.raises(UnknownObject):
        loader.load(code, "f", find)


def test_code_for_another_processor_is_refused():
    code = bytearray(assemble(".globl f\nf: ret"))
    code[18:20] = (8).to_bytes(2, "little")
    with pytest.raises(UnknownObject, match="kind 8"):
        loader.load(bytes(code), "f", symbol_address)


@pytest.mark.parametrize("code", [b"", b"MZ\x90", b"\xcf\xfa\xed\xfe" + bytes(60)])
def test_other_formats_are_refused(code):
    with pytest.raises(UnknownObject):
        read_object(code)


# Kind of relocation, instruction before and after, where it is and where the symbol is.
ARM = {
    "movk x8, #0xcdef": (264, 0xF2800008, 0xF299BDE8, 0, 0x0123456789ABCDEF),
    "movk x8, #0x89ab, lsl 16": (266, 0xF2A00008, 0xF2B13568, 0, 0x0123456789ABCDEF),
    "movk x8, #0x4567, lsl 32": (268, 0xF2C00008, 0xF2C8ACE8, 0, 0x0123456789ABCDEF),
    "movz x8, #0x123, lsl 48": (269, 0xD2E00008, 0xD2E02468, 0, 0x0123456789ABCDEF),
    "bl 0x1000": (283, 0x94000000, 0x94000400, 0x10000, 0x11000),
    "bl -0x1000": (283, 0x94000000, 0x97FFFC00, 0x11000, 0x10000),
    "b 8": (282, 0x14000000, 0x14000002, 0x10000, 0x10008),
    "adrp x3, 0x5000": (275, 0x90000003, 0xB0000023, 0x10ABC, 0x15123),
    "adrp x3, -0x3000": (275, 0x90000003, 0xB0FFFFE3, 0x13ABC, 0x10FFF),
    "adrp x3, 0x5000 (slot)": (311, 0x90000003, 0xB0000023, 0x10ABC, 0x15120),
    "ldr x3, [x4, #0x128] (slot)": (312, 0xF9400083, 0xF9409483, 0, 0x15128),
    "add x3, x4, #0xabc": (277, 0x91000083, 0x912AF083, 0, 0x15ABC),
    "ldrb w3, [x4, #0xabc]": (278, 0x39400083, 0x396AF083, 0, 0x15ABC),
    "ldrh w3, [x4, #0xabc]": (284, 0x79400083, 0x79557883, 0, 0x15ABC),
    "ldr w3, [x4, #0xabc]": (285, 0xB9400083, 0xB94ABC83, 0, 0x15ABC),
    "ldr x3, [x4, #0xab8]": (286, 0xF9400083, 0xF9455C83, 0, 0x15AB8),
    "ldr q3, [x4, #0xab0]": (299, 0x3DC00083, 0x3DC2AC83, 0, 0x15AB0),
    ".word 8": (261, 0, 8, 0x10000, 0x10008),
}


@pytest.mark.parametrize("case", ARM.values(), ids=ARM.keys())
def test_aarch64_relocations(case):
    kind, before, after, place, address = case
    image = bytearray(before.to_bytes(4, "little"))
    rule = PROCESSORS[183].rules[kind]
    rule.write(image, 0, place, address)
    assert f"{int.from_bytes(image, 'little'):08x}" == f"{after:08x}"
    assert rule.size == 4


@pytest.mark.parametrize(("kind", "expected"), [(257, 0x10000), (260, -8)])
def test_aarch64_numbers(kind, expected):
    image = bytearray(8)
    PROCESSORS[183].rules[kind].write(image, 0, 0x10008, 0x10000)
    assert int.from_bytes(image, "little", signed=True) == expected


@pytest.mark.parametrize(
    ("kind", "address"), [(283, 2**27), (283, 6), (275, 2**32), (286, 4), (261, 2**31)]
)
def test_aarch64_places_out_of_reach(kind, address):
    with pytest.raises(UnknownObject):
        PROCESSORS[183].rules[kind].write(bytearray(8), 0, 0, address)


def rights(address):
    """Return the rights of the memory at an address, as the system writes them."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end, found = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
        if int(begin, 16) <= address < int(end, 16):
            return found
    raise AssertionError("not mapped")


@on_x86
def test_memory_is_protected():
    text = """
        .globl f
        f: leaq {}(%rip), %rax
        ret
        .section .rodata
        constant: .quad 1
        .data
        variable: .quad 1
    """
    places = {name: call(text.format(name)) for name in ("f", "constant", "variable")}
    found = {name: rights(place) for name, place in places.items()}
    assert found == {"f": "r-xp", "constant": "r--p", "variable": "rw-p"}


def test_memory_that_may_not_be_run_is_refused(monkeypatch):
    def protect(self, begin, end, *, run):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(CodeMemory, "protect", protect)
    code = assemble(".globl f\nf: ret")
    with pytest.raises(UnknownObject, match="does not allow it"):
        loader.load(code, "f", symbol_address)


def test_protected_memory_is_whole_pages():
    memory = CodeMemory(mmap.PAGESIZE + 1)
    assert len(memory.image) == 2 * mmap.PAGESIZE
    memory.protect(mmap.PAGESIZE, 2 * mmap.PAGESIZE, run=False)
    memory.image[0] = 1
    assert rights(memory.address + mmap.PAGESIZE) == "r--p"


RUN = """
import sys
{before}
import numpy as np
import ludus
env = ludus.make("CartPole-v1")
seen = [env.reset(seed=3)[0].tobytes()]
for k in range(20):
    seen.append(repr(env.step(k % 2)))
envs = ludus.make_vec("MinAtar/Breakout-v1", 8, vectorization_mode="vector_entry_point")
envs.reset(seed=3)
for k in range(20):
    observation, reward, *_ = envs.step(np.full(8, k % 3))
    seen += [observation.tobytes(), reward.tobytes()]
envs = ludus.make_vec("CartPole-v1", 4096, num_threads=2)
envs.reset(seed=3)
for k in range(20):
    seen.append(envs.step(np.full(4096, k % 2))[0].tobytes())
seen += [part.tobytes() for part in envs.rollout(np.ones((5, 4096), np.int64))[:3]]
import hashlib
loaded = [name for name in ("numba", "llvmlite") if name in sys.modules]
both = [line for line in open("/proc/self/maps") if "wx" in line.split()[1]]
print(hashlib.sha256(repr(seen).encode()).hexdigest(), len(both), *loaded)
"""
BY_LLVM = """
from ludus.kernel import loader
loader.is_possible = lambda: False
"""


def start(folder, before=""):
    return subprocess.Popen(
        [sys.executable, "-c", RUN.format(before=before)],
        env={**os.environ, "LUDUS_CACHE": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )


def result(process):
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return told.split()


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A folder with all that is needed, and what comes out with it."""
    folder = tmp_path_factory.mktemp("cache")
    return folder, result(start(folder))[0]


def test_a_warm_start_needs_no_compiler(warm):
    folder, expected = warm
    assert result(start(folder)) == [expected, "0"]


def test_two_processes_load_at_once(warm):
    folder, expected = warm
    both = [start(folder), start(folder)]
    assert [result(process) for process in both] == [[expected, "0"]] * 2


def test_llvm_loads_the_same(warm):
    folder, expected = warm
    told = result(start(folder, BY_LLVM))
    assert (told[0], told[2:]) == (expected, ["llvmlite"])


CHANGES = """
import sys
from pathlib import Path
from ludus.kernel import loader
from ludus.kernel.kept_code import kept
from ludus.kernel.object_file import DamagedObject, UnknownObject

counts = {"loaded": 0, "damaged": 0, "unknown": 0}

def attempt(code, symbol):
    try:
        loader.load(code, symbol, lambda name: 4096)
        counts["loaded"] += 1
    except DamagedObject:
        counts["damaged"] += 1
    except UnknownObject:
        counts["unknown"] += 1
    loader._kept.clear()

symbol, code = kept(Path(sys.argv[1]))
begin = int.from_bytes(code[40:48], "little")
heads = code[begin:]
content = [(int.from_bytes(heads[k + 24 : k + 32], "little"),
            int.from_bytes(heads[k + 32 : k + 40], "little"))
           for k in range(0, len(heads), 64)
           if int.from_bytes(heads[k + 4 : k + 8], "little") in (2, 4)]
places = [*range(64), *range(begin, len(code))]
for first, size in content:
    places += range(first, first + min(size, 240))
for at in places:
    for value in (0, 255, code[at] ^ 1, code[at] ^ 128):
        attempt(code[:at] + bytes([value]) + code[at + 1 :], symbol)
for end in [*range(0, 80), *range(80, len(code), 37)]:
    attempt(code[:end], symbol)
print(counts["loaded"] > 0, counts["damaged"] > 0, counts["unknown"] > 0)
"""


def test_no_change_of_a_file_ends_the_process(warm):
    """Whatever its header, sections, symbols and relocations say, loading it is safe."""
    folder, _ = warm
    file = min((folder / "ludus" / "kernels").glob("*.o"), key=lambda file: file.stat().st_size)
    done = subprocess.run(
        [sys.executable, "-c", CHANGES, file], capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stdout.split()) == (0, ["True"] * 3), done.stderr


def test_a_cut_file_is_damaged_or_refused(warm):
    folder, _ = warm
    (file, *_) = sorted((folder / "ludus" / "kernels").glob("shim*.o"))
    code = file.read_bytes().split(b"\n", 1)[1]
    assert read_object(code).sections
    with pytest.raises(DamagedObject):
        read_object(code[:-1])
    with pytest.raises(DamagedObject):
        read_object(code[:60])
