"""Native code on disk and in the process: found again, not trusted blindly, called safely."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading

import pytest

import ludus
from ludus.kernel import compiled_program
from ludus.kernel.authoring.run_errors import compiled_error
from ludus.kernel.compiled_program import CompiledProgram
from ludus.kernel.native import calls
from ludus.kernel.native.cache import ObjectCode, cache_folder, keep, kept
from ludus.kernel.native.calls import native_address, native_function, numba_code
from tests.test_foreign_files import ODD, put

RUN = """
import logging
import ludus
told = logging.Handler()
told.emit = lambda record: compiled.append(record)
compiled = []
logging.getLogger("ludus.kernel").addHandler(told)
logging.getLogger("ludus.kernel").setLevel(logging.INFO)
env = ludus.make("NChain-v0").unwrapped
env.reset(seed=3)
total = sum(env.step(k % 2)[1] for k in range(50))
print(total, bool(compiled))
"""


def run(folder, **environment):
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        env={**os.environ, "LUDUS_CACHE": str(folder), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    total, compiled = done.stdout.split()
    return float(total), compiled == "True"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A file of compiled code, in a folder of its own."""
    folder = tmp_path_factory.mktemp("cache")
    run(folder)
    return sorted((folder / "ludus" / "kernels").glob("*.o"))[0]


DAMAGES = {
    "cut": lambda line, code: (line + b"\n" + code)[: len(code) // 2],
    "flipped": lambda line, code: line + b"\n" + code[:-1] + bytes([code[-1] ^ 1]),
    "empty": lambda line, code: b"",
    "text": lambda line, code: b"not code at all",
    "symbol": lambda line, code: line.replace(b'"symbol": "', b'"symbol": "x') + b"\n" + code,
    "list": lambda line, code: b"[1, 2]\n" + code,
    "header": lambda line, code: b'{"symbol": 3, "needs": 7, "sha256": null}\n' + code,
    "needs": lambda line, code: line.replace(b'"needs": [', b'"needs": ["x", ') + b"\n" + code,
    "target": lambda line, code: line.replace(b'"target": "', b'"target": "x') + b"\n" + code,
    "more": lambda line, code: line.replace(b"{", b'{"more": 1, ') + b"\n" + code,
    "pickle": lambda line, code: b"\x80\x04\x95cos\nsystem\n(S'false'\ntR.",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_not_read(file, tmp_path, damage):
    line, code = file.read_bytes().split(b"\n", 1)
    copy = tmp_path / file.name
    copy.write_bytes(DAMAGES[damage](line, code))
    assert kept(copy) is None
    copy.write_bytes(line + b"\n" + code)
    header = json.loads(line)
    expected = header["symbol"], code, tuple(header["needs"]), header["target"]
    assert kept(copy) == expected


def test_damaged_code_is_made_anew(file):
    folder = file.parents[2]
    expected, _ = run(folder)
    for other in file.parent.glob("*.o"):
        other.write_bytes(other.read_bytes()[:-100])
    assert run(folder) == (expected, True)
    assert run(folder) == (expected, False)


UNUSABLE = {
    "another processor": lambda code: code._replace(target=f"another {code.target}"),
    "a symbol that is gone": lambda code: code._replace(needs=("no_such_symbol", *code.needs)),
    "another function": lambda code: code._replace(symbol=f"{code.symbol}x"),
}


@pytest.mark.parametrize("change", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_code_that_cannot_run_here_is_made_anew(file, change):
    """Its hash is right, but this process cannot run it."""
    folder = file.parents[2]
    expected, _ = run(folder)
    for other in file.parent.glob("*.o"):
        keep(other, change(kept(other)))
    assert run(folder) == (expected, True)
    assert run(folder) == (expected, False)


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path))
    folder = tmp_path / "ludus" / "kernels"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    cache_folder.cache_clear()
    try:
        chosen = cache_folder()
        assert chosen != folder
        assert stat.S_IMODE(chosen.stat().st_mode) == 0o700
        folder.chmod(0o700)
        cache_folder.cache_clear()
        assert cache_folder() == folder
    finally:
        cache_folder.cache_clear()


def test_a_folder_that_cannot_be_written_costs_a_compile_only(tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    assert run(blocked, TMPDIR=str(tmp_path)) == (run(tmp_path)[0], True)


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    """A compiled function of an int and a double."""

    def build():
        from numba import njit, types

        def add(a, b):
            if a < 0:
                raise ValueError("negative")
            return a + int(b)

        options = {"error_model": "numpy"}
        return numba_code(njit(types.int64(types.int64, types.float64), **options)(add))

    def fail(address):
        raise compiled_error("Adder", address)

    path = tmp_path_factory.mktemp("native") / "add.o"
    address = native_address(path, build)
    return native_function("add", address, "if", gil=False, problem=fail)


def test_numbers_go_in_and_out(add):
    assert add(2, 3.5) == 5
    assert add(2**62, 0) == 2**62
    assert add(True, 1.0) == 2


@pytest.mark.parametrize("arguments", [(), (1,), (1, 2.0, 3), ("1", 2.0), (1, "2"), (None, 1.0)])
def test_wrong_arguments_are_refused(add, arguments):
    with pytest.raises(TypeError):
        add(*arguments)


def test_numbers_that_do_not_fit_are_refused(add):
    with pytest.raises(OverflowError):
        add(2**64, 1.0)


def test_a_failure_inside_is_the_exception_that_the_source_raises(add):
    with pytest.raises(ValueError, match="negative") as caught:
        add(-1, 0.0)
    (note,) = caught.value.__notes__
    assert "kernel Adder" in note
    assert 'raise ValueError("negative")' in note


def test_many_threads_call_at_once(add):
    wrong = []

    def work(number):
        wrong.extend(k for k in range(2000) if add(number, float(k)) != number + k)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_symbols_from_elsewhere_are_found(tmp_path, monkeypatch):
    # A kernel with arrays, whose code names what numba would free them with.
    env = ludus.make("MinAtar/Breakout-v1").unwrapped
    monkeypatch.setattr(compiled_program, "cache_folder", lambda: tmp_path)
    fresh = CompiledProgram(env._storage)
    fresh.function("reset")
    (file,) = tmp_path.glob("*.o")
    assert calls._FREE in kept(file).needs


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", [*ODD, "outside"])
def test_what_is_no_file_of_code_is_neither_waited_for_nor_followed(tmp_path, kind):
    path = tmp_path / "a.o"
    put(path, kind)
    assert kept(path) is None
    code = ObjectCode("f", b"code", ("g",), "here")
    assert keep(path, code) == code
    assert kept(path) == (None if kind == "folder" else code)
    assert [one.name for one in tmp_path.iterdir()] == ["a.o"]


@pytest.mark.timeout(60)
def test_a_header_that_is_nested_deep_is_damaged(tmp_path):
    path = tmp_path / "a.o"
    path.write_bytes(b"[" * 200_000 + b"\ncode")
    assert kept(path) is None
