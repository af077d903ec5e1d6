"""Every id keeps the contract of an environment, and does what it always did.

``python -m tests.envs.box2d.test_conformance`` adds the hashes of new ids to ``golden.json``; it
does not change those that are there.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from pathlib import Path

import pytest

import ludus
from ludus.testing import EnvConformance
from tests.envs.box2d.support import BY_ID
from tests.envs.test_golden import feed

PATH = Path(__file__).with_name("golden.json")
TOO_NARROW = ("LunarLander-v2", "LunarLanderContinuous-v2")


@pytest.fixture(autouse=True)
def _draw_for_nobody(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def suite(env_id):
    pixels = env_id.startswith("CarRacing")

    class Suite(EnvConformance):
        seeds = (1,) if pixels else (1, 2)
        steps = 6 if pixels else 40
        render_modes = ("rgb_array",)

        def make(self, **kwargs):
            return ludus.make(env_id, disable_env_checker=True, **kwargs)

    return Suite


class NarrowLander:
    """Its declared bounds are narrower than its world, a known fault of the second version.

    What it returns lies within those of the third, whose world is the same.
    """

    def test_observations_lie_in_their_space(self):
        with closing(self.make()) as env:
            declared = env.observation_space
            wide = BY_ID[env.spec.id.replace("-v2", "-v3")].make().observation_space
            assert (declared.high[:6] < wide.high[:6]).all()
            for seed in self.seeds:
                for moment in self._rollout(env, seed):
                    seen = moment.observation
                    assert (seen.dtype, seen.shape) == (declared.dtype, declared.shape)
                    assert seen in wide
                    assert set(seen[6:].tolist()) <= {0.0, 1.0}


for _env_id in BY_ID:
    _name = "Test" + _env_id.replace("-", "")
    _bases = (NarrowLander,) if _env_id in TOO_NARROW else ()
    globals()[_name] = type(_name, (*_bases, suite(_env_id)), {})


def trajectory_hash(env_id):
    digest = hashlib.sha256()
    env = ludus.make(env_id, disable_env_checker=True)
    seeds, steps = (1, 15) if env_id.startswith("CarRacing") else (3, 120)
    for seed in range(seeds):
        feed(digest, env.reset(seed=seed))
        env.action_space.seed(seed)
        for _ in range(steps):
            seen, reward, *rest = env.step(env.action_space.sample())
            feed(digest, (seen, float(reward), *rest))
            if rest[0] or rest[1]:
                feed(digest, env.reset())
    env.close()
    return digest.hexdigest()[:32]


@pytest.mark.parametrize("env_id", BY_ID)
def test_trajectory_is_the_committed_one(env_id):
    assert trajectory_hash(env_id) == json.loads(PATH.read_text())[env_id]


if __name__ == "__main__":
    known = json.loads(PATH.read_text()) if PATH.exists() else {}
    for env_id in BY_ID:
        known.setdefault(env_id, trajectory_hash(env_id))
    PATH.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
