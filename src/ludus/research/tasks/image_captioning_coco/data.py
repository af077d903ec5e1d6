"""The data: pictures of COCO with captions by several people, drawn by the seed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ludus.research.data.sources import Download, Source, read_image

SIZE = 96
COUNTS = {"train": 8_000, "validation": 1_000, "test": 1_000}
HELD_BACK = 0.1
"""Share of the training pictures for validations, where there are fewer."""

SOURCE = Source(
    name="COCO captions",
    variable="LUDUS_DATA_COCO",
    files="annotations/captions_train2017.json and annotations/captions_val2017.json and the "
    "pictures in train2017 and val2017 (or the same of 2014)",
    origin="https://cocodataset.org/#download (annotations_trainval2017.zip, train2017.zip, "
    "val2017.zip)",
    layouts=tuple(
        [f"**/captions_train{year}.json", f"**/captions_val{year}.json"] for year in (2017, 2014)
    ),
    downloads=tuple(
        Download(f"http://images.cocodataset.org/{path}.zip", ".", unpack=True)
        for path in ("annotations/annotations_trainval2017", "zips/val2017", "zips/train2017")
    ),
    rows={"train2017": 118_287, "val2017": 5_000},
)

Picture = tuple[Path, list[str]]


def build(folder: Path, seed: int) -> None:
    """Write pictures into the workspace, with captions those for training only."""
    (train_file, *_), (test_file, *_) = SOURCE.find()
    rng = np.random.default_rng(seed)
    known, test = _drawn(_read(train_file), rng), _drawn(_read(test_file), rng)
    held_back = min(COUNTS["validation"], int(HELD_BACK * len(known)))
    splits = {
        "validation": known[:held_back],
        "train": known[held_back:][: COUNTS["train"]],
        "test": test[: COUNTS["test"]],
    }
    for split, pictures in splits.items():
        if not pictures:
            raise SOURCE.missing(f"no pictures with captions are left for {split}")
        place = folder / ("workspace" if split == "train" else split)
        _write_captions(place / f"{split}_captions.json", (words for _, words in pictures))
        pixels = [_pixels(path) for path, _ in pictures]
        np.save(folder / "workspace" / f"{split}_images.npy", np.stack(pixels))


def count_rows() -> dict[str, int]:
    """Return the number of pictures with captions, of each part."""
    counts = {}
    for name, (file, *_) in zip(SOURCE.rows, SOURCE.find(), strict=True):
        pictures = _read(file)
        missing = [path for path, _ in pictures if not path.is_file()]
        if missing:
            raise SOURCE.missing(f"there is no picture {missing[0]}")
        counts[name] = len(pictures)
    return counts


def _read(file: Path) -> list[Picture]:
    """Return the pictures that an annotation file names, with their captions."""
    try:
        told = json.loads(file.read_bytes())
        captions: dict[int, list[str]] = {image["id"]: [] for image in told["images"]}
        for row in told["annotations"]:
            captions[row["image_id"]].append(" ".join(row["caption"].split()))
        names = {image["id"]: image["file_name"] for image in told["images"]}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        detail = f"{file} is no file of captions ({type(problem).__name__}: {problem})"
        raise SOURCE.missing(detail) from problem
    # .../annotations/captions_val2017.json goes with .../val2017
    folder = file.stem.removeprefix("captions_")
    places = (file.parent.parent / folder, file.parent / folder)
    pictures = next((place for place in places if place.is_dir()), None)
    if pictures is None:
        raise SOURCE.missing(f"there is no folder {places[0]}")
    return [
        (pictures / Path(names[key]).name, words)
        for key, words in sorted(captions.items())
        if words
    ]


def _drawn(pictures: list[Picture], rng: np.random.Generator) -> list[Picture]:
    return [pictures[place] for place in rng.permutation(len(pictures))]


def _pixels(path: Path) -> Any:
    try:
        data = path.read_bytes()
    except FileNotFoundError as problem:
        raise SOURCE.missing(f"there is no picture {path}") from problem
    return read_image(data, SIZE, str(path))


def _write_captions(path: Path, captions: Iterable[list[str]]) -> None:
    rows = [{"id": row, "caption": text} for row, texts in enumerate(captions) for text in texts]
    path.write_text(json.dumps(rows, indent=0) + "\n", "utf-8")
