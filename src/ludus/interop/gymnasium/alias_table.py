"""Table of Gymnasium's modules: the names they define and where Ludus defines them.

A section ``[package] sources`` lists modules of a package of Gymnasium 1.4; ``{}`` in the sources
stands for the module. A row ``module: names`` has the names that the module defines, so that the
classes get it as ``__module__``; ``module = sources: names`` has other sources. Sources are the
Ludus modules in which names are looked up, in this order.

A name that is not in the table is still looked up in the sources, then in :data:`IMPORTED`. A
module without an importable source does not exist in the alias.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = [
    "ALIAS",
    "CLOSED",
    "EAGER",
    "IMPORTED",
    "IMPORTED_MODULES",
    "LIVE",
    "RENAMED",
    "ROWS",
    "VERSION",
    "Row",
    "served_names",
    "submodules",
]

ALIAS = "gymnasium"

VERSION = "1.4.0"
"""The version of Gymnasium whose API is provided, and value of ``gymnasium.__version__``."""

LIVE = frozenset({"gymnasium.logger.min_level", "gymnasium.envs.registration.current_namespace"})
"""Variables that are read from and written to Ludus at every access."""

_TABLE = """
[] ludus.{}
core = ludus.core ludus.core.types: ActType ActionWrapper Env ObsType ObservationWrapper
  RenderFrame RewardWrapper Wrapper WrapperActType WrapperObsType
error = ludus.errors: AlreadyPendingCallError ClosedEnvironmentError CustomSpaceError
  DependencyNotInstalled DeprecatedEnv DeprecatedWrapper Error InvalidAction InvalidBound
  InvalidMetadata InvalidProbability MissingArgument NameNotFound NamespaceNotFound
  NoAsyncCallError RegistrationError ResetNeeded UnregisteredEnv UnsupportedMode VersionNotFound
logger = ludus.logger ludus.utils.colorize: ERROR WARN deprecation error min_level warn
[experimental] ludus.experimental.{}
functional: ActType FuncEnv ObsType Params RenderStateType RewardType StateType TerminalType
[spaces] ludus.spaces ludus.spaces.{}
space: Space
box: Box
dict: Dict
discrete: Discrete
graph: Graph GraphInstance
multi_binary: MultiBinary
multi_discrete: MultiDiscrete
oneof: OneOf
sequence: Sequence
text: Text alphanumeric
tuple: Tuple
utils: flatdim flatten flatten_space is_space_dtype_shape_equiv unflatten
[vector] ludus.vector.{}
vector_env = ludus.core ludus.core.types: ArrayType AutoresetMode VectorActionWrapper VectorEnv
  VectorObservationWrapper VectorRewardWrapper VectorWrapper
sync_vector_env: SyncVectorEnv
async_vector_env: AsyncState AsyncVectorEnv
[vector.utils] ludus.vector.utils
misc: CloudpickleWrapper clear_mpi_env_vars
shared_memory = ludus.vector.utils ludus.spaces: create_shared_memory read_from_shared_memory
  write_to_shared_memory
space_utils = ludus.spaces: batch_differing_spaces batch_space concatenate create_empty_array
  iterate
[wrappers] ludus.wrappers
utils = ludus.wrappers.utils: RunningMeanStd create_zero_array rescale_box
  update_mean_var_count_from_moments
array_conversion = ludus.wrappers.array_conversion ludus.wrappers: ArrayConversion
atari_preprocessing: AtariPreprocessing
common: Autoreset OrderEnforcing PassiveEnvChecker RecordEpisodeStatistics TimeLimit
jax_to_numpy = ludus.wrappers.jax_to_numpy ludus.wrappers: JaxToNumpy
jax_to_torch = ludus.wrappers.jax_to_torch ludus.wrappers: JaxToTorch
numpy_to_torch = ludus.wrappers.numpy_to_torch ludus.wrappers: NumpyToTorch
rendering: AddWhiteNoise HumanRendering ObstructView RecordVideo RenderCollection
stateful_action: RepeatAction StickyAction
stateful_observation: DelayObservation FrameStackObservation MaxAndSkipObservation
  NormalizeObservation TimeAwareObservation
stateful_reward: NormalizeReward
transform_action: ClipAction DiscretizeAction RescaleAction TransformAction
transform_observation: AddRenderObservation DiscretizeObservation DtypeObservation
  FilterObservation FlattenObservation GrayscaleObservation RescaleObservation ReshapeObservation
  ResizeObservation TransformObservation
