"""Another process compiles what this one needs; where it cannot, this one does."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import ludus
from ludus.errors import KernelError
from ludus.kernel import Kernel, compiled_program
from ludus.kernel.compiled_program import CompiledProgram
from ludus.kernel.native import background
from ludus.kernel.native.background import Order, compile_apart
from ludus.kernel.native.cache import kept
from ludus.kernel.native.jit import known_name
from ludus.spaces import Discrete


class Params(NamedTuple):
    pass


class State(NamedTuple):
    place: int


def initial(params, rng):
    return State(0)


def transition(params, state, action, rng):
    return State(state.place + (1, 2))


def observation(params, state):
    return state.place


def reward(params, state, action, next_state):
    return 1.0


def terminal(params, state):
    return False


def spaces(params):
    return Discrete(10), Discrete(2)


BROKEN = Kernel(
    name="Broken",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
)


def parts_of(env_id):
    return ludus.make(env_id).unwrapped._storage


def order(parts, module, name, tag, *, folder, function="reset"):
    functions = {function: str(folder / "function.o")}
    shims = {"define ptr @shim() {\n  ret ptr null\n}\n": str(folder / "shim.o")}
    return Order(module, name, tag, parts.action_kinds, parts.rows, parts.layout, functions, shims)


@pytest.fixture
def chain(tmp_path, monkeypatch):
    """An order that can be carried out."""
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    parts = parts_of("NChain-v0")
    module, name = known_name(parts.kernel)
    tag = CompiledProgram(parts).tag
    return order(parts, module, name, tag, folder=tmp_path)


def test_an_order_is_carried_out(chain, tmp_path):
    assert compile_apart(chain)
    code = kept(tmp_path / "function.o")
    assert code is not None
    assert chain.tag in code.symbol
    assert kept(tmp_path / "shim.o").symbol == "shim"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["function.o", "shim.o"]


def test_a_kernel_that_cannot_be_compiled(tmp_path, monkeypatch):
    """The error says what it says when this process compiles."""

    layout = parts_of("NChain-v0").layout
    parts = SimpleNamespace(kernel=BROKEN, action_kinds=["int"], rows=1, layout=layout)
    made = CompiledProgram(parts)
    with pytest.raises(KernelError) as here:
        made.build("step_one", tmp_path / "function.o")
    monkeypatch.delitem(sys.modules, "numba")
    wanted = order(parts, __name__, "BROKEN", made.tag, folder=tmp_path, function="step_one")
    with pytest.raises(KernelError) as apart:
        compile_apart(wanted)
    assert str(apart.value) == str(here.value)
    assert "[kernel-types]" in str(apart.value)
    assert not list(tmp_path.iterdir())


FAILURES = {
    "killed": {"_START": "import os; os.kill(os.getpid(), 9)"},
    "wrong": {"_START": "raise SystemExit(1)"},
    "hanging": {"_START": "import time; time.sleep(60)", "_PATIENCE": 0.2},
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_process_that_fails(chain, monkeypatch, failure):
    for name, value in FAILURES[failure].items():
        monkeypatch.setattr(background, name, value)
    assert not compile_apart(chain)


@pytest.mark.parametrize("executable", ["/nowhere/python3", "/bin/true", "", None])
def test_a_python_that_cannot_be_started(chain, monkeypatch, executable):
    monkeypatch.setattr(sys, "executable", executable)
    assert not compile_apart(chain)


def test_another_kernel_than_expected_is_not_compiled(chain, tmp_path):
    assert not compile_apart(chain._replace(tag="_0123"))
    assert not compile_apart(chain._replace(name="no_such_kernel"))
    assert not compile_apart(chain._replace(module="ludus.no_such_module"))
    assert not list(tmp_path.iterdir())


def test_a_process_with_a_compiler_uses_it(chain, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", object())
    monkeypatch.setattr(background, "_START", "")
    assert not compile_apart(chain)


def test_only_kernels_of_ludus_are_imported_elsewhere():
    assert known_name(BROKEN) is None
    kernel = parts_of("CartPole-v1").kernel
    assert known_name(kernel) == ("ludus.envs.classic_control.cartpole", "KERNEL")


def test_this_process_compiles_if_no_other_does(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled_program, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(compiled_program, "compile_apart", lambda order: False)
    fresh = CompiledProgram(parts_of("NChain-v0"))
    fresh.function("reset", gil=True)
    assert len(list(tmp_path.glob("nchain*-reset-*.o"))) == 1


COLD = """
import sys
import ludus
env = ludus.make("NChain-v0")
env.reset(seed=3)
env.step(1)
envs = ludus.make_vec("NChain-v0", 8)
envs.reset(seed=3)
envs.step(envs.action_space.sample())
print("numba" in sys.modules, env.unwrapped._program.jit)
"""


def test_a_cold_start_leaves_no_compiler_behind(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", COLD],
        env={**os.environ, "LUDUS_CACHE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.stdout, done.stderr) == ("False True\n", "")
    assert len(list((tmp_path / "ludus" / "kernels").glob("*.o"))) > 3
