"""Native code on disk and in the process: found again, not trusted blindly, called safely."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading

import pytest

import ludus
from ludus.kernel import native, program
from ludus.kernel.native import cache_folder, native_address, native_function
from ludus.kernel.object_file import undefined_symbols

RUN = """
import sys
import ludus
env = ludus.make("NChain-v0").unwrapped
env.reset(seed=3)
total = sum(env.step(k % 2)[1] for k in range(50))
print(total, "numba" in sys.modules)
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
def kept(tmp_path_factory):
    """A file of compiled code, and the folder it lies in."""
    folder = tmp_path_factory.mktemp("cache")
    run(folder)
    return sorted((folder / "ludus" / "kernels").glob("*.o"))[0]


DAMAGES = {
    "cut": lambda line, code: (line + b"\n" + code)[: len(code) // 2],
    "flipped": lambda line, code: line + b"\n" + code[:-1] + bytes([code[-1] ^ 1]),
    "empty": lambda line, code: b"",
    "text": lambda line, code: b"not code at all",
    "list": lambda line, code: b"[1, 2]\n" + code,
    "header": lambda line, code: b'{"symbol": 3, "needs": 7, "sha256": null}\n' + code,
    "pickle": lambda line, code: b"\x80\x04\x95cos\nsystem\n(S'false'\ntR.",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_code_is_not_loaded(kept, tmp_path, damage):
    line, code = kept.read_bytes().split(b"\n", 1)
    file = tmp_path / kept.name
    file.write_bytes(DAMAGES[damage](line, code))
    assert native._loaded(file) is None
    file.write_bytes(line + b"\n" + code)
    assert native._loaded(file) is not None


def test_damaged_code_is_made_anew(kept):
    folder = kept.parents[2]
    expected, _ = run(folder)
    for file in kept.parent.glob("*.o"):
        file.write_bytes(file.read_bytes()[:-100])
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

        return njit(types.int64(types.int64, types.float64), error_model="numpy")(add)

    path = tmp_path_factory.mktemp("native") / "add.o"
    address = native_address(path, build)
    return native_function("add", address, "if", gil=False, problem="it was said")


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


def test_a_failure_inside_is_an_index_error(add):
    with pytest.raises(IndexError, match="it was said"):
        add(-1, 0.0)


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
    monkeypatch.setattr(native, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(program, "cache_folder", lambda: tmp_path)
    fresh = program.Program(env._storage, jit=True)
    fresh.function("reset")
    (kept,) = tmp_path.glob("*.o")
    _, code = kept.read_bytes().split(b"\n", 1)
    assert native._FREE in undefined_symbols(code)
    assert undefined_symbols(b"MZ" + code[2:]) is None
