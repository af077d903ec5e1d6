"""Which names each of Gymnasium's modules offers, and where Ludus has them.

One row per module of Gymnasium 1.4, without the leading ``gymnasium``:

* ``sources``: the Ludus modules that hold the names, searched in this order;
* ``defines``: the names whose home the module is, so that classes carry it as ``__module__``;
* ``offers``: other rows whose names can be had from here, too;
* ``version``: what Ludus's classes have in their names before ``Env`` and Gymnasium's have not.

A name outside ``defines`` is still looked up in the sources, then as
:mod:`~ludus.interop.gymnasium.alias_imports` says. A row without any importable source is not
served.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "ALIAS",
    "EAGER",
    "LIVE",
    "ROWS",
    "VERSION",
    "Row",
    "served_names",
    "submodules",
]

ALIAS = "gymnasium"

VERSION = "1.4.0"
"""The version of Gymnasium whose interface is served: what ``gymnasium.__version__`` reads."""

LIVE = frozenset({"gymnasium.logger.min_level", "gymnasium.envs.registration.current_namespace"})
"""Variables: read anew each time, and written through to Ludus."""


class Row(NamedTuple):
    """One module; each field lists its entries separated by spaces."""

    sources: str
    defines: str = ""
    offers: str = ""
    version: str = ""


def _space(name: str, classes: str) -> tuple[str, Row]:
    return f"spaces.{name}", Row(f"ludus.spaces ludus.spaces.{name}", classes)


def _wrapper(name: str, classes: str, source: str = "") -> tuple[str, Row]:
    # The module before the package, whose attribute of the function's name may be the module.
    return f"wrappers.{name}", Row(f"{source} ludus.wrappers".strip(), classes)


def _converter(name: str, classes: str) -> tuple[str, Row]:
    return _wrapper(name, classes, f"ludus.wrappers.{name}")


def _vector_wrapper(name: str, classes: str) -> tuple[str, Row]:
    source = f"ludus.wrappers.vector.{name} ludus.wrappers.vector"
    return f"wrappers.vector.{name}", Row(source, classes)


def _util(name: str, names: str) -> tuple[str, Row]:
    return f"utils.{name}", Row(f"ludus.utils.{name}", names)


def _env(name: str, classes: str) -> tuple[str, Row]:
    family = name.partition(".")[0]
    return f"envs.{name}", Row(f"ludus.envs.{name} ludus.envs.{family}", classes)


def _robot(module: str, file: str, name: str, version: int) -> tuple[str, Row]:
    label = "V4" if version == 4 else ""
    return f"envs.mujoco.{file}_v{version}", Row(f"ludus.envs.mujoco.{module}", name, "", label)


_CONTRACT = {
    "core": Row(
        "ludus.core ludus.core.types",
        "ActType ActionWrapper Env ObsType ObservationWrapper RenderFrame RewardWrapper Wrapper "
        "WrapperActType WrapperObsType",
    ),
    "error": Row(
        "ludus.errors",
        "AlreadyPendingCallError ClosedEnvironmentError CustomSpaceError DependencyNotInstalled "
        "DeprecatedEnv DeprecatedWrapper Error InvalidAction InvalidBound InvalidMetadata "
        "InvalidProbability MissingArgument NameNotFound NamespaceNotFound NoAsyncCallError "
        "RegistrationError ResetNeeded UnregisteredEnv UnsupportedMode VersionNotFound",
    ),
    "logger": Row(
        "ludus.logger ludus.utils.colorize", "ERROR WARN deprecation error min_level warn"
    ),
    "experimental": Row("ludus.experimental"),
    "experimental.functional": Row(
        "ludus.experimental.functional",
        "ActType FuncEnv ObsType Params RenderStateType RewardType StateType TerminalType",
    ),
}

_SPACES = dict(
    [
        _space("space", "Space"),
        _space("box", "Box"),
        _space("dict", "Dict"),
        _space("discrete", "Discrete"),
        _space("graph", "Graph GraphInstance"),
        _space("multi_binary", "MultiBinary"),
        _space("multi_discrete", "MultiDiscrete"),
        _space("oneof", "OneOf"),
        _space("sequence", "Sequence"),
        _space("text", "Text alphanumeric"),
        _space("tuple", "Tuple"),
        _space("utils", "flatdim flatten flatten_space is_space_dtype_shape_equiv unflatten"),
    ]
)

_VECTOR = {
    "vector.vector_env": Row(
        "ludus.core ludus.core.types",
        "ArrayType AutoresetMode VectorActionWrapper VectorEnv VectorObservationWrapper "
        "VectorRewardWrapper VectorWrapper",
    ),
    "vector.sync_vector_env": Row("ludus.vector.sync_vector_env", "SyncVectorEnv"),
    "vector.async_vector_env": Row("ludus.vector.async_vector_env", "AsyncState AsyncVectorEnv"),
    "vector.utils.misc": Row("ludus.vector.utils", "CloudpickleWrapper clear_mpi_env_vars"),
    "vector.utils.shared_memory": Row(
        "ludus.vector.utils ludus.spaces",
        "create_shared_memory read_from_shared_memory write_to_shared_memory",
    ),
    "vector.utils.space_utils": Row(
        "ludus.spaces",
        "batch_differing_spaces batch_space concatenate create_empty_array iterate",
    ),
}

_WRAPPERS = dict(
    [
        _converter("array_conversion", "ArrayConversion"),
        _wrapper("atari_preprocessing", "AtariPreprocessing"),
        _wrapper(
            "common",
            "Autoreset OrderEnforcing PassiveEnvChecker RecordEpisodeStatistics TimeLimit",
        ),
        _converter("jax_to_numpy", "JaxToNumpy"),
        _converter("jax_to_torch", "JaxToTorch"),
        _converter("numpy_to_torch", "NumpyToTorch"),
        _wrapper(
            "rendering", "AddWhiteNoise HumanRendering ObstructView RecordVideo RenderCollection"
        ),
        _wrapper("stateful_action", "RepeatAction StickyAction"),
        _wrapper(
            "stateful_observation",
            "DelayObservation FrameStackObservation MaxAndSkipObservation NormalizeObservation "
            "TimeAwareObservation",
        ),
        _wrapper("stateful_reward", "NormalizeReward"),
        _wrapper("transform_action", "ClipAction DiscretizeAction RescaleAction TransformAction"),
        _wrapper(
            "transform_observation",
            "AddRenderObservation DiscretizeObservation DtypeObservation FilterObservation "
            "FlattenObservation GrayscaleObservation RescaleObservation ReshapeObservation "
            "ResizeObservation TransformObservation",
        ),
        _wrapper("transform_reward", "ClipReward TransformReward"),
    ]
)

_VECTOR_WRAPPERS = dict(
    [
        _vector_wrapper("array_conversion", "ArrayConversion"),
        _vector_wrapper("common", "RecordEpisodeStatistics"),
        _vector_wrapper("dict_info_to_list", "DictInfoToList"),
        _vector_wrapper("jax_to_numpy", "JaxToNumpy"),
        _vector_wrapper("jax_to_torch", "JaxToTorch"),
        _vector_wrapper("numpy_to_torch", "NumpyToTorch"),
        _vector_wrapper("rendering", "HumanRendering RecordVideo"),
        _vector_wrapper("stateful_observation", "NormalizeObservation"),
        _vector_wrapper("stateful_reward", "NormalizeReward"),
        _vector_wrapper(
            "vectorize_action", "ClipAction RescaleAction TransformAction VectorizeTransformAction"
        ),
        _vector_wrapper(
            "vectorize_observation",
            "DtypeObservation FilterObservation FlattenObservation GrayscaleObservation "
            "RescaleObservation ReshapeObservation ResizeObservation TransformObservation "
            "VectorizeTransformObservation",
        ),
        _vector_wrapper("vectorize_reward", "ClipReward TransformReward VectorizeTransformReward"),
    ]
)

_UTILS = dict(
    [
        _util("colorize", "color2num colorize"),
        _util(
            "env_checker",
            "check_env check_reset_options check_reset_return_info_deprecation "
            "check_reset_return_type check_reset_seed_determinism check_returned_data_not_reused "
            "check_seed_deprecation check_space_limit check_step_determinism data_equivalence",
        ),
        _util("env_match", "check_environments_match"),
        (
            "utils.passive_env_checker",
            Row(
                "ludus.checking.passive",
                "check_action_space check_obs check_observation_space check_space "
                "data_shares_objects env_data_reuse_passive_checker env_render_passive_checker "
                "env_reset_passive_checker env_step_passive_checker",
            ),
        ),
        (
            "utils.performance",
            Row(
                "ludus.testing.performance",
                "benchmark_init benchmark_render benchmark_step benchmark_vector_step",
            ),
        ),
        _util("play", "MissingKeysToAction PlayPlot PlayableGame display_arr play"),
        _util("save_video", "capped_cubic_video_schedule save_video"),
        _util(
            "step_api_compatibility",
            "convert_to_done_step_api convert_to_terminated_truncated_step_api "
            "step_api_compatibility",
        ),
        ("utils.ezpickle", Row("ludus.core", "EzPickle")),
        ("utils.record_constructor", Row("ludus.core", "RecordConstructorArgs")),
        ("utils.seeding", Row("ludus.seeding", "RNG RandomNumberGenerator np_random")),
    ]
)

_ROBOTS = (
    ("ant", "ant", "AntEnv"),
    ("arms", "reacher", "ReacherEnv"),
    ("humanoid", "humanoid", "HumanoidEnv"),
    ("humanoid", "humanoidstandup", "HumanoidStandupEnv"),
    ("pendulums", "inverted_double_pendulum", "InvertedDoublePendulumEnv"),
    ("pendulums", "inverted_pendulum", "InvertedPendulumEnv"),
    ("runners", "half_cheetah", "HalfCheetahEnv"),
    ("runners", "swimmer", "SwimmerEnv"),
    ("walkers", "hopper", "HopperEnv"),
    ("walkers", "walker2d", "Walker2dEnv"),
)

_ENVS = dict(
    [
        (
            "envs.registration",
            Row(
                "ludus.registration",
                "EnvSpec VectorizeMode WrapperSpec current_namespace find_highest_version "
                "get_env_id load_env_creator make make_vec namespace parse_env_id "
                "pprint_registry register register_envs registry spec",
            ),
        ),
        _env("box2d.bipedal_walker", "BipedalWalker BipedalWalkerHardcore BipedalWalkerHeuristics"),
        ("envs.box2d.car_dynamics", Row("ludus.envs.box2d.car", "Car")),
        _env("box2d.car_racing", "CarRacing"),
        _env(
            "box2d.lunar_lander",
            "LunarLander LunarLanderContinuous demo_heuristic_lander heuristic",
        ),
        _env("classic_control.acrobot", "AcrobotEnv"),
        _env("classic_control.cartpole", "CartPoleEnv CartPoleVectorEnv"),
        _env("classic_control.continuous_mountain_car", "Continuous_MountainCarEnv"),
        _env("classic_control.mountain_car", "MountainCarEnv"),
        _env("classic_control.pendulum", "PendulumEnv"),
        _env("classic_control.utils", "maybe_parse_reset_bounds verify_number_and_cast"),
        ("envs.mujoco.mujoco_env", Row("ludus.envs.mujoco.env", "MujocoEnv expand_model_path")),
        (
            "envs.mujoco.mujoco_rendering",
            Row(
                "ludus.envs.mujoco.rendering ludus.envs.mujoco.viewers",
                "BaseRender MujocoRenderer OffScreenViewer WindowViewer",
            ),
        ),
        ("envs.mujoco.utils", Row("ludus.envs.mujoco.utils", "check_mujoco_reset_state")),
        *(_robot(*row, version) for version in (4, 5) for row in _ROBOTS),
        _robot("arms", "pusher", "PusherEnv", 5),
        _env("toy_text.blackjack", "BlackjackEnv"),
        _env("toy_text.cliffwalking", "CliffWalkingEnv"),
        _env("toy_text.frozen_lake", "FrozenLakeEnv generate_random_map"),
        _env("toy_text.taxi", "TaxiEnv"),
        _env("toy_text.utils", "categorical_sample"),
        (
            "envs.functional_jax_env",
            Row("ludus.envs.functional_jax_env", "FunctionalJaxEnv FunctionalJaxVectorEnv"),
        ),
        _env("phys2d.cartpole", "CartPoleFunctional CartPoleJaxEnv CartPoleJaxVectorEnv"),
        _env("phys2d.pendulum", "PendulumFunctional PendulumJaxEnv PendulumJaxVectorEnv"),
        _env("tabular.blackjack", "BlackJackJaxEnv BlackjackFunctional"),
        _env("tabular.cliffwalking", "CliffWalkingFunctional CliffWalkingJaxEnv"),
    ]
)


def _package(name: str, source: str, rows: dict[str, Row]) -> tuple[str, Row]:
    """Return the row of a package that offers what its modules define."""
    modules = [key for key in rows if key.rpartition(".")[0] == name]
    return name, Row(source, "", " ".join(modules))


ROWS: dict[str, Row] = {
    f"{ALIAS}.{name}".rstrip("."): row
    for name, row in {
        "": Row("ludus", "", "core spaces.space envs.registration"),
        **_CONTRACT,
        **_SPACES,
        **_VECTOR,
        "wrappers.utils": Row(
            "ludus.wrappers.utils",
            "RunningMeanStd create_zero_array rescale_box update_mean_var_count_from_moments",
        ),
        **_WRAPPERS,
        **_VECTOR_WRAPPERS,
        **_UTILS,
        **_ENVS,
        **dict(
            [
                _package("spaces", "ludus.spaces", _SPACES),
                _package("vector", "ludus.vector", _VECTOR),
                _package("vector.utils", "ludus.vector.utils", _VECTOR),
                _package("wrappers", "ludus.wrappers", _WRAPPERS),
                _package("wrappers.vector", "ludus.wrappers.vector", _VECTOR_WRAPPERS),
                _package("envs.box2d", "ludus.envs.box2d", _ENVS),
                (
                    "envs.mujoco",
                    Row(
                        "ludus.envs.mujoco",
                        "",
                        "envs.mujoco.mujoco_env envs.mujoco.mujoco_rendering",
                    ),
                ),
                _package("envs.classic_control", "ludus.envs.classic_control", _ENVS),
                _package("envs.toy_text", "ludus.envs.toy_text", _ENVS),
                _package("envs.phys2d", "ludus.envs.phys2d", _ENVS),
                _package("envs.tabular", "ludus.envs.tabular", _ENVS),
            ]
        ),
        "envs": Row("ludus.envs", "", "envs.registration"),
        "utils": Row("ludus.utils", "", "utils.colorize utils.ezpickle utils.record_constructor"),
    }.items()
}
"""The rows by full name."""

EAGER = tuple(
    f"{ALIAS}.{name}"
    for name in (
        "core",
        "error",
        "envs.registration",
        "vector.vector_env",
        "wrappers.common",
        *_SPACES,
    )
)
"""Modules whose classes get their new ``__module__`` with the first import, not when asked for."""


def served_names() -> dict[str, str]:
    """Return, for ``"module:class"`` of Ludus, Gymnasium's name of the same class."""
    names: dict[str, str] = {}
    for module, row in ROWS.items():
        source, *_ = row.sources.split()
        for name in row.defines.split():
            own = f"{name.removesuffix('Env')}{row.version}Env" if row.version else name
            names.setdefault(f"{source}:{own}", f"{module}:{name}")
    return names


def submodules(name: str) -> list[str]:
    """Return the last parts of the rows directly below a module."""
    return [key.rpartition(".")[2] for key in ROWS if key.rpartition(".")[0] == name]
