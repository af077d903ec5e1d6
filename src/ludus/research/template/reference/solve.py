"""The reference solution: least squares."""

from __future__ import annotations

import csv
from pathlib import Path
from statistics import linear_regression

train = list(csv.DictReader(Path("train.csv").read_text("utf-8").splitlines()))
line = linear_regression([float(row["x"]) for row in train], [float(row["y"]) for row in train])
Path("predictions").mkdir(exist_ok=True)
for split in ("validation", "test"):
    rows = list(csv.DictReader(Path(f"{split}.csv").read_text("utf-8").splitlines()))
    lines = ["id,y"]
    lines += [f"{row['id']},{line.slope * float(row['x']) + line.intercept}" for row in rows]
    Path("predictions", f"{split}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
