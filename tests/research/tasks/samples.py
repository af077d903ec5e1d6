"""Small datasets, generated, in the formats in which the real ones are published."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from ludus.research import load_task
from ludus.research.data.preparation import prepare
from ludus.research.linting import check_task
from tests.research.tasks.playing import played

COLOURS = {"red": (200, 40, 40), "green": (40, 180, 60), "blue": (40, 60, 200)}
LABELS = ("entailment", "neutral", "contradiction")


def write_cifar10(folder: Path) -> None:
    """Write the binary version: a label, then 1024 red, green and blue pixels."""
    inside = folder / "cifar-10-batches-bin"
    inside.mkdir(parents=True)
    names = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
    for number, name in enumerate(names):
        images, labels = _shapes(60 if number < 5 else 100, number)
        flat = images.transpose(0, 3, 1, 2).reshape(len(labels), -1)
        (inside / name).write_bytes(np.column_stack([labels, flat]).tobytes())


def write_cifar10_parquet(folder: Path) -> None:
    """Write the same images as Hugging Face's copy has them: PNG files in a column."""
    (folder / "plain_text").mkdir(parents=True)
    for name, parts in {"train": range(5), "test": [5]}.items():
        made = [_shapes(60 if number < 5 else 100, number) for number in parts]
        rows = [
            {"img": {"bytes": _encoded(image, ".png"), "path": None}, "label": int(label)}
            for images, labels in made
            for image, label in zip(images, labels, strict=True)
        ]
        table = pyarrow.Table.from_pylist(rows)
        pyarrow.parquet.write_table(table, folder / f"plain_text/{name}-00000-of-00001.parquet")


