"""The hash of a seeded trajectory may not change.

A quick run looks at one id of each kind, one with ``LUDUS_TEST_ALL=1`` at all of them.
``python -m tests.envs.atari.test_golden`` adds the hashes of new ids to ``golden.json`` and does
not change those that are there.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path

import pytest

pytest.importorskip("ale_py")

import ludus
from tests.envs.atari.sampling import ALL_IDS, IDS_TRIED
from tests.envs.test_golden import feed
from tests.sampling import ALL

PATH = Path(__file__).with_name("golden.json")
STEPS = 60


def trajectory_hash(env_id):
    digest = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = ludus.make(env_id, disable_env_checker=True)
    feed(digest, env.reset(seed=1))
    env.action_space.seed(1)
    for _ in range(STEPS):
        result = env.step(env.action_space.sample())
        feed(digest, result)
        if result[2] or result[3]:
            feed(digest, env.reset())
    return digest.hexdigest()[:32]


@pytest.mark.parametrize("env_id", ALL_IDS if ALL else IDS_TRIED)
def test_trajectory_is_the_committed_one(env_id):
    expected = json.loads(PATH.read_text()).get(env_id)
    assert expected is not None, "no hash yet; run python -m tests.envs.atari.test_golden"
    assert trajectory_hash(env_id) == expected


def test_every_id_has_a_hash_and_no_hash_outlives_its_environment():
    assert set(json.loads(PATH.read_text())) == set(ALL_IDS)


if __name__ == "__main__":
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    for each in ALL_IDS:
        known[each] = known.get(each) or trajectory_hash(each)
    PATH.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
