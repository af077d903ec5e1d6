"""Vector environments and wrappers of both libraries, step by step on the same twins."""

from __future__ import annotations

import inspect
import os
import re
import warnings
from copy import deepcopy
from functools import partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import pytest

import ludus
import ludus.vector.sync_vector_env
import ludus.wrappers.vector
from tests.reference.twins import OBSERVATION_KINDS, assert_same, twin_env

NUM_ENVS = 3
MODES = ("NEXT_STEP", "SAME_STEP", "DISABLED")


class _KeepsOptions(gymnasium.vector.SyncVectorEnv):
    """Gymnasium's own, but it leaves the options to the wrappers around it.

    The original takes the mask out of the caller's dict, so that RecordEpisodeStatistics outside
    never sees it and forgets the episodes that go on.
    """

    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=seed, options=None if options is None else dict(options))


def build(lib: ModuleType, observation: str, action: str, mode: str, **kwargs: Any) -> Any:
    cls = _KeepsOptions if lib is gymnasium else ludus.vector.sync_vector_env.SyncVectorEnv
    fns = [partial(twin_env, lib, observation, action, **kwargs)] * NUM_ENVS
    return cls(fns, autoreset_mode=mode_of(lib, mode))


def mode_of(lib: ModuleType, mode: str) -> Any:
    modes = gymnasium.vector.AutoresetMode if lib is gymnasium else ludus.core.AutoresetMode
    return modes[mode]


def space_facts(space: Any) -> Any:
    kind = type(space).__name__
    if kind == "Dict":
        return {key: space_facts(part) for key, part in space.spaces.items()}
    if kind == "Tuple":
        return [space_facts(part) for part in space.spaces]
    facts = [kind, str(space.dtype), list(space.shape)]
    return [*facts, space.low, space.high] if kind == "Box" else [*facts, repr(space)]