transform_reward: ClipReward TransformReward
[wrappers.vector] ludus.wrappers.vector.{} ludus.wrappers.vector
array_conversion: ArrayConversion
common: RecordEpisodeStatistics
dict_info_to_list: DictInfoToList
jax_to_numpy: JaxToNumpy
jax_to_torch: JaxToTorch
numpy_to_torch: NumpyToTorch
rendering: HumanRendering RecordVideo
stateful_observation: NormalizeObservation
stateful_reward: NormalizeReward
vectorize_action: ClipAction RescaleAction TransformAction VectorizeTransformAction
vectorize_observation: DtypeObservation FilterObservation FlattenObservation GrayscaleObservation
  RescaleObservation ReshapeObservation ResizeObservation TransformObservation
  VectorizeTransformObservation
vectorize_reward: ClipReward TransformReward VectorizeTransformReward
[utils] ludus.utils.{}
colorize: color2num colorize
env_checker: check_env check_reset_options check_reset_return_info_deprecation
  check_reset_return_type check_reset_seed_determinism check_returned_data_not_reused
  check_seed_deprecation check_space_limit check_step_determinism data_equivalence
env_match: check_environments_match
passive_env_checker = ludus.checking.passive: check_action_space check_obs check_observation_space
  check_space data_shares_objects env_data_reuse_passive_checker env_render_passive_checker
  env_reset_passive_checker env_step_passive_checker
performance = ludus.testing.performance: benchmark_init benchmark_render benchmark_step
  benchmark_vector_step
play: MissingKeysToAction PlayPlot PlayableGame display_arr play
save_video: capped_cubic_video_schedule save_video
step_api_compatibility: convert_to_done_step_api convert_to_terminated_truncated_step_api
  step_api_compatibility
ezpickle = ludus.core: EzPickle
record_constructor = ludus.core: RecordConstructorArgs
seeding = ludus.seeding: RNG RandomNumberGenerator np_random
[envs] ludus.envs.{}
registration = ludus.registration: EnvSpec VectorizeMode WrapperSpec current_namespace
  find_highest_version get_env_id load_env_creator make make_vec namespace parse_env_id
  pprint_registry register register_envs registry spec
[envs.box2d] ludus.envs.box2d.{} ludus.envs.box2d
bipedal_walker: BipedalWalker BipedalWalkerHardcore BipedalWalkerHeuristics
car_dynamics = ludus.envs.box2d.car: Car
car_racing: CarRacing
lunar_lander: LunarLander LunarLanderContinuous demo_heuristic_lander heuristic
[envs.classic_control] ludus.envs.classic_control.{} ludus.envs.classic_control
acrobot: AcrobotEnv
cartpole: CartPoleEnv CartPoleVectorEnv
continuous_mountain_car: Continuous_MountainCarEnv
mountain_car: MountainCarEnv
pendulum: PendulumEnv
utils: maybe_parse_reset_bounds verify_number_and_cast
[envs.mujoco] ludus.envs.mujoco.{}
mujoco_env = ludus.envs.mujoco.env: MujocoEnv expand_model_path
mujoco_rendering = ludus.envs.mujoco.rendering ludus.envs.mujoco.viewers: BaseRender MujocoRenderer
  OffScreenViewer WindowViewer
