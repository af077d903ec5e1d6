"""The physics engine, imported when first needed."""

from __future__ import annotations

from typing import Any

from ludus.distribution import pip_install
from ludus.errors import DependencyNotInstalled, Error

__all__ = ["import_mujoco"]


def import_mujoco() -> Any:
    """Import mujoco.

    Raises:
        DependencyNotInstalled: It is missing or incomplete; the message says what to install.
        Error: It refuses to start, as for a wrong value in ``MUJOCO_GL``.
    """
    try:
        import mujoco  # type: ignore[import-untyped,import-not-found,unused-ignore]
    except ImportError as problem:
        raise DependencyNotInstalled(
            f"MuJoCo environments need mujoco, which cannot be imported ({problem}); run "
            f"`{pip_install('mujoco')}`"
        ) from problem
    except RuntimeError as problem:
        raise Error(
            f"mujoco does not start ({problem}); leave MUJOCO_GL unset or set it to egl or osmesa."
        ) from problem
    return mujoco
