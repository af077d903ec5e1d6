"""The baseline: the mean of y for every x."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import mean

train = list(csv.DictReader(Path("train.csv").read_text("utf-8").splitlines()))
value = mean(float(row["y"]) for row in train)
Path("predictions").mkdir(exist_ok=True)
for split in ("validation", "test"):
    rows = list(csv.DictReader(Path(f"{split}.csv").read_text("utf-8").splitlines()))
    lines = ["id,y", *(f"{row['id']},{value}" for row in rows)]
    Path("predictions", f"{split}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
