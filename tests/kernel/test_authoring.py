"""What surrounds the checks of kernels: debugging, missing source, errors of compiled code."""

from __future__ import annotations

import gc
import importlib
import os
import pkgutil
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import ludus.envs
from ludus.cli.app import app
from ludus.errors import KernelError
from ludus.kernel import Kernel
from ludus.kernel.authoring import validation
from ludus.kernel.authoring.role import role_of
from ludus.kernel.authoring.rules import RULES
from ludus.kernel.contract import COMPILED_ROLES
from tests.kernel.written import import_module, write_module, written_env
from tests.kernel.wrong_kernels import OK, WRONG, step

PRINTS = step("print('x is', f'{state.x}')", OK)


def test_every_rule_is_in_order():
    for name, rule in RULES.items():
        assert name == rule.id
        assert name.startswith("kernel-")
        assert rule.hint.endswith((".", "?"))
    assert {row.rule for row in WRONG} <= set(RULES)


def test_the_kernels_of_ludus_keep_the_rules(monkeypatch):
    """They are not checked when they are used, so they are checked here."""
    for module in pkgutil.walk_packages(ludus.envs.__path__, "ludus.envs."):
        try:
            importlib.import_module(module.name)
        except ImportError:  # an engine that is not installed
            continue
    gc.unfreeze()  # get_objects lists no frozen ones
    kernels = [thing for thing in gc.get_objects() if type(thing) is Kernel]
    kernels = [kernel for kernel in kernels if kernel.is_bundled]
    assert len(kernels) > 20
    monkeypatch.setattr(validation, "is_own", lambda function: False)
    for kernel in kernels:
        roles = {
            function: role_of(kernel, name, 0)
            for name in COMPILED_ROLES
            if (function := getattr(kernel, name)) is not None
        }
        # Draws of plain Python are methods of rng; compiled code has others in their place.
        found = validation.mistakes_of(roles, compiled=True)
        assert [str(m) for m in found if not m.file.endswith("kernel/random.py")] == []


def test_kernels_of_ludus_are_made_without_a_check():
    code = (
        "import sys, ludus; ludus.make('CartPole-v1').reset(seed=0); "
        "print([name for name in sys.modules if 'authoring' in name])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True
    )
    assert done.stdout.strip() == "[]"


def test_plain_python_prints(tmp_path, monkeypatch, capsys):
    env_class = written_env(tmp_path, **PRINTS)
    monkeypatch.setenv("LUDUS_JIT", "0")
    env = env_class()
    env.reset(seed=0)
    env.step(1)
    assert capsys.readouterr().out == "x is 0.0\n"
    envs = env_class.vector(2)
    envs.reset(seed=0)
    envs.step(np.array([0, 1]))
    assert capsys.readouterr().out == "x is 0.0\nx is 0.0\n"


BYPASS = """
import sys
import numpy as np
from ludus.errors import KernelError
from ludus.kernel.authoring import review
review.validate = lambda *args, **kwargs: None
sys.path.insert(0, sys.argv[1])
envs = __import__(sys.argv[2]).WrittenEnv.vector(2)
try:
    envs.reset(seed=0)
    envs.step(np.array([0, 1]))
except KernelError as problem:
    print(problem.rule)
"""