def plain(value: Any) -> Any:
    """Replace foreign arrays by their type's name and their numbers, and durations by zeros."""
    if isinstance(value, dict):
        return {key: plain(part * 0 if key == "t" else part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [plain(part) for part in value]
    if type(value).__module__.startswith(("torch", "jax")):
        return [type(value).__name__, np.array(value)]
    return value


def rollout(envs: Any, actions: list[Any], mode: str) -> list[Any]:
    """Return everything there is to see of a vector environment."""
    spaces = ("observation_space", "action_space")
    seen = [space_facts(getattr(envs, f"{kind}{s}")) for s in spaces for kind in ("", "single_")]
    seen.append(sorted(envs.metadata))
    seen.append(plain(envs.reset(seed=11, options={"level": 1})))
    for step, action in enumerate(actions):
        result = envs.step(deepcopy(action))
        seen.append(plain(deepcopy(result)))
        done = np.logical_or(np.asarray(result[2]), np.asarray(result[3]))
        if mode == "DISABLED" and done.any():
            seen.append(plain(envs.reset(seed=step, options={"reset_mask": done})))
    seen.append(plain(envs.reset(seed=[1, None, 3])))
    envs.close()
    return seen


def sample_actions(space: Any, count: int = 60) -> list[Any]:
    space.seed(5)
    return [space.sample() for _ in range(count)]


def wrapper(lib: ModuleType, name: str) -> Any:
    return getattr(gymnasium.wrappers.vector if lib is gymnasium else ludus.wrappers.vector, name)


def single(lib: ModuleType, module: str, name: str) -> Any:
    if lib is gymnasium:
        return getattr(gymnasium.wrappers, name)
    return getattr(__import__(f"ludus.wrappers.{module}", fromlist=[name]), name)


class Case(NamedTuple):
    """One wrapper with one set of arguments; functions of the library build what is its own."""

    name: str
    observation: str = "box"
    action: str = "discrete"
    kwargs: Any = MappingProxyType({})
    modes: tuple[str, ...] = MODES

    def apply(self, lib: ModuleType, envs: Any) -> Any:
        kwargs = self.kwargs(lib) if callable(self.kwargs) else dict(self.kwargs)
        return wrapper(lib, self.name)(envs, **deepcopy(kwargs))

    def __str__(self) -> str:
        shown = "custom" if callable(self.kwargs) else re.sub(r" at 0x\w+", "", str(self.kwargs))
        return f"{self.name}-{self.observation}-{self.action}-{shown}"


NEXT_OR_DISABLED = ("NEXT_STEP", "DISABLED")
LOW, HIGH = np.array([0, 1.0, -3]), np.array([0.5, 2, 7])


def _transform_observation(lib: ModuleType) -> dict[str, Any]:
    box = partial(lib.spaces.Box, -3.0, 5.0, dtype=np.float32)
    return {
        "func": lambda obs: (obs * 2 + 1).astype(np.float32),
        "observation_space": box(shape=(NUM_ENVS, 3)),
        "single_observation_space": box(shape=(3,)),
    }


def _vectorized_observation(lib: ModuleType) -> dict[str, Any]:
    space = lib.spaces.Dict(
        pair=lib.spaces.Box(-2.0, 2.0, (2, 3), np.float32), first=lib.spaces.Box(-9, 9, ())
    )
    return {
        "wrapper": single(lib, "transform_observation", "TransformObservation"),
        "func": lambda obs: {"pair": np.stack([obs, -obs]), "first": obs[0]},
        "observation_space": space,
    }


def _vectorized_action(lib: ModuleType) -> dict[str, Any]:
    return {
        "wrapper": single(lib, "transform_action", "TransformAction"),
        "func": lambda act: act["key"] * 0.5,
        "action_space": lib.spaces.Dict(key=lib.spaces.Box(-1.0, 1.0, (2,), np.float32)),
    }


CASES = [
    *(Case("DictInfoToList", kind) for kind in ("box", "dict", "tuple")),
    *(Case("RecordEpisodeStatistics", kind) for kind in OBSERVATION_KINDS),
    Case("RecordEpisodeStatistics", kwargs={"buffer_length": 2, "stats_key": "stats"}),
    Case("ClipAction", action="box"),
    Case("RescaleAction", action="box", kwargs={"min_action": 0, "max_action": 2.5}),
    Case("RescaleAction", action="box", kwargs={"min_action": -1.0, "max_action": 1.0}),
    Case(
        "RescaleAction",
        action="box",
        kwargs={"min_action": np.array([0.0, -7]), "max_action": np.array([1.0, 2])},
    ),
    Case("TransformAction", action="box", kwargs={"func": lambda act: act * 0.5}),
    Case(
        "TransformAction",
        kwargs=lambda lib: {
            "func": lambda act: 3 - act,
            "single_action_space": lib.spaces.Discrete(4),
        },
    ),
    Case("VectorizeTransformAction", action="box", kwargs=_vectorized_action),
    Case(
        "VectorizeTransformAction",
        kwargs=lambda lib: {
            "wrapper": single(lib, "transform_action", "TransformAction"),
            "func": lambda act: 3 - act,
            "action_space": None,
        },
    ),
    *(
        Case("ClipReward", kwargs=kwargs)
        for kwargs in (
            {"min_reward": -0.3},
            {"max_reward": np.float32(0.1)},
            {"min_reward": 0.0, "max_reward": 0.5},
            {"min_reward": -1, "max_reward": 1},
        )
    ),
    Case("TransformReward", kwargs={"func": np.sign}),
    Case(
        "VectorizeTransformReward",
        kwargs=lambda lib: {
            "wrapper": single(lib, "transform_reward", "TransformReward"),
            "func": lambda reward: reward**2 - 1,
        },
    ),
    Case("NormalizeReward"),
    Case("NormalizeReward", kwargs={"gamma": 0.5, "epsilon": 0.1}),
    *(
        Case("NormalizeObservation", kind, kwargs=kwargs, modes=("NEXT_STEP",))
        for kind in ("box", "int_box", "image", "discrete")
        for kwargs in ({}, {"epsilon": 0.5})
    ),
    *(
        Case("FilterObservation", kind, kwargs={"filter_keys": keys}, modes=NEXT_OR_DISABLED)
        for kind, keys in (("dict", ["n"]), ("dict", ["n", "a"]), ("tuple", [1]), ("tuple", [1, 0]))
    ),
    *(Case("FlattenObservation", kind, modes=NEXT_OR_DISABLED) for kind in OBSERVATION_KINDS),
    *(
        Case("GrayscaleObservation", "image", kwargs={"keep_dim": keep}, modes=NEXT_OR_DISABLED)
        for keep in (False, True)
    ),
    *(
        Case("ResizeObservation", "image", kwargs={"shape": shape}, modes=NEXT_OR_DISABLED)
        for shape in ((5, 7), (24, 20))
    ),
    *(
        Case("ReshapeObservation", kind, kwargs={"shape": shape}, modes=NEXT_OR_DISABLED)
        for kind, shape in (("image", (10, 36)), ("box", (3, 1)), ("box", (3,)), ("int_box", (4,)))
    ),
    *(
        Case(
            "RescaleObservation",
            kind,
            kwargs={"min_obs": low, "max_obs": high},
            modes=NEXT_OR_DISABLED,
        )
        for kind, low, high in (("box", -1.0, 3), ("box", LOW, HIGH), ("box", -2.0, 2.0))
    ),
    *(
        Case("DtypeObservation", kind, kwargs={"dtype": dtype}, modes=NEXT_OR_DISABLED)
        for kind, dtype in (
            ("box", np.float64),
            ("box", np.float32),
            ("image", np.int32),
            ("image", np.float32),
            ("discrete", np.int32),
            ("int_box", "float32"),
        )
    ),
    Case("TransformObservation", kwargs=_transform_observation, modes=NEXT_OR_DISABLED),
    Case("TransformObservation", kwargs={"func": lambda obs: -obs}, modes=NEXT_OR_DISABLED),
    Case("VectorizeTransformObservation", kwargs=_vectorized_observation, modes=NEXT_OR_DISABLED),
    Case(
        "VectorizeTransformObservation",
        kwargs=lambda lib: {
            "wrapper": single(lib, "transform_observation", "TransformObservation"),
            "func": lambda obs: obs / 2,
            "observation_space": None,
        },
        modes=NEXT_OR_DISABLED,
    ),
    *(
        # Under SAME_STEP Gymnasium's raises: it cannot convert the object array "final_obs".
        Case("NumpyToTorch", kind, modes=NEXT_OR_DISABLED)
        for kind in ("box", "image", "dict", "tuple", "discrete")
    ),
]


@pytest.mark.parametrize("observation", OBSERVATION_KINDS)
@pytest.mark.parametrize("action", ["discrete", "box", "multi_discrete"])
@pytest.mark.parametrize("mode", MODES)
def test_sync_vector_env(observation: str, action: str, mode: str) -> None:
    ours, theirs = (build(lib, observation, action, mode) for lib in (ludus, gymnasium))
    actions = sample_actions(theirs.action_space)
    assert_same(rollout(ours, actions, mode), rollout(theirs, actions, mode))


@pytest.mark.parametrize(
    ("case", "mode"),
    [pytest.param(case, mode, id=f"{case}-{mode}") for case in CASES for mode in case.modes],
)
def test_wrapper(case: Case, mode: str) -> None:
    made, warned = [], []
    for lib in (ludus, gymnasium):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            made.append(case.apply(lib, build(lib, case.observation, case.action, mode)))
        # What a Box says about its bounds' precision is for the tests of the spaces.
        texts = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        warned.append([text for text in texts if "precision lowered" not in text])
    assert len(warned[0]) == len(warned[1])
    ours, theirs = made
    actions = sample_actions(theirs.action_space)
    if case.name == "NumpyToTorch":
        torch = pytest.importorskip("torch")
        actions = [torch.tensor(action) for action in actions]
    assert_same(rollout(ours, actions, mode), rollout(theirs, actions, mode))


@pytest.mark.parametrize("name", ["JaxToNumpy", "JaxToTorch"])
@pytest.mark.parametrize("kind", ["box", "dict"])
def test_jax_wrappers(name: str, kind: str) -> None:
    jnp = pytest.importorskip("jax.numpy")
    torch = pytest.importorskip("torch")

    def layers(lib: ModuleType) -> Any:
        envs = build(lib, kind, "box", "NEXT_STEP")
        envs = wrapper(lib, "ArrayConversion")(envs, env_xp=np, target_xp=jnp)
        return wrapper(lib, name)(envs)

    ours, theirs = layers(ludus), layers(gymnasium)
    actions = sample_actions(theirs.action_space, 12)
    if name == "JaxToTorch":
        actions = [torch.tensor(action) for action in actions]
    assert_same(
        rollout(ours, actions, "NEXT_STEP")[:-1], rollout(theirs, actions, "NEXT_STEP")[:-1]
    )


@pytest.mark.parametrize("screen", [None, (50, 30), (33, 90)])
def test_human_rendering(screen: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setitem(os.environ, "SDL_VIDEODRIVER", "dummy")

    def show(lib: ModuleType) -> list[Any]:
        envs = build(lib, "box", "discrete", "NEXT_STEP", render_mode="rgb_array")
        envs.metadata["render_fps"] = 100_000
        envs = wrapper(lib, "HumanRendering")(envs, screen_size=screen)
        seen: list[Any] = [envs.render_mode, envs.metadata["render_modes"]]
        envs.reset(seed=3)
        for _ in range(5):
            envs.step(np.zeros(NUM_ENVS, np.int64))
            seen.append(pygame.surfarray.array3d(envs.window))
        seen += [envs.screen_size, envs.scaled_subenv_size, envs.num_rows, envs.num_cols]
        envs.close()
        return seen

    assert_same(show(ludus), show(gymnasium))


VIDEO_ARGUMENTS: list[dict[str, Any]] = [
    {},
    {"record_first_only": True, "episode_trigger": lambda episode: episode % 2 == 0},
    {"step_trigger": lambda step: step % 10 == 3, "video_length": 4, "name_prefix": "x"},
    {
        "step_trigger": lambda step: step == 5,
        "episode_trigger": lambda episode: episode in (1, 3),
        "video_aspect_ratio": (1, 4),
        "fps": 3,
    },
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("index", range(len(VIDEO_ARGUMENTS)))
@pytest.mark.filterwarnings("ignore:.*(Overwriting|same-step|zero frames).*")
def test_record_video(mode: str, index: int, tmp_path: Any, monkeypatch: Any) -> None:
    clips = pytest.importorskip("moviepy.video.io.ImageSequenceClip")
    clips_made: list[Any] = []

    class FakeClip:
        def __init__(self, frames: Any, fps: Any) -> None:
            self.frames, self.fps = list(frames), fps

        def write_videofile(self, path: str, **kwargs: Any) -> None:
            clips_made.append([self.fps, self.frames])
            Path(path).touch()

    monkeypatch.setattr(clips, "ImageSequenceClip", FakeClip)

    def record(lib: ModuleType) -> list[Any]:
        clips_made.clear()
        folder = tmp_path / lib.__name__
        envs = build(lib, "box", "discrete", mode, render_mode="rgb_array")
        arguments = {**VIDEO_ARGUMENTS[index], "gc_trigger": None}
        envs = wrapper(lib, "RecordVideo")(envs, str(folder), **arguments)
        seen = rollout(envs, sample_actions(envs.action_space, 40), mode)
        names = sorted(path.name for path in folder.iterdir())
        return [seen, names, list(clips_made), envs.episode_id, envs.step_id]

    ours = record(ludus)
    assert len(ours[1]) >= 2
    assert_same(ours, record(gymnasium))


class BadCall(NamedTuple):
    """A construction, or construction and reset, that Gymnasium refuses."""

    name: str
    kwargs: Any = MappingProxyType({})
    observation: str = "box"
    action: str = "discrete"
    mode: str = "NEXT_STEP"
    options: Any = None
    render_mode: str | None = None

    def __str__(self) -> str:
        kwargs = re.sub(r" at 0x\w+", "", str(self.kwargs))
        return f"{self.name}-{kwargs}-{self.observation}-{self.mode}-{self.options}"


OBSERVATION_WRAPPERS: dict[str, Any] = {
    "TransformObservation": {"func": abs},
    "FilterObservation": {"filter_keys": ["a"]},
    "FlattenObservation": {},
    "GrayscaleObservation": {},
    "ResizeObservation": {"shape": (4, 4)},
    "ReshapeObservation": {"shape": (3,)},
    "RescaleObservation": {"min_obs": 0, "max_obs": 1},
    "DtypeObservation": {"dtype": np.float64},
    "NormalizeObservation": {},
}
BAD_CALLS = [
    *(BadCall(name, kwargs, mode="SAME_STEP") for name, kwargs in OBSERVATION_WRAPPERS.items()),
    BadCall("NormalizeObservation", mode="DISABLED"),
    BadCall("NormalizeObservation", {"epsilon": 0}),
    BadCall("NormalizeObservation", observation="dict"),
    BadCall("NormalizeObservation", options={"reset_mask": np.array([True, False, True])}),
    BadCall("NormalizeReward", {"gamma": 1.1}),
    BadCall("NormalizeReward", {"epsilon": -1.0}),
    BadCall("FilterObservation", {"filter_keys": ["a"]}),
    BadCall("FilterObservation", {"filter_keys": ["z"]}, observation="dict"),
    BadCall("FilterObservation", {"filter_keys": []}, observation="dict"),
    BadCall("GrayscaleObservation"),
    BadCall("ResizeObservation", {"shape": (0, 3)}, observation="image"),
    BadCall("ReshapeObservation", {"shape": (5,)}),
    BadCall("ReshapeObservation", {"shape": 3}),
    BadCall("RescaleObservation", {"min_obs": 2, "max_obs": 1}),
    BadCall("RescaleObservation", {"min_obs": 0, "max_obs": 1}, observation="dict"),
    BadCall("DtypeObservation", {"dtype": np.float64}, observation="dict"),
    BadCall("ClipAction"),
    BadCall("RescaleAction", {"min_action": 0, "max_action": 1}),
    BadCall("RescaleAction", {"min_action": 1, "max_action": 1}, action="box"),
    BadCall("ClipReward"),
    BadCall("ClipReward", {"min_reward": 1, "max_reward": 0}),
    BadCall("HumanRendering"),
    BadCall("HumanRendering", render_mode="ansi"),
    BadCall("RecordVideo", {"video_folder": "unused"}),
    BadCall("RecordVideo", {"video_folder": "unused"}, render_mode="ansi"),
    BadCall("RecordEpisodeStatistics", {"nonsense": 1}),
    *(
        BadCall("RecordEpisodeStatistics", options={"reset_mask": mask}, mode="DISABLED")
        for mask in ([True] * 3, np.zeros(3, bool), np.ones(2, bool), np.ones(3, int))
    ),
]


@pytest.mark.parametrize("call", BAD_CALLS, ids=str)
def test_refusals(call: BadCall) -> None:
    def attempt(lib: ModuleType) -> type[BaseException]:
        envs = build(lib, call.observation, call.action, call.mode, render_mode=call.render_mode)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the type is what is compared
            wrapper(lib, call.name)(envs, **call.kwargs).reset(options=call.options)
        return caught.type

    ours, theirs = attempt(ludus), attempt(gymnasium)
    assert issubclass(ours, theirs) or ours.__name__ == theirs.__name__


@pytest.mark.parametrize(
    "wrong",
    [
        np.zeros(2, np.int64),
        np.zeros(4, np.int64),
        np.int64(1),
        None,
    ],
    ids=str,
)
def test_wrong_actions(wrong: Any) -> None:
    def attempt(lib: ModuleType) -> type[BaseException]:
        envs = build(lib, "box", "discrete", "NEXT_STEP")
        envs.reset(seed=0)
        with pytest.raises(Exception) as caught:  # noqa: PT011 - the type is what is compared
            envs.step(wrong)
        return caught.type

    assert issubclass(attempt(ludus), attempt(gymnasium))


def test_stepping_after_the_end_without_autoreset() -> None:
    for lib in (ludus, gymnasium):
        envs = build(lib, "box", "discrete", "DISABLED", mean_length=1)
        envs.reset(seed=0)
        envs.step(np.zeros(NUM_ENVS, np.int64))
        with pytest.raises(AssertionError):
            envs.step(np.zeros(NUM_ENVS, np.int64))


def test_statistics_refuse_list_infos() -> None:
    for lib in (ludus, gymnasium):
        envs = wrapper(lib, "DictInfoToList")(build(lib, "box", "discrete", "NEXT_STEP"))
        envs = wrapper(lib, "RecordEpisodeStatistics")(envs)
        envs.reset(seed=0)
        with pytest.raises(AssertionError):
            envs.step(np.zeros(NUM_ENVS, np.int64))


def parameters(function: Any) -> list[tuple[str, Any]]:
    found = inspect.signature(function).parameters.values()
    return [
        (p.name, p.kind, "function" if inspect.isfunction(p.default) else _named(p.default))
        for p in found
    ]


def _named(value: Any) -> Any:
    return value.name if hasattr(value, "name") else value


METHODS = ("__init__", "reset", "step", "close")


@pytest.mark.parametrize("name", sorted(gymnasium.wrappers.vector.__all__))
def test_every_wrapper_has_the_same_signatures(name: str) -> None:
    ours, theirs = wrapper(ludus, name), wrapper(gymnasium, name)
    assert name in ludus.wrappers.vector.__all__
    for method in METHODS:
        left, right = parameters(getattr(ours, method)), parameters(getattr(theirs, method))
        assert left == right, method
    public = {key for key in dir(theirs) if not key.startswith("_")}
    assert public <= set(dir(ours))


def test_sync_vector_env_has_the_same_signatures() -> None:
    ours = ludus.vector.sync_vector_env.SyncVectorEnv
    theirs = gymnasium.vector.SyncVectorEnv
    for name in (key for key in dir(theirs) if not key.startswith("_") or key == "__init__"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        if callable(other):
            assert parameters(mine) == parameters(other), name
