"""The adapters of trainers as far as they go without the trainers; tests/peers/ has the rest."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import get_type_hints

import pytest

import ludus
from ludus.errors import CustomSpaceError, InvalidAction, InvalidArgument
from ludus.interop.trl import LudusSpec
from ludus.testing import FaultyEnv
from tests.research.env_support import LOOSE, answer, write_task

DRY = {"is_slippery": False}


def public(rollout):
    """What TRL takes for tools, and reset."""
    found = inspect.getmembers(type(rollout), predicate=inspect.isfunction)
    return {name for name, _ in found if not name.startswith("_")}


def test_tools_are_the_only_public_methods_besides_reset():
    assert public(LudusSpec("CartPole-v1").environment_factory()) == {"act", "reset"}
    research = public(LudusSpec("mlgym/blotto-v0").environment_factory())
    assert {"shell", "validate", "submit", "reset"} <= research
    assert not research & {"step", "close", "get_state", "set_state", "finish", "get_reward"}


def test_a_tool_has_signature_hints_and_docstring():
    act = LudusSpec("Copy-v0").environment_factory().act
    assert str(inspect.signature(act)) == "(part_1: int, part_2: int, part_3: int) -> str"
    assert get_type_hints(act) == {"part_1": int, "part_2": int, "part_3": int, "return": str}
    assert "    part_3: A whole number from 0 to 4." in inspect.getdoc(act)
    opened = LudusSpec("mlgym/blotto-v0").environment_factory().open
    assert get_type_hints(opened)["line"] == int | None
    assert inspect.signature(opened).parameters["line"].default is None


def test_arguments_cannot_take_the_place_of_the_environment():
    rollout = LudusSpec("FrozenLake-v1").environment_factory()
    rollout.reset(seed=0)
    for name in ("self", "_episode", "arguments", "env"):
        with pytest.raises(InvalidAction, match="no argument"):
            rollout.act(**{"action": 1, name: None})


def test_specs_do_not_share_tools():
    one, other = LudusSpec("CartPole-v1"), LudusSpec("mlgym/blotto-v0")
    assert not hasattr(one.environment_factory(), "shell")
    assert not hasattr(other.environment_factory(), "act")
    assert one.environment_factory is one.environment_factory


def test_rewards_are_those_of_the_episodes():
    spec = LudusSpec("FrozenLake-v1", arguments=DRY)
    won, stopped, lost = (spec.environment_factory() for _ in range(3))
    for rollout in (won, stopped, lost):
        assert rollout.reset(seed=0, prompt=[], another="column") == "Observation: 0"
    for action in (1, 1, 2, 2, 1, 2):
        won.act(action=action)
    lost.act(action=1)
    lost.act(action=2)
    given = spec.reward_funcs(environments=[won, stopped, lost, object()], prompts=[], seed=[0])
    assert given == [1.0, 0.0, 0.0, None]
    assert "over" in stopped.act(action=1)


def test_an_environment_that_fails_has_no_reward():
    ludus.register("FailingForTrl-v0", entry_point=FaultyEnv, kwargs={"at_step": 1})
    spec = LudusSpec("FailingForTrl-v0")
    rollout = spec.environment_factory()
    rollout.reset(seed=0)
    with pytest.warns(UserWarning, match="FaultyEnv"):
        rollout.act(action=1)
    assert spec.reward_funcs(environments=[rollout]) == [None]
    rollout.reset(seed=0)
    assert spec.reward_funcs(environments=[rollout]) == [0.0]


def test_work_is_graded_side_by_side(tmp_path):
    ludus.research.register_task("answersForTrainers", folder=write_task(tmp_path / "answers"))
    box = {"backend": "bubblewrap", "policy": LOOSE}
    spec = LudusSpec("mlgym/answersForTrainers-v0", arguments=box)
    rollouts = [spec.environment_factory() for _ in range(2)]
    for rollout, value in zip(rollouts, (0.5, 1.0), strict=True):
        rollout.reset(seed=0)
        rollout.shell(command=answer(value))
    assert spec.reward_funcs(environments=rollouts) == pytest.approx([0.0, 1.0])
    assert spec.reward_funcs(environments=rollouts) == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(
    "wrong", [{"num_episodes": 0}, {"num_episodes": 1.5}, {"seed": -1}, {"seed": True}]
)
def test_wrong_numbers(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        LudusSpec("CartPole-v1", **wrong)


def test_environments_that_no_model_can_play_are_refused_before_training():
    with pytest.raises(CustomSpaceError, match="told as text"):
        _ = LudusSpec("Chess-v1").environment_factory


@pytest.mark.parametrize(
    ("module", "code", "extra"),
    [
        (
            "datasets",
            "from ludus.interop import trl; trl.LudusSpec('Taxi-v4').train_dataset",
            "trl",
        ),
        ("verifiers", "from ludus.interop.verifiers import LudusTaskset", "verifiers"),
        ("inspect_ai", "from ludus.interop.inspect import play", "inspect"),
        ("inspect_ai", "from ludus.interop.inspect import LudusSandbox", "inspect"),
    ],
)
def test_what_to_install_is_said(module, code, extra):
    program = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from ludus.errors import DependencyNotInstalled\n"
        f"try:\n    {code}\nexcept DependencyNotInstalled as problem:\n    print(problem)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert f"ludus-gym[{extra}]" in done.stdout, done.stderr


def test_nothing_is_imported_before_it_is_used():
    program = (
        "import sys, ludus.interop.trl, ludus.interop.verifiers, ludus.interop.inspect\n"
        "print([name for name in ('trl', 'torch', 'datasets', 'verifiers', 'inspect_ai') "
        "if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.strip() == "[]", done.stderr
