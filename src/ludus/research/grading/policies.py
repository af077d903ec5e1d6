"""Grading of policies: the grader runs environments, submitted code acts in them.

A submission is ``policy.py`` and its arrays, ``weights.npz``. The code answers batches of
observations with batches of actions, and sees nothing else of the environments. It contains several
policies, such as training runs with different seeds, and is told which one plays.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.errors import GradingFailed, SubmissionRejected
from ludus.registration import make_vec
from ludus.research.grading.answers import admitted_numbers, described
from ludus.research.grading.submission import Submission
from ludus.research.task.contract import Split
from ludus.research.task.outcome import Score
from ludus.spaces import Box, Discrete, Space

__all__ = ["PolicyTest"]

_CODE, _WEIGHTS = "policy.py", "weights.npz"
_START_SECONDS, _ACT_SECONDS, _ALL_SECONDS = 60.0, 10.0, 300.0
_START_BYTES, _ACT_BYTES, _NUMBER_BYTES = 1 << 16, 1 << 12, 64


@dataclass(frozen=True, slots=True)
class PolicyTest:
    """How policies are tested: each plays one episode in each environment of its own batch.

    Args:
        env_id: The environment.
        frames: Steps after which an episode is cut off.
        policies: Number of policies, played one after the other.
        environments: Size of each batch.
    """

    env_id: str
    frames: int
    policies: int = 5
    environments: int = 256

    def grade(self, submission: Submission, seed: int, split: Split, key: str) -> Score:
        """Return the mean return of a submission.

        No two policies or splits share an environment's seed, so that one episode says nothing
        about another.

        Args:
            submission: With ``policy.py`` and ``weights.npz``.
            seed: The grader's.
            split: The grader's.
            key: Part of the environments' seeds that only the grader contains. Agents can read this
                file: without a key they could play all episodes beforehand.

        Raises:
            SubmissionRejected: ``weights.npz`` holds anything but finite numbers, or ``policy.py``
                fails, answers with invalid actions, or takes too long.
        """
        submission.arrays(_WEIGHTS)
        code = submission.code(_CODE)

        def start(policy: int, environments: int) -> None:
            code.call("start", policy, environments, timeout=_START_SECONDS, max_bytes=_START_BYTES)

        def act(observations: NDArray[Any]) -> Any:
            if code.seconds > _ALL_SECONDS:
                text = f"{_CODE} has taken more than {_ALL_SECONDS:g} seconds for its answers."
                raise SubmissionRejected(text, told=text)
            # Room for a list of NumPy's own numbers, which take more than those of an array.
            most = _ACT_BYTES + _NUMBER_BYTES * len(observations)
            return code.call("act", observations, timeout=_ACT_SECONDS, max_bytes=most)

        digest = hashlib.sha256(f"{key} {split} {seed}".encode()).digest()
        returns = self.returns(start, act, int.from_bytes(digest, "big"))
        details = {
            "policies": returns.mean(axis=1).tolist(),
            "standard_error": float(returns.std(ddof=1) / returns.size**0.5),
            "episodes": returns.size,
        }
        return Score(float(returns.mean()), details)

    def returns(
        self,
        start: Callable[[int, int], object],
        act: Callable[[NDArray[Any]], Any],
        seed: int,
    ) -> NDArray[np.float64]:
        """Return the returns of each policy in each environment.

        Args:
            start: Called with the number of a policy, and of environments, before it plays.
            act: Called with the observations of all environments; returns their actions. Those of
                finished episodes do not count.
            seed: Of all environments.

        Raises:
            SubmissionRejected: ``act`` returned invalid actions.
        """
        rng = np.random.default_rng(seed)
        envs = make_vec(self.env_id, num_envs=self.environments)
        made = np.zeros((self.policies, self.environments))
        for policy in range(self.policies):
            start(policy, self.environments)
            observations, _ = envs.reset(seed=rng.integers(2**63, size=self.environments).tolist())
            plays = np.ones(self.environments, np.bool_)
            for _ in range(self.frames):
                actions = _actions(envs.single_action_space, act(observations), self.environments)
                observations, rewards, terminations, truncations, _ = envs.step(actions)
                made[policy] += np.where(plays, rewards, 0.0)
                plays &= ~(terminations | truncations)
                if not plays.any():
                    break
        envs.close()
        return made


def _actions(space: Space[Any], answer: Any, count: int) -> NDArray[Any]:
    """Return a batch of actions; continuous ones are clipped to their bounds."""
    if isinstance(space, Discrete):
        first, last = int(space.start), int(space.start + space.n - 1)
        whole = admitted_numbers(answer, (count,), "iu")
        if whole is None or whole.min() < first or whole.max() > last:
            raise _no_actions(answer, f"{count} ints from {first} to {last}")
        return whole.astype(np.int64)
    if isinstance(space, Box):
        shape = (count, *space.shape)
        found = admitted_numbers(answer, shape, "iuf")
        if found is None and space.low.size == 1:
            found = admitted_numbers(answer, (count,), "iuf")
        if found is None or not np.isfinite(found).all():
            raise _no_actions(answer, f"finite numbers of shape {shape}")
        clipped: NDArray[Any] = np.clip(found.reshape(shape), space.low, space.high)
        return clipped.astype(space.dtype)
    raise GradingFailed(f"Policies cannot act in {space}; expected Discrete or Box.")


def _no_actions(answer: Any, wanted: str) -> SubmissionRejected:
    told = f"act(…) must return {wanted}"
    return SubmissionRejected(f"{told}; it returned {described(answer)}.", told=f"{told}.")
