"""What the tests of the family share."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("mujoco", exc_type=ImportError)

from ludus.envs.mujoco.registration import SPECS

PLAYABLE = {spec.id: spec for spec in SPECS if spec.version in (4, 5) and spec.id != "Pusher-v4"}
RETIRED = {spec.id: spec for spec in SPECS if spec.id not in PLAYABLE}


def robot(name: str, **options: Any) -> Any:
    """Return a robot without wrappers."""
    return PLAYABLE[name].make(disable_env_checker=True, **options).unwrapped