@pytest.mark.parametrize("line", ["print(state.x)", "raise ValueError(state.x)"])
def test_compiled_code_never_calls_the_interpreter(tmp_path, line):
    """Whatever the source check misses is found in the object code, before it could hang."""
    name = write_module(tmp_path, **step("if state.x > 9.0:", f"    {line}", OK))
    done = subprocess.run(
        [sys.executable, "-c", BYPASS, str(tmp_path), name],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout.strip() == "kernel-interpreter", done.stderr


def test_functions_without_source_are_checked_by_their_instructions(tmp_path):
    names = dict(vars(sys.modules[written_env(tmp_path).__module__]))
    wrong = {
        "print(state.x)": "kernel-print",
        "x = np.sin(state.x)": "kernel-math",
        "x = missing": "kernel-undefined-name",
        "x = {1: 2}": "kernel-dict",
        "import os": "kernel-import",
        "x = [y for y in (action, 1)]": "kernel-",
    }
    for line, rule in wrong.items():
        exec(step(line, OK)["transition"], names)
        made = Kernel(
            *("Typed", names["Params"], names["State"], names["initial"], names["transition"]),
            *(names[role] for role in ("observation", "reward", "terminal", "spaces")),
        )
        with pytest.raises(KernelError) as caught:
            validation.validate(made, 2, compiled=True)
        assert caught.value.rule.startswith(rule)
        assert "<string>, line 2, in transition" in str(caught.value)
        assert "the source is not available" in str(caught.value)


def test_a_file_that_was_changed_after_its_import(tmp_path):
    """The lines on disk are other ones than those that run."""
    env_class = written_env(tmp_path, **step("x = missing", OK))
    (path,) = tmp_path.glob("*.py")
    path.write_text(path.read_text().replace("x = missing", "y = other_name"))
    with pytest.raises(KernelError, match="missing is not defined"):
        env_class()


def test_all_mistakes_are_listed_at_once(tmp_path):
    parts = step("x = missing", "y = {}", OK) | {
        "reward": "def reward(params, state, action, next_state):\n    return math.sin(state.x)"
    }
    with pytest.raises(KernelError, match="3 mistakes") as caught:
        written_env(tmp_path, **parts)()
    for rule in ("kernel-undefined-name", "kernel-dict", "kernel-math"):
        assert f"[{rule}]" in str(caught.value)


FAILING = step(
    "if state.steps == 2:",
    '    raise ValueError("two steps", 2)',
    "return State(state.x + PLACES[state.steps - 1], state.steps + 1, False)",
    prelude="PLACES = np.zeros(3)",
)


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    return written_env(tmp_path_factory.mktemp("failing"), **FAILING)


def fail_single(env_class):
    env = env_class()
    env.reset(seed=0)
    for _ in range(3):
        env.step(1)


def fail_batch(env_class, threads=1):
    envs = env_class.vector(4, num_threads=threads)
    envs.reset(seed=0)
    for _ in range(3):
        envs.step(np.zeros(4, np.int64))


def fail_rollout(env_class):
    envs = env_class.vector(4)
    envs.reset(seed=0)
    envs.rollout(np.zeros((3, 4), np.int64))


def test_code_that_was_compiled_for_another_file_tells_no_wrong_place(failing, tmp_path):
    with pytest.raises(ValueError, match="two steps"):
        fail_single(failing)
    with pytest.raises(ValueError, match="two steps") as moved:
        fail_single(written_env(tmp_path, **FAILING))
    assert str(tmp_path) in moved.value.__notes__[0]


@pytest.mark.parametrize("run", [fail_single, fail_batch, fail_rollout])
def test_compiled_code_raises_what_the_source_raises(failing, run, monkeypatch):
    with pytest.raises(ValueError, match="two steps") as compiled:
        run(failing)
    (note,) = compiled.value.__notes__
    assert 'in transition:\n    raise ValueError("two steps", 2)' in note
    monkeypatch.setenv("LUDUS_JIT", "0")
    with pytest.raises(ValueError, match="two steps") as plain:
        run(failing)
    assert plain.value.args == compiled.value.args


def test_threads_raise_as_well(failing):
    with pytest.raises(ValueError, match="two steps"):
        fail_batch(failing, threads=2)


def policy_that_prints(weights, observation, rng):
    print(observation)
    return 0


def policy_of_floats(weights, observation, rng):
    return 0.5 * weights


def policy_without_return(weights, observation, rng):  # noqa: RET503 - the mistake
    if observation[0] > 1.0:
        return 1


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (policy_that_prints, "kernel-print"),
        (policy_of_floats, "kernel-return-type"),
        (policy_without_return, "kernel-missing-return"),
    ],
)
def test_wrong_policies(tmp_path, policy, rule, monkeypatch):
    for jit in ("1", "0"):
        monkeypatch.setenv("LUDUS_JIT", jit)
        if (rule, jit) == ("kernel-print", "0"):
            continue
        envs = ludus.make_vec("CartPole-v1", num_envs=2)
        envs.reset(seed=0)
        with pytest.raises(KernelError, match=f"Policy {policy.__name__} has a mistake") as caught:
            envs.unwrapped.rollout(policy=policy, weights=1, steps=2)
        assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("line", "phrase"),
    [
        ("x = math.sin(state.x)", "from ludus.kernel.math import sin"),
        ("x = state.x + (1.0, 2.0)", "applies + to (float, a tuple of 2 float)"),
    ],
)
def test_the_command_line_shows_mistakes(tmp_path, monkeypatch, line, phrase):
    """Those in the source, and those that the compiler finds at the first step."""
    monkeypatch.syspath_prepend(tmp_path)
    name = write_module(tmp_path, **step(line, OK))
    shown = CliRunner().invoke(app, ["check", f"{name}:{name}/Written-v0"])
    assert shown.exit_code in (1, 2)
    text = " ".join(shown.output.split())
    assert line in text
    assert phrase in text


