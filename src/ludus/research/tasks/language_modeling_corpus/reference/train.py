"""The reference solution: the model keeps the text, and counts when it is loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np

MOST = 6_000_000

text = np.frombuffer(Path("train.txt").read_bytes()[:MOST], np.uint8)
np.savez_compressed("model.npz", text=text)
