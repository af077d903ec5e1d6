"""A version of an id means exact behaviour: the hash of a seeded trajectory may not change.

A hash that changed is a bug, or a new version. ``python -m tests.envs.test_golden`` adds the hashes
of new ids to ``golden.json``; it does not change those that are there.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import ludus
from ludus.envs.builtin import KERNELS

PATH = Path(__file__).with_name("golden.json")
IDS = [spec.id for spec in KERNELS]
STEPS = 120


def feed(digest, value):
    if isinstance(value, dict):
        for key in sorted(value):
            digest.update(str(key).encode())
            feed(digest, value[key])
    elif isinstance(value, tuple | list):
        for part in value:
            feed(digest, part)
    elif isinstance(value, str):
        digest.update(value.encode())
    else:
        array = np.asarray(value)
        digest.update(array.dtype.str.encode())
        digest.update(np.ascontiguousarray(array).tobytes())


def as_floats(result):
    """Return a result with numbers that Gymnasium has as ints in some games as floats."""

    def as_float(value):
        return float(value) if type(value) is int else value

    seen, *rest, infos = result
    infos = {key: as_float(part) if key == "prob" else part for key, part in infos.items()}
    return (seen, *map(as_float, rest), infos)


def trajectory_hash(env_id):
    digest = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = ludus.make(env_id, disable_env_checker=True)
        for seed in range(3):
            feed(digest, as_floats(env.reset(seed=seed)))
            env.action_space.seed(seed)
            for step in range(STEPS):
                result = env.step(env.action_space.sample())
                feed(digest, as_floats(result))
                if result[2] or result[3]:
                    feed(digest, as_floats(env.reset()))
                    env.action_space.seed(step)  # a reset may have made a new space
        env.close()
    return digest.hexdigest()[:32]


def golden():
    return json.loads(PATH.read_text()) if PATH.exists() else {}


@pytest.mark.parametrize("env_id", IDS)
def test_trajectory_is_the_committed_one(env_id):
    expected = golden().get(env_id)
    assert expected is not None, "no hash yet; run python -m tests.envs.test_golden"
    assert trajectory_hash(env_id) == expected


def test_no_hash_outlives_its_environment():
    assert set(golden()) <= set(IDS)


if __name__ == "__main__":
    known = golden()
    for env_id in IDS:
        known.setdefault(env_id, trajectory_hash(env_id))
    PATH.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
