"""Submissions of the tasks whose policies play in environments, and what each must refuse."""

from __future__ import annotations

import io

import numpy as np

from ludus.research import ResearchEnv
from tests.research.tasks.playing import HOME, LOOSE, play

POLICY = """\
import numpy as np

def start(policy, environments):
    pass

def act(observations):
    n = len(observations)
    return {answer}
"""


def policy_files(answer: str, **arrays: np.ndarray) -> dict[str, bytes]:
    """Return a submission whose ``act`` returns the value of an expression, of ``n`` rows."""
    weights = io.BytesIO()
    np.savez(weights, **(arrays or {"weights": np.zeros(1)}))
    return {"policy.py": POLICY.format(answer=answer).encode(), "weights.npz": weights.getvalue()}


def fault(task_id: str, files: dict[str, bytes]) -> str:
    """Return why a submission is refused."""
    _, info = play(task_id, files)
    assert info["outcome"] == "agent_fault", info
    return info["reason"]


def evaluated(task_id: str, files: dict[str, bytes]) -> str:
    """Return what the workspace's ``evaluate.py`` prints about a submission."""
    env = ResearchEnv(task_id, policy=LOOSE)
    try:
        env.reset(seed=0)
        for path, data in files.items():
            env.sandbox.write_bytes(f"{HOME}/{path}", data)
        observation, *_ = env.step("python evaluate.py 7")
        assert observation["exit_code"] == 0, observation["output"]
        return observation["output"]
    finally:
        env.close()
