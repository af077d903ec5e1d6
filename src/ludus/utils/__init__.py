"""Gymnasium's ``utils`` package: module paths for names that are defined elsewhere in Ludus."""

from __future__ import annotations

import re

from ludus.lazy import lazy_modules

_TABLE = """
colorize = core.colorize: color2num colorize
env_checker = checking: check_action_space check_env check_observation_space check_reset_options
  check_reset_return_info_deprecation check_reset_return_type check_reset_seed_determinism
  check_returned_data_not_reused check_seed_deprecation check_space_limit check_step_determinism
  data_equivalence data_shares_objects env_render_passive_checker env_reset_passive_checker
  env_step_passive_checker
env_match = checking: check_environments_match data_equivalence
ezpickle = core: EzPickle
passive_env_checker = checking.passive: check_action_space check_obs check_observation_space
  check_space data_shares_objects env_data_reuse_passive_checker env_render_passive_checker
  env_reset_passive_checker env_step_passive_checker
performance = testing.performance: benchmark_init benchmark_render benchmark_step
  benchmark_vector_step
play = play: MissingKeysToAction PlayPlot PlayableGame display_arr play
record_constructor = core: RecordConstructorArgs
save_video = play.video: capped_cubic_video_schedule save_video
seeding = seeding: RNG RandomNumberGenerator np_random
step_api_compatibility = core.step_api: DoneStepType TerminatedTruncatedStepType
  convert_to_done_step_api convert_to_terminated_truncated_step_api step_api_compatibility
"""
"""Gymnasium's modules, Ludus's modules, and their names."""

_ROWS = re.findall(r"(\w+) = ([\w.]+): ([\w\s]+?)\n(?! )", _TABLE)

lazy_modules(
    __name__,
    {module: dict.fromkeys(names.split(), f"ludus.{home}") for module, home, names in _ROWS},
)

# Last: the function `colorize` takes the place of its module, as in Gymnasium.
from ludus.core import EzPickle, RecordConstructorArgs  # noqa: E402
from ludus.core.colorize import colorize  # noqa: E402

__all__ = ["EzPickle", "RecordConstructorArgs", "colorize"]
