"""Gymnasium's ``utils`` package: module paths for names that are defined elsewhere in Ludus."""

from __future__ import annotations

from ludus.core import EzPickle, RecordConstructorArgs
from ludus.core.colorize import colorize as _colorize
from ludus.lazy import lazy_modules

__all__ = ["EzPickle", "RecordConstructorArgs", "colorize"]

_PASSIVE = (
    "check_action_space check_observation_space data_shares_objects env_render_passive_checker "
    "env_reset_passive_checker env_step_passive_checker"
)
# By module: where its names are defined.
_MODULES = {
    "colorize": {"ludus.core.colorize": "color2num colorize"},
    "env_checker": {
        "ludus.checking": f"{_PASSIVE} check_env check_reset_options "
        "check_reset_return_info_deprecation check_reset_return_type "
        "check_reset_seed_determinism check_returned_data_not_reused check_seed_deprecation "
        "check_space_limit check_step_determinism data_equivalence"
    },
    "env_match": {"ludus.checking": "check_environments_match data_equivalence"},
    "ezpickle": {"ludus.core": "EzPickle"},
    "passive_env_checker": {
        "ludus.checking.passive": f"{_PASSIVE} check_obs check_space env_data_reuse_passive_checker"
    },
    "performance": {
        "ludus.testing.performance": "benchmark_init benchmark_render benchmark_step "
        "benchmark_vector_step"
    },
    "play": {"ludus.play": "MissingKeysToAction PlayPlot PlayableGame display_arr play"},
    "record_constructor": {"ludus.core": "RecordConstructorArgs"},
    "save_video": {"ludus.play.video": "capped_cubic_video_schedule save_video"},
    "seeding": {"ludus.seeding": "RNG RandomNumberGenerator np_random"},
    "step_api_compatibility": {
        "ludus.core.foreign.step_api": "DoneStepType TerminatedTruncatedStepType "
        "convert_to_done_step_api convert_to_terminated_truncated_step_api step_api_compatibility"
    },
}
lazy_modules(
    __name__,
    {
        module: {name: home for home, names in homes.items() for name in names.split()}
        for module, homes in _MODULES.items()
    },
)
colorize = _colorize  # the function, not the module of that name
