"""The null submission: the same word for every picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def null_submission(workspace: Path) -> dict[str, bytes]:
    """Return captions of one word."""
    made = {}
    for split in ("validation", "test"):
        rows = len(np.load(workspace / f"{split}_images.npy", mmap_mode="r"))
        lines = ["id,caption", *(f"{row},a" for row in range(rows))]
        made[f"captions/{split}.csv"] = ("\n".join(lines) + "\n").encode()
    return made
