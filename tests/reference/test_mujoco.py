"""MuJoCo robots against Gymnasium's: the same models, and the same numbers step by step."""

from __future__ import annotations

import inspect
import re
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
gymnasium = pytest.importorskip("gymnasium")

from ludus.core.spec import EnvSpec  # noqa: E402
from ludus.envs.mujoco.models import BUILDERS, load_model  # noqa: E402
from ludus.envs.mujoco.registration import SPECS  # noqa: E402
from tests.sampling import ALL  # noqa: E402

ASSETS = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
SEEDS, STEPS = (range(5), 200) if ALL else (range(3, 4), 40)
PLAYABLE = {spec.id: spec for spec in SPECS if spec.version in (4, 5) and spec.id != "Pusher-v4"}
FILES = {
    "HumanoidStandup-v5": "humanoidstandup.xml",
    "Pusher-v5": "pusher_v5.xml",
    "Walker2d-v5": "walker2d.xml",
}
POSITIONS = {"exclude_current_positions_from_observation": False}
# Some at once, where one changes what another does.
TOGETHER: list[tuple[str, dict[str, Any]]] = [
    ("Hopper-v5", {"healthy_state_range": (-0.5, 0.5), "healthy_z_range": (1.0, 1.2)}),
    ("Hopper-v4", {"terminate_when_unhealthy": False, "healthy_angle_range": (-0.01, 0.01)}),
    ("Walker2d-v4", {"terminate_when_unhealthy": False, "healthy_reward": 3.0}),
    ("Ant-v4", {"use_contact_forces": True, "contact_force_range": (-0.5, 2.0)}),
    ("Ant-v4", {"use_contact_forces": True, "contact_cost_weight": 0.1, **POSITIONS}),
    ("Ant-v5", {"include_cfrc_ext_in_observation": False, "main_body": "aux_1", **POSITIONS}),
    ("Ant-v5", {"contact_cost_weight": 0.1, "terminate_when_unhealthy": False, "frame_skip": 2}),
    ("Humanoid-v5", {"contact_cost_range": (0.1, 0.2), "healthy_z_range": (1.2, 2.0)}),
]
# For every option a value that is nobody's default.
VALUES: dict[str, Any] = {
    "contact_cost_range": (1e-6, 1e-5),
    "contact_cost_weight": 0.01,
    "contact_force_range": (-0.3, 0.4),
    "ctrl_cost_weight": 0.3,
    "exclude_current_positions_from_observation": False,
    "forward_reward_weight": 2.5,
    "frame_skip": 3,
    "healthy_angle_range": (-0.05, 0.1),
    "healthy_reward": 2.0,
    "healthy_state_range": (-2.0, 3.0),
    "healthy_z_range": (0.9, 1.35),
    "impact_cost_range": (1e-6, 1e-5),
    "impact_cost_weight": 1e-3,
    "main_body": 3,
    "reset_noise_scale": 0.03,
    "reward_control_weight": 0.3,
    "reward_dist_weight": 2.0,
    "reward_near_weight": 1.5,
    "terminate_when_unhealthy": False,
    "uph_cost_weight": 3.0,
    "use_contact_forces": True,
    **{
        f"include_{part}_in_observation": False
        for part in ("cfrc_ext", "cinert", "cvel", "qfrc_actuator")
    },
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine writes its warnings to a file where it runs."""
    monkeypatch.chdir(tmp_path)


def options_of(name: str) -> list[str]:
    """Return the options that Gymnasium's class names, but for what only pictures show."""
    module, _, kind = gymnasium.spec(name).entry_point.partition(":")
    found = inspect.signature(getattr(import_module(module), kind).__init__).parameters
    return [each for each in found if each not in {"self", "kwargs", "default_camera_config"}]


def snake(name: str) -> str:
    """Turn an id into the name that its file has."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.partition("-")[0]).lower()


def fields(thing: Any, prefix: str = "") -> dict[str, Any]:
    """Return every number, array and text of a model, of its options and its statistics."""
    found: dict[str, Any] = {}
    for name in dir(thing):
        value = None if name.startswith("_") else getattr(thing, name)
        if isinstance(value, np.ndarray | int | float | bytes | str):
            found[prefix + name] = value
        elif type(value).__module__.startswith("mujoco") and not callable(value):
            found |= fields(value, f"{prefix}{name}.")
    return found


def different(ours: Any, theirs: Any) -> list[str]:
    """Name the fields in which two models differ."""
    mine, reference = fields(ours), fields(theirs)
    assert mine.keys() == reference.keys()
    return [name for name in mine if not np.array_equal(mine[name], reference[name])]


# Gymnasium's half cheetah uses an attribute that mujoco 4 warns of.
@pytest.mark.filterwarnings("ignore:.*settotalmass")
@pytest.mark.parametrize("name", BUILDERS)
def test_model_equals(name: str) -> None:
    theirs = mujoco.MjModel.from_xml_path(str(ASSETS / name))
    assert different(load_model(name), theirs) == []


def test_comparison_of_models_sees_a_difference() -> None:
    walker = mujoco.MjModel.from_xml_path(str(ASSETS / "walker2d.xml"))
    assert different(load_model("walker2d_v5.xml"), walker) == ["geom_friction"]
    walker.opt.timestep *= 2
    assert "opt.timestep" in different(load_model("walker2d.xml"), walker)


def pair(name: str, options: dict[str, Any]) -> tuple[Any, Any]:
    """Return our environment and Gymnasium's, both without wrappers."""
    spec: EnvSpec = PLAYABLE[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return spec.make(**options).unwrapped, gymnasium.make(name, **options).unwrapped


def assert_same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    np.testing.assert_array_equal(ours, theirs)


def assert_same_info(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert list(ours) == list(theirs)
    for key, value in theirs.items():
        assert_same(ours[key], value)


def assert_alike(name: str, options: dict[str, Any], seeds: range, steps: int) -> None:
    """Play both with the same seeds and actions."""
    ours, theirs = pair(name, options)
    assert ours.observation_space.shape == theirs.observation_space.shape
    assert str(ours.action_space) == str(theirs.action_space)
    assert ours.metadata == theirs.metadata
    low, high = theirs.action_space.low, theirs.action_space.high
    rng = np.random.default_rng(0)
    for seed in seeds:
        (seen, info), (expected, expected_info) = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert_same(seen, expected)
        assert_same_info(info, expected_info)
        for _ in range(steps):
            action = rng.uniform(low, high).astype(np.float32)
            got, wanted = ours.step(action), theirs.step(action)
            for mine, reference in zip(got[:2], wanted[:2], strict=True):
                assert_same(mine, reference)
            assert got[2:4] == wanted[2:4]
            assert_same_info(got[4], wanted[4])
            if got[2]:
                ours.reset()
                theirs.reset()


@pytest.mark.parametrize("name", PLAYABLE)
def test_steps_equal(name: str) -> None:
    assert_alike(name, {}, SEEDS, STEPS)


@pytest.mark.parametrize("name", PLAYABLE)
def test_steps_equal_with_every_option(name: str) -> None:
    for option in options_of(name):
        if option != "xml_file":
            assert_alike(name, {option: VALUES[option]}, SEEDS[:1], STEPS if ALL else 12)


@pytest.mark.parametrize(("name", "options"), TOGETHER)
def test_steps_equal_with_options_together(name: str, options: dict[str, Any]) -> None:
    assert_alike(name, options, SEEDS, STEPS)


@pytest.mark.filterwarnings("ignore:.*settotalmass")
@pytest.mark.parametrize("name", [name for name in PLAYABLE if name.endswith("v5")])
def test_steps_equal_with_a_file(name: str) -> None:
    assert_alike(name, {"xml_file": str(ASSETS / FILES.get(name, f"{snake(name)}.xml"))}, SEEDS, 5)


@pytest.mark.parametrize("name", [name for name in PLAYABLE if name.endswith("v5")])
def test_observation_structure_equals(name: str) -> None:
    ours, theirs = pair(name, {})
    expected = getattr(theirs, "observation_structure", None)
    assert getattr(ours, "observation_structure", None) == expected


@pytest.mark.parametrize("name", ["Pusher-v4", "Ant-v2", "Hopper-v3", "Reacher-v2"])
def test_refused_versions_raise_as_theirs(name: str) -> None:
    (spec,) = (spec for spec in SPECS if spec.id == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(ImportError):
            gymnasium.make(name)
    with pytest.raises(ImportError, match="v5"):
        spec.make()
