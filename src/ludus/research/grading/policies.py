"""Grading of policies: environments on the grader's side, submitted code that acts in them.

A submission is ``policy.py`` and the numbers it works with, ``weights.npz``. The code answers
batches of observations with batches of actions, and sees nothing else of the environments. Several
policies can be handed in at once, say of training runs with different seeds: the code is told
which one is to play.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.registration import make, make_vec
from ludus.research.grading.contract import Split
from ludus.research.grading.outcome import Score
from ludus.research.grading.submission import Submission
from ludus.spaces import Box, Discrete, Space

__all__ = ["PolicyTest"]

CODE, WEIGHTS = "policy.py", "weights.npz"
_START_SECONDS, _ACT_SECONDS, _ALL_SECONDS = 60.0, 10.0, 300.0


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """How policies are tested: each plays one episode in each environment of a batch of its own.

    Args:
        env_id: The environment.
        frames: Steps after which an episode is cut off.
        policies: How many play, one after the other.
        environments: How many each of them plays in, at the same time.
    """

    env_id: str
    frames: int
    policies: int = 5
    environments: int = 256

    def grade(self, submission: Submission, seed: int, split: Split) -> Score:
        """Return the mean return of a submission.

        No two policies or splits share an environment's seed, so nothing can be learnt about one
        episode in another. Whoever does not know ``seed`` cannot foresee any.

        Raises:
            SubmissionRejected: ``weights.npz`` holds anything but finite numbers, or ``policy.py``
                fails, answers with no actions, or takes too long.
        """
        submission.arrays(WEIGHTS)
        code = submission.code(CODE)
        actions = _actions(make(self.env_id).action_space)

        def start(policy: int, environments: int) -> None:
            code.call("start", policy, environments, timeout=_START_SECONDS)

        def act(observations: NDArray[Any]) -> NDArray[Any]:
            if code.seconds > _ALL_SECONDS:
                raise SubmissionRejected(
                    f"{CODE} has taken more than {_ALL_SECONDS:g} seconds for its actions in all."
                )
            answer: NDArray[Any] = code.call(
                "act",
                observations,
                timeout=_ACT_SECONDS,
                returns=lambda value: actions(value, len(observations)),
            )
            return answer

        digest = hashlib.sha256(f"{self.env_id} {split} {seed}".encode()).digest()
        returns = self.returns(start, act, int.from_bytes(digest, "big"))
        error = returns.std(ddof=1) / returns.size**0.5
        return Score(
            float(returns.mean()),
            {
                "policies": returns.mean(axis=1).tolist(),
                "standard_error": float(error),
                "episodes": returns.size,
            },
        )

    def returns(
        self,
        start: Callable[[int, int], object],
        act: Callable[[NDArray[Any]], NDArray[Any]],
        seed: int,
    ) -> NDArray[np.float64]:
        """Return what each policy earned in each environment.

        Args:
            start: Called with the number of a policy, and of environments, before it plays.
            act: Called with the observations of all environments; returns their actions. Those of
                environments whose episode is over do not count.
            seed: Of all environments.
        """
        rng = np.random.default_rng(seed)
        envs = make_vec(self.env_id, num_envs=self.environments)
        made = np.zeros((self.policies, self.environments))
        for policy in range(self.policies):
            start(policy, self.environments)
            observations, _ = envs.reset(seed=rng.integers(2**63, size=self.environments).tolist())
            plays = np.ones(self.environments, np.bool_)
            for _ in range(self.frames):
                observations, rewards, ends, cuts, _ = envs.step(act(observations))
                made[policy] += np.where(plays, rewards, 0.0)
                plays &= ~(ends | cuts)
                if not plays.any():
                    break
        envs.close()
        return made


def _actions(space: Space[Any]) -> Callable[[Any, int], NDArray[Any]]:
    """Return what makes actions of a submission's answer, or raises why it cannot."""
    if isinstance(space, Discrete):
        first, beyond = int(space.start), int(space.start + space.n)

        def discrete(value: Any, count: int) -> NDArray[Any]:
            array = np.asarray(value)
            if array.shape != (count,) or array.dtype.kind not in "iu":
                raise ValueError(f"expected {count} ints, one for each environment")
            if array.min() < first or array.max() >= beyond:
                raise ValueError(f"expected actions from {first} to {beyond - 1}")
            return array.astype(np.int64)

        return discrete
    if isinstance(space, Box):
        low, high, shape = space.low, space.high, space.shape

        def continuous(value: Any, count: int) -> NDArray[Any]:
            array = np.asarray(value)
            if array.dtype.kind not in "iuf" or array.size != count * low.size:
                raise ValueError(f"expected numbers of shape {(count, *shape)}")
            return np.clip(array.reshape(count, *shape), low, high).astype(low.dtype)

        return continuous
    raise GradingFailed(f"Policies cannot act in {space}; expected Discrete or Box.")
