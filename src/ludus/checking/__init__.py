"""Checks that an environment follows the ``Env`` API.

:func:`check_env` raises and warns, :func:`inspect_env` returns a report; both check :data:`RULES`.
The passive checkers validate single calls, for the ``PassiveEnvChecker`` wrapper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ludus.lazy import lazy_attributes

if TYPE_CHECKING:
    from ludus.checking.checker import check_env, inspect_env
    from ludus.checking.data import data_equivalence, data_shares_objects, first_difference
    from ludus.checking.match import check_environments_match
    from ludus.checking.passive import (
        check_action_space,
        check_obs,
        check_observation_space,
        check_space,
        env_data_reuse_passive_checker,
        env_render_passive_checker,
        env_reset_passive_checker,
        env_step_passive_checker,
    )
    from ludus.checking.reset import (
        check_reset_options,
        check_reset_return_info_deprecation,
        check_reset_return_type,
        check_reset_seed_determinism,
        check_seed_deprecation,
    )
    from ludus.checking.rule import CheckFailed, Rule
    from ludus.checking.rules import RULES
    from ludus.checking.spaces import check_space_limit
    from ludus.checking.step import check_returned_data_not_reused, check_step_determinism
    from ludus.findings import Finding, Report

__all__ = [
    "RULES",
    "CheckFailed",
    "Finding",
    "Report",
    "Rule",
    "check_action_space",
    "check_env",
    "check_environments_match",
    "check_obs",
    "check_observation_space",
    "check_reset_options",
    "check_reset_return_info_deprecation",
    "check_reset_return_type",
    "check_reset_seed_determinism",
    "check_returned_data_not_reused",
    "check_seed_deprecation",
    "check_space",
    "check_space_limit",
    "check_step_determinism",
    "data_equivalence",
    "data_shares_objects",
    "env_data_reuse_passive_checker",
    "env_render_passive_checker",
    "env_reset_passive_checker",
    "env_step_passive_checker",
    "first_difference",
    "inspect_env",
]

# Every environment that is made needs the passive checks, and few processes the others.
_NAMES = {
    "checking.checker": "check_env inspect_env",
    "checking.data": "data_equivalence data_shares_objects first_difference",
    "checking.match": "check_environments_match",
    "checking.passive": """
        check_action_space check_obs check_observation_space check_space
        env_data_reuse_passive_checker env_render_passive_checker env_reset_passive_checker
        env_step_passive_checker
    """,
    "checking.reset": """
        check_reset_options check_reset_return_info_deprecation check_reset_return_type
        check_reset_seed_determinism check_seed_deprecation
    """,
    "checking.rule": "CheckFailed Rule",
    "checking.rules": "RULES",
    "checking.spaces": "check_space_limit",
    "checking.step": "check_returned_data_not_reused check_step_determinism",
    "findings": "Finding Report",
}
_HOMES = {name: f"ludus.{home}" for home, names in _NAMES.items() for name in names.split()}
__getattr__ = lazy_attributes(__name__, _HOMES)
