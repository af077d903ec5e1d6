"""What the tests of the family share."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

pytest.importorskip("mujoco", exc_type=ImportError)

from ludus.envs.mujoco.registration import SPECS
from ludus.errors import DependencyNotInstalled
from tests.sampling import sampled

PLAYABLE = {spec.id: spec for spec in SPECS if spec.version in (4, 5) and spec.id != "Pusher-v4"}
ONE_OF_EACH_MODEL = sampled(PLAYABLE, 11, by=lambda name: name.partition("-")[0])
RETIRED = {spec.id: spec for spec in SPECS if spec.id not in PLAYABLE}


def robot(name: str, **options: Any) -> Any:
    """Return a robot without wrappers."""
    return PLAYABLE[name].make(disable_env_checker=True, **options).unwrapped


@cache
def why_no_picture() -> str | None:
    """Return why robots cannot be drawn on this machine."""
    env = robot("Reacher-v5", render_mode="rgb_array", width=40, height=30)
    try:
        env.render()
    except DependencyNotInstalled as problem:
        return f"robots are drawn with libegl1 or libosmesa6: {problem}"
    finally:
        env.close()
    return None
