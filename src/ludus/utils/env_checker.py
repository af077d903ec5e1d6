"""Gymnasium's module path for the checks of :mod:`ludus.checking`."""

from __future__ import annotations

from ludus.checking import (
    check_action_space,
    check_env,
    check_observation_space,
    check_reset_options,
    check_reset_return_info_deprecation,
    check_reset_return_type,
    check_reset_seed_determinism,
    check_returned_data_not_reused,
    check_seed_deprecation,
    check_space_limit,
    check_step_determinism,
    data_equivalence,
    data_shares_objects,
    env_render_passive_checker,
    env_reset_passive_checker,
    env_step_passive_checker,
)

__all__ = [
    "check_action_space",
    "check_env",
    "check_observation_space",
    "check_reset_options",
    "check_reset_return_info_deprecation",
    "check_reset_return_type",
    "check_reset_seed_determinism",
    "check_returned_data_not_reused",
    "check_seed_deprecation",
    "check_space_limit",
    "check_step_determinism",
    "data_equivalence",
    "data_shares_objects",
    "env_render_passive_checker",
    "env_reset_passive_checker",
    "env_step_passive_checker",
]
