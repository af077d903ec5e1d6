"""The hash of seeded games may not change; they are played by legal moves, to their end.

``python -m tests.envs.board.test_golden`` adds the hashes of new ids to ``golden.json`` and
does not change those that are there.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import pytest

pytest.importorskip("pyspiel")

import ludus
from ludus.envs.board.registration import SPECS
from tests.envs.test_golden import feed

PATH = Path(__file__).with_name("golden.json")
IDS = [spec.id for spec in SPECS]
STEPS = 60


def trajectory_hash(env_id):
    digest = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = ludus.make(env_id, disable_env_checker=True)
    for seed in range(2):
        env.action_space.seed(seed)
        result = env.reset(seed=seed)
        feed(digest, result)
        for _ in range(STEPS):
            result = env.step(env.action_space.sample(result[-1]["action_mask"]))
            feed(digest, result)
            if result[2]:
                result = env.reset()
                feed(digest, result)
        digest.update(env.unwrapped.position.text().encode())
    return digest.hexdigest()[:32]


@pytest.mark.parametrize("env_id", IDS)
def test_trajectory_is_the_committed_one(env_id):
    expected = json.loads(PATH.read_text()).get(env_id)
    assert expected is not None, "no hash yet; run python -m tests.envs.board.test_golden"
    assert trajectory_hash(env_id) == expected


def test_no_hash_outlives_its_environment():
    assert set(json.loads(PATH.read_text())) <= set(IDS)


if __name__ == "__main__":
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    for each in IDS:
        known.setdefault(each, trajectory_hash(each))
    PATH.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
