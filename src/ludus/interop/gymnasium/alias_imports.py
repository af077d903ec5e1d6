"""Names that Gymnasium's modules import from each other, and old names that they reject."""

from __future__ import annotations

from ludus.interop.gymnasium.alias_table import ALIAS, ROWS

__all__ = ["CLOSED", "IMPORTED", "IMPORTED_MODULES", "RENAMED"]

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