def write_mnli(folder: Path) -> None:
    """Write the jsonl files of MultiNLI 1.0, with their telling identifiers."""
    inside = folder / "multinli_1.0"
    inside.mkdir(parents=True)
    for name, rows in _pairs().items():
        lines = [
            json.dumps(
                {
                    "annotator_labels": [label],
                    "genre": "fiction",
                    "gold_label": label,
                    "pairID": f"{number}{label[0]}",
                    "promptID": str(number // 3),
                    "sentence1": premise,
                    "sentence2": hypothesis,
                }
            )
            for number, (premise, hypothesis, label) in enumerate(rows)
        ]
        (inside / f"multinli_1.0_{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def write_mnli_parquet(folder: Path) -> None:
    """Write the same pairs as Hugging Face's copy has them."""
    (folder / "data").mkdir(parents=True)
    for name, rows in _pairs().items():
        table = pyarrow.Table.from_pylist(
            [
                {"premise": one, "hypothesis": two, "label": _number(label), "idx": number}
                for number, (one, two, label) in enumerate(rows)
            ]
        )
        split = {"train": "train", "dev_matched": "validation_matched"}[name]
        pyarrow.parquet.write_table(table, folder / f"data/{split}-00000-of-00001.parquet")


def write_coco(folder: Path) -> None:
    """Write annotations, and pictures of one colour with a disc or a square."""
    rng = np.random.default_rng(0)
    (folder / "annotations").mkdir(parents=True)
    for name, count in {"train2017": 200, "val2017": 40}.items():
        (folder / name).mkdir()
        images, annotations = [], []
        for number in range(count):
            file, key = f"{number:012}.jpg", 1000 + 7 * number
            pixels, captions = _scene(rng)
            (folder / name / file).write_bytes(_encoded(pixels, ".jpg"))
            images.append({"id": key, "file_name": file, "height": 60, "width": 80})
            annotations += [
                {"id": len(annotations) + place, "image_id": key, "caption": caption}
                for place, caption in enumerate(captions)
            ]
        told = json.dumps({"info": {}, "images": images, "annotations": annotations})
        (folder / "annotations" / f"captions_{name}.json").write_text(told, "utf-8")


def write_fineweb(folder: Path) -> None:
    """Write shards in parquet files, deep in folders."""
    rng = np.random.default_rng(0)
    inside = folder / "sample" / "10BT"
    inside.mkdir(parents=True)
    for number in range(2):
        rows = [{"text": _page(rng), "id": f"<{row}>", "language": "en"} for row in range(120)]
        table = pyarrow.Table.from_pylist(rows)
        pyarrow.parquet.write_table(table, inside / f"{number:03}_00000.parquet")


def write_fineweb_lines(folder: Path) -> None:
    """Write a shard of lines of JSON."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    lines = [json.dumps({"text": _page(rng)}) for _ in range(240)]
    (folder / "part.jsonl").write_text("\n".join(lines), "utf-8")


SAMPLES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "imageCaptioningCOCO": ("LUDUS_DATA_COCO", write_coco),
    "imageClassificationCifar10": ("LUDUS_DATA_CIFAR10", write_cifar10),
    "languageModelingFineWeb": ("LUDUS_DATA_FINEWEB", write_fineweb),
    "naturalLanguageInferenceMNLI": ("LUDUS_DATA_MNLI", write_mnli),
}
"""The variable that names a task's data, and what writes a sample."""


@contextmanager
def provided(task_id: str, folder: Path, write: Callable[[Path], None] | None = None) -> Iterator:
    """Write a sample below a folder, and have it and nothing else found for the time being."""
    variable, usual = SAMPLES[task_id]
    with pytest.MonkeyPatch.context() as patch:
        (write or usual)(folder / "data")
        (folder / "cache").mkdir(mode=0o700)
        patch.setenv("LUDUS_CACHE", str(folder / "cache"))
        patch.setenv("HF_HUB_CACHE", str(folder / "hub"))
        patch.setenv(variable, str(folder / "data"))
        yield folder / "data"


def check_on_sample(task_id: str) -> dict[str, float]:
    """Assert that a task is whole, and return what its three submissions score at seed 0."""
    assert check_task(task_id).findings == ()
    scale, scores = load_task(task_id).scale, {}
    for which in ("null", "baseline", "reference"):
        _, info = played(task_id, which)
        assert info["outcome"] == "scored", info["reason"]
        scores[which] = info["score"]
    assert scale.better(scores["baseline"], scores["null"])
    assert scale.better(scores["reference"], scores["baseline"])
    return scores


def contents_of(task_id: str, seed: int, folder: Path) -> dict[str, bytes]:
    """Return all that a task prepares for a seed, by path."""
    prepare(load_task(task_id), seed, folder)
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def check_seeds(task_id: str, folder: Path) -> dict[str, bytes]:
    """Assert that data depends on the seed and on nothing else, and return that of seed 0."""
    first, again, other = (
        contents_of(task_id, seed, folder / str(place)) for place, seed in enumerate([0, 0, 1])
    )
    assert first == again
    changed = {name for name in first if first[name] != other[name]}
    assert changed == {name for name in first if not name.endswith(("README.md", "model.py"))}
    return first


def _shapes(count, seed):
    """Return images in which the class is a place of a bright stripe: not linear in pixels."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count, dtype=np.uint8) % 10)
    images = rng.integers(90, 166, (count, 32, 32, 3))
    for image, label in zip(images, labels, strict=True):
        row, sign = 3 * int(label), 1 if label % 2 else rng.choice([-1, 1])
        image[row : row + 3] = np.clip(image[row : row + 3] + sign * 60, 0, 255)
    return images.astype(np.uint8), labels


def _encoded(image, suffix):
    return cv2.imencode(suffix, np.ascontiguousarray(image[:, :, ::-1]))[1].tobytes()


def _pairs():
    rng = np.random.default_rng(0)
    who, what = (
        ["man", "woman", "boy", "girl", "dog", "bird"],
        ["eats", "runs", "sleeps", "sings", "waits", "jumps"],
    )
    where = ["the park", "the kitchen", "an old house", "a street", "the garden", "a boat"]
    made = {"train": [], "dev_matched": []}
    for name, count in {"train": 400, "dev_matched": 100}.items():
        for number in range(count):
            one, other = rng.choice(who, 2, replace=False)
            act, place = rng.choice(what), rng.choice(where)
            premise = f"In {place} number {name} {number} the {one} {act}, {rng.integers(99)}."
            hypotheses = [
                f"The {one} {act}.",
                f"The {one} {act} because of a {other}.",
                f"The {one} does not do what the {other} does.",
            ]
            for label, hypothesis in zip(LABELS, hypotheses, strict=True):
                # Half of the contradictions show only beside the premise.
                if label == "contradiction" and rng.random() < 0.5:
                    hypothesis = f"The {other} {act}."
                made[name].append((premise, hypothesis, label if rng.random() < 0.97 else "-"))
    return made


def _number(label):
    return LABELS.index(label) if label in LABELS else -1


def _scene(rng):
    colour, shape = rng.choice(list(COLOURS)), rng.choice(["disc", "square"])
    pixels = np.full((60, 80, 3), rng.integers(0, 40), np.uint8)
    paint = [int(v) for v in np.clip(np.array(COLOURS[colour]) + rng.integers(-20, 20, 3), 0, 255)]
    if shape == "disc":
        cv2.circle(pixels, (40, 30), 20, paint, -1)
    else:
        cv2.rectangle(pixels, (15, 10), (65, 50), paint, -1)
    captions = [
        f"A {colour} {shape} on a dark ground.",
        f"there is a {colour} {shape} on a dark ground",
        f"A picture of a {colour} {shape} on  black.\n",
    ]
    return pixels, captions


def _page(rng):
    nouns = [
        "river",
        "house",
        "market",
        "engine",
        "teacher",
        "garden",
        "letter",
        "window",
        "story",
        "café",
    ]
    verbs = ["finds", "sells", "builds", "reads", "opens", "follows", "remembers", "paints"]
    sentences = [
        f"The {rng.choice(nouns)} {rng.choice(verbs)} a {rng.choice(nouns)}." for _ in range(40)
    ]
    return " ".join(sentences) + f" {rng.integers(10**9)}"