LOOPS = """
import sys
sys.path.insert(0, sys.argv[1])
env = __import__(sys.argv[2]).WrittenEnv()
env.reset(seed=0)
print("ready", flush=True)
try:
    env.step(1)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_an_endless_loop_in_plain_python_can_be_interrupted(tmp_path):
    name = write_module(tmp_path, **step("x = 1.0", "while x > 0.0:", "    x = x + 1.0", OK))
    with subprocess.Popen(
        [sys.executable, "-c", LOOPS, str(tmp_path), name],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "LUDUS_JIT": "0"},
    ) as running:
        try:
            assert running.stdout.readline() == "ready\n"
            time.sleep(0.2)
            running.send_signal(signal.SIGINT)
            assert running.communicate(timeout=60)[0] == "interrupted\n"
        finally:
            running.kill()


def with_marks(folder, transition):
    """Return an environment class whose state is one array of two numbers."""
    prelude = """
    class Marks(NamedTuple):
        marks: np.ndarray


    def copied(marks):
        return marks.copy()
    """
    parts = {
        "prelude": textwrap.dedent(prelude),
        "initial": "def initial(params, state, rng):\n    return Marks(state.marks)",
        "transition": f"def transition(params, state, action, rng):\n{transition}",
        "observation": "def observation(params, state):\n    return 0.0, 0.0",
        "reward": "def reward(params, state, action, next_state):\n    return 0.0",
        "terminal": "def terminal(params, state):\n    return False",
    }
    name = write_module(folder, **parts)
    path = folder / f"{name}.py"
    shapes = "state_arrays=lambda params: {'marks': ((2,), np.float64)}"
    text = path.read_text().replace('"Written", Params, State,', '"Written", Params, Marks,')
    path.write_text(text.replace("terminal, spaces\n", f"terminal, spaces, {shapes}\n"))
    return import_module(folder, name).WrittenEnv


def test_an_index_outside_an_array_is_named_and_plain_python_has_its_line(tmp_path, monkeypatch):
    lines = "    state.marks[2 * action] = 1.0\n    return Marks(state.marks)"
    env_class = with_marks(tmp_path, lines)
    env = env_class()
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(IndexError, match=r"(?s)index outside an array.*LUDUS_JIT=0"):
        env.step(1)
    monkeypatch.setenv("LUDUS_JIT", "0")
    env = env_class()
    env.reset(seed=0)
    with pytest.raises(IndexError) as caught:
        env.step(1)
    assert str(caught.traceback[-1].statement).strip() == "state.marks[2 * action] = 1.0"


@pytest.mark.parametrize(
    ("array", "phrase"),
    [
        ("state.marks.copy()", "the driver keeps the array it gave"),
        ("copied(state.marks)", "puts another array into the field marks"),
    ],
)
def test_a_changed_array_must_be_the_one_that_was_given(tmp_path, monkeypatch, array, phrase):
    env_class = with_marks(tmp_path, f"    return Marks({array})")
    monkeypatch.setenv("LUDUS_JIT", "0")

    def run():
        env = env_class()
        env.reset(seed=0)
        env.step(0)

    with pytest.raises(KernelError, match=phrase) as caught:
        run()
    assert caught.value.rule == "kernel-array-replaced"