utils: check_mujoco_reset_state
[envs.toy_text] ludus.envs.toy_text.{} ludus.envs.toy_text
blackjack: BlackjackEnv
cliffwalking: CliffWalkingEnv
frozen_lake: FrozenLakeEnv generate_random_map
taxi: TaxiEnv
utils: categorical_sample
[envs] ludus.envs.{}
functional_jax_env: FunctionalJaxEnv FunctionalJaxVectorEnv
[envs.phys2d] ludus.envs.phys2d.{} ludus.envs.phys2d
cartpole: CartPoleFunctional CartPoleJaxEnv CartPoleJaxVectorEnv
pendulum: PendulumFunctional PendulumJaxEnv PendulumJaxVectorEnv
[envs.tabular] ludus.envs.tabular.{} ludus.envs.tabular
blackjack: BlackJackJaxEnv BlackjackFunctional
cliffwalking: CliffWalkingFunctional CliffWalkingJaxEnv
"""

_ROBOTS = """
ant ant AntEnv
arms reacher ReacherEnv
humanoid humanoid HumanoidEnv
humanoid humanoidstandup HumanoidStandupEnv
pendulums inverted_double_pendulum InvertedDoublePendulumEnv
pendulums inverted_pendulum InvertedPendulumEnv
runners half_cheetah HalfCheetahEnv
runners swimmer SwimmerEnv
walkers hopper HopperEnv
walkers walker2d Walker2dEnv
arms pusher PusherEnv
"""
"""Ludus's module, Gymnasium's file without its version, and the class."""

_PACKAGES = """
spaces vector vector.utils wrappers wrappers.vector envs.box2d envs.classic_control envs.toy_text
envs.phys2d envs.tabular
"""
"""Packages that re-export the names of their modules."""


class Row(NamedTuple):
    """One module; each field is a list separated by spaces."""

    sources: str
    defines: str = ""
    offers: str = ""
    """Other rows whose names the module re-exports."""
    version: str = ""
    """Part of the class names before ``Env`` that only Ludus has."""


def _rows() -> dict[str, Row]:
    rows = {"": Row("ludus", "", "core spaces.space envs.registration")}
    package = sources = ""
    for line in re.sub(r"\n +", " ", _TABLE).split("\n"):
        if line.startswith("["):
            package, _, sources = line[1:].partition("] ")
        elif line:
            head, _, names = line.partition(": ")
            module, _, own = head.partition(" = ")
            name = f"{package}.{module}".lstrip(".")
            rows[name] = Row(own or sources.format(module), names)
    for version in (4, 5):
        for module, file, name in map(str.split, _ROBOTS.strip().split("\n")):
            if (version, file) != (4, "pusher"):
                label = "V4" if version == 4 else ""
                row = Row(f"ludus.envs.mujoco.{module}", name, "", label)
                rows[f"envs.mujoco.{file}_v{version}"] = row
    for package in _PACKAGES.split():
        inside = (key for key in rows if key.rpartition(".")[0] == package)
        modules = [key for key in inside if key != "wrappers.utils"]  # nor does Gymnasium
        rows[package] = Row(f"ludus.{package}", "", " ".join(modules))
    rows |= {
        "envs": Row("ludus.envs", "", "envs.registration"),
        "envs.mujoco": Row(
            "ludus.envs.mujoco", "", "envs.mujoco.mujoco_env envs.mujoco.mujoco_rendering"
        ),
        "experimental": Row("ludus.experimental"),
        "utils": Row("ludus.utils", "", "utils.colorize utils.ezpickle utils.record_constructor"),
    }
    return {f"{ALIAS}.{name}".rstrip("."): row for name, row in rows.items()}


ROWS = _rows()
"""The rows by full module name."""

EAGER = (
    *(f"{ALIAS}.{name}" for name in ("core", "error", "envs.registration", "vector.vector_env")),
    f"{ALIAS}.wrappers.common",
    *(name for name in ROWS if name.startswith(f"{ALIAS}.spaces.")),
)
"""Modules whose classes get their new ``__module__`` at the first import of the alias."""


_CORE = (f"{ALIAS}.spaces.", f"{ALIAS}.vector.")

CLOSED = frozenset({"gymnasium.wrappers", "gymnasium.wrappers.vector"})
"""Packages with Gymnasium's names only: programs test whether they have an old name."""

RENAMED = {
    "AutoResetWrapper": "Autoreset",
    "FrameStack": "FrameStackObservation",
    "PixelObservationWrapper": "AddRenderObservation",
    "VectorListInfo": "vector.DictInfoToList",
}
"""Old names of wrappers and their present names."""

IMPORTED = {
    name: f"{ALIAS}.{module}"
    for module in (
        *("core", "error", "logger", "experimental.functional", "envs.functional_jax_env"),
        *("envs.mujoco.mujoco_env", "envs.toy_text.utils", "utils.passive_env_checker"),
        *("utils.ezpickle", "utils.record_constructor", "utils.step_api_compatibility"),
        "wrappers.utils",
        *(row.removeprefix(f"{ALIAS}.") for row in ROWS if row.startswith(_CORE)),
    )
    for name in ROWS[f"{ALIAS}.{module}"].defines.split()
}
"""Defining modules of the names that Gymnasium's modules import from one another.

Programs import ``Box`` or ``DependencyNotInstalled`` from any module that happens to have it.
"""

IMPORTED_MODULES = {
    **{name: f"{ALIAS}.{name}" for name in ("error", "logger", "spaces", "utils", "vector")},
    **dict.fromkeys(("gym", ALIAS), ALIAS),
    "seeding": f"{ALIAS}.utils.seeding",
}
"""Modules that Gymnasium's modules import, by their local name."""


def served_names() -> dict[str, str]:
    """Return Gymnasium's ``"module:class"`` by Ludus's ``"module:class"``."""
    names: dict[str, str] = {}
    for module, row in ROWS.items():
        source, *_ = row.sources.split()
        for name in row.defines.split():
            own = f"{name.removesuffix('Env')}{row.version}Env" if row.version else name
            names.setdefault(f"{source}:{own}", f"{module}:{name}")
    return names


def submodules(name: str) -> list[str]:
    """Return the names of the modules directly below a module."""
    return [key.rpartition(".")[2] for key in ROWS if key.rpartition(".")[0] == name]
