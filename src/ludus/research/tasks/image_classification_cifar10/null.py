"""The null submission: the first class for every image."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return predictions of class 0."""
    made = {}
    for split in ("validation", "test"):
        rows = len(np.load(workspace / f"{split}_images.npy", mmap_mode="r"))
        lines = ["id,label", *(f"{row},0" for row in range(rows))]
        made[f"predictions/{split}.csv"] = ("\n".join(lines) + "\n").encode()
    return made
