"""The null submission: policies that always do the same."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

POLICY = b"""\
import numpy as np

def start(policy, environments):
    pass

def act(observations):
    return np.zeros(len(observations), np.int64)
"""


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return the files of a submission without any knowledge."""
    weights = io.BytesIO()
    np.savez(weights, weights=np.zeros(1))
    return {"policy.py": POLICY, "weights.npz": weights.getvalue()}
