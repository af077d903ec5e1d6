"""The hash of seeded episodes may not change with one version of the engine.

The engine's last bits depend on the processor's mathematics, so numbers are rounded, and episodes
are short: their errors grow from step to step. ``python -m tests.envs.mujoco.test_golden`` adds the
hashes of new ids to ``golden.json``, and replaces all when the engine's version has changed.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.envs.mujoco.support import PLAYABLE, robot
from tests.envs.test_golden import feed

mujoco = pytest.importorskip("mujoco", exc_type=ImportError)
PATH = Path(__file__).with_name("golden.json")
STEPS = 12


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, bool):
        return value
    # Adding zero turns -0.0 into 0.0.
    return np.round(np.asarray(value, np.float64), 5) + 0.0


def trajectory_hash(name: str) -> str:
    digest = hashlib.sha256()
    env = robot(name)
    for seed in range(2):
        env.action_space.seed(seed)
        feed(digest, [rounded(part) for part in env.reset(seed=seed)])
        for _ in range(STEPS):
            result = env.step(env.action_space.sample())
            feed(digest, [rounded(part) for part in result])
            if result[2]:
                env.reset()
    return digest.hexdigest()[:32]


def golden() -> dict[str, str]:
    known: dict[str, str] = json.loads(PATH.read_text()) if PATH.exists() else {}
    return known


@pytest.mark.parametrize("name", PLAYABLE)
def test_trajectory_is_the_committed_one(name: str) -> None:
    known = golden()
    if known["mujoco"] != mujoco.__version__:
        pytest.skip(f"hashes are of mujoco {known['mujoco']}, this is {mujoco.__version__}")
    expected = known.get(name)
    assert expected is not None, "no hash yet; run python -m tests.envs.mujoco.test_golden"
    assert trajectory_hash(name) == expected


def test_no_hash_outlives_its_environment() -> None:
    assert set(golden()) - {"mujoco"} <= set(PLAYABLE)


if __name__ == "__main__":
    hashes = golden()
    if hashes.get("mujoco") != mujoco.__version__:
        hashes = {"mujoco": mujoco.__version__}
    for each in PLAYABLE:
        hashes.setdefault(each, trajectory_hash(each))
    PATH.write_text(json.dumps(dict(sorted(hashes.items())), indent=1) + "\n")
