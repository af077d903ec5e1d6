"""Object code is loaded by LLVM: with its own symbols, checked, protected, or not at all."""

from __future__ import annotations

import ctypes
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ludus.kernel.native.cpython import symbol_address
from ludus.kernel.native.load import UnusableCode, compile_ir, load, needed_symbols, target

pytest.importorskip("llvmlite")

CALL = """
@labs = external global ptr
@ludus.number = external global i64
@unused = external global ptr
define i64 @f() {
  %given = load i64, ptr @ludus.number
  %result = call i64 @labs(i64 %given)
  ret i64 %result
}
"""


def called(address):
    return ctypes.CFUNCTYPE(ctypes.c_int64)(address)()


def test_symbols_are_resolved():
    number = ctypes.c_int64(-7)
    code = compile_ir(CALL, "f")
    assert code.needs == ("labs", "ludus.number")
    assert code.target == target()
    assert called(load(code, {"ludus.number": ctypes.addressof(number)})) == 7


def test_symbols_belong_to_one_function():
    """The same name stands for another address in each engine, and for none in the process."""
    code = compile_ir(CALL, "f")
    numbers = [ctypes.c_int64(-value) for value in (3, 4)]
    loaded = [load(code, {"ludus.number": ctypes.addressof(number)}) for number in numbers]
    assert [called(address) for address in loaded] == [3, 4]
    with pytest.raises(UnusableCode, match=r"called ludus\.number"):
        load(code, {})


def test_a_symbol_that_nobody_has_is_refused():
    code = compile_ir(CALL.replace("labs", "no_such_function"), "f")
    with pytest.raises(UnusableCode, match="no_such_function"):
        load(code, {"ludus.number": 4096})


def test_code_for_another_processor_is_refused():
    code = compile_ir(CALL, "f")
    with pytest.raises(UnusableCode, match="another"):
        load(code._replace(target="another"), {"ludus.number": 4096})


def test_a_function_that_is_not_there_is_refused():
    code = compile_ir(CALL, "f")
    with pytest.raises(UnusableCode, match="no function g"):
        load(code._replace(symbol="g"), {"ludus.number": 4096})


NEEDS = {
    "functions": ("declare i64 @labs(i64)\n call i64 @labs(i64 1)", ["labs"]),
    "quoted names": ('declare void @"a$b.c"()\n call void @"a$b.c"()', ["a$b.c"]),
    "attributes": ("declare noundef i64 @labs(i64) #0\n call i64 @labs(i64 1)", ["labs"]),
    "variables": ("@x = external global ptr\n load ptr, ptr @x", ["x"]),
    "constants": ("@x = external constant i8\n load i8, ptr @x", ["x"]),
    "local variables": (
        "@x = external local_unnamed_addr global ptr\n load ptr, ptr @x",
        ["x"],
    ),
    "what nobody calls": ("declare i64 @labs(i64)\n@labs2 = global i8 0", []),
    "names that begin alike": ("declare i64 @a(i64)\ndeclare i64 @ab(i64)\n call @ab", ["ab"]),
    "what is defined": ("@x = common global ptr null\n load ptr, ptr @x\ndefine void @f()", []),
    "memory": ("declare void @llvm.memset.p0.i64(ptr)\n @llvm.memset.p0.i64", ["memset"]),
    "mathematics": (
        "declare double @llvm.pow.f64()\ndeclare float @llvm.sin.f32()\n"
        " @llvm.pow.f64 @llvm.sin.f32",
        ["pow", "sinf"],
    ),
    "instructions": ("declare i64 @llvm.ctpop.i64(i64)\n @llvm.ctpop.i64", []),
    "remainders": ("%a = frem double %b, %c\n %d = frem fast float %e, %f", ["fmod", "fmodf"]),
}


@pytest.mark.parametrize("case", NEEDS.values(), ids=NEEDS.keys())
def test_names_that_code_needs(case):
    ir, expected = case
    assert list(needed_symbols(ir)) == expected


def test_numba_code_lists_what_it_needs():
    numba = pytest.importorskip("numba")
    from ludus.kernel.native.calls import numba_code

    def angle(x):
        return math.tanh(x)

    code = numba_code(numba.njit(numba.float64(numba.float64), no_cpython_wrapper=True)(angle))
    assert "tanh" in code.needs


def test_symbols_of_the_process():
    assert (
        symbol_address("PyLong_FromLongLong")
        == ctypes.cast(ctypes.pythonapi.PyLong_FromLongLong, ctypes.c_void_p).value
    )
    with pytest.raises(LookupError):
        symbol_address("no_such_function")


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")
def test_memory_is_protected():
    source = """
        @constant = internal constant i64 1
        @variable = internal global i64 1
        define i64 @f(i64 %which) {
          %changed = load volatile i64, ptr @variable
          store volatile i64 %changed, ptr @variable
          switch i64 %which, label %code [ i64 1, label %c  i64 2, label %v ]
        code:
          ret i64 ptrtoint (ptr @f to i64)
        c:
          ret i64 ptrtoint (ptr @constant to i64)
        v:
          ret i64 ptrtoint (ptr @variable to i64)
        }
    """
    address = load(compile_ir(source, "f"), {})
    ask = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)
    code, constant, variable = (rights(ask(which)) for which in range(3))
    assert (code, variable) == ("r-xp", "rw-p")
    assert "w" not in constant


def rights(address):
    """Return the rights of the memory at an address, as the system writes them."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end, found = re.match(r"(\w+)-(\w+) (\S+)", line).groups()
        if int(begin, 16) <= address < int(end, 16):
            return found
    raise AssertionError("not mapped")


RUN = """
import sys
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
print(hashlib.sha256(repr(seen).encode()).hexdigest(), "numba" in sys.modules)
"""


def start(folder):
    return subprocess.Popen(
        [sys.executable, "-c", RUN],
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


def test_warm_starts_need_no_compiler_even_at_once(warm):
    folder, expected = warm
    both = [start(folder), start(folder)]
    assert [result(process) for process in both] == [[expected, "False"]] * 2
