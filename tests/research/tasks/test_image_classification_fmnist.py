"""Fashion-MNIST: its record, its splits, what is refused, and what the box hides."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ludus.errors import DataMissing, TaskError
from ludus.research import load_task
from ludus.research.data.preparation import prepare
from tests.research.tasks.playing import check_record, workspace_of
from tests.research.tasks.predicting import (
    MALFORMED,
    SOURCES,
    SPLITS,
    built,
    check_label_refused,
    check_malformed,
    check_seeds,
    check_truth,
    read,
    run_in_box,
)
from tests.sampling import OPTIONAL
from tests.sandbox.support import needs

TASK = "imageClassificationFMnist"
SOURCE = Path("/usr/share/datasets/fashion-mnist")
VARIABLE = "LUDUS_DATA_FASHION_MNIST"
NAMES = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")

WHY_NOT = OPTIONAL or (None if SOURCE.is_dir() else "is missing")
needs_data = pytest.mark.skipif(WHY_NOT is not None, reason=f"dataset-fashion-mnist {WHY_NOT}")


def write_idx(path: Path, array: np.ndarray) -> None:
    head = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    with gzip.open(path, "wb") as file:
        file.write(head + array.tobytes())


def write_source(folder: Path, order: slice, shift: int) -> None:
    for name, count in (("train", 120), ("t10k", 20)):
        shades = np.arange(count, dtype=np.uint8)[order]
        images = np.broadcast_to(shades[:, None, None], (count, 28, 28))
        write_idx(folder / f"{name}-images-idx3-ubyte.gz", images)
        write_idx(folder / f"{name}-labels-idx1-ubyte.gz", (shades + shift) % 10)


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder of the same form with 120 and 20 pictures, each of them all of one brightness."""
    folder = tmp_path / "source"
    folder.mkdir()
    write_source(folder, slice(None), shift=0)
    monkeypatch.setenv(VARIABLE, str(folder))
    return folder


@pytest.fixture
def data(small, tmp_path):
    built(TASK, 0, tmp_path / "data")
    return tmp_path / "data"


@needs_data
@needs("bubblewrap")
@pytest.mark.slow
def test_record():
    check_record(TASK)


def test_seeds(small, tmp_path):
    check_seeds(TASK, tmp_path)


def test_pictures_keep_their_labels_and_the_test_split_is_the_official_one(data):
    shades = {}
    for split in ("train", *SPLITS):
        with np.load(data / "workspace" / f"{split}.npz") as file:
            images = file["images"]
            assert set(file.files) == ({"images", "labels"} if split == "train" else {"images"})
            labels = file["labels"].tolist() if split == "train" else None
        assert images.dtype == np.uint8
        shades[split] = images[:, 5, 7].tolist()
        if labels is None:
            rows = read(data / split / "labels.csv")
            assert [int(row["id"]) for row in rows] == list(range(len(images)))
            labels = [int(row["label"]) for row in rows]
        assert labels == [shade % 10 for shade in shades[split]]
    assert sorted(shades["test"]) == list(range(20))
    assert shades["test"] != sorted(shades["test"])
    assert sorted(shades["train"] + shades["validation"]) == list(range(120))
    assert len(shades["validation"]) == 20


def test_who_knows_the_seed_knows_no_label(small, tmp_path):
    def pictures(folder):
        built(TASK, 0, folder)
        found = {}
        for split in ("train", *SPLITS):
            with np.load(folder / "workspace" / f"{split}.npz") as file:
                found[split] = file["images"][:, 0, 0].tolist()
        return found

    before = pictures(tmp_path / "before")
    # The same pictures with other labels, in another order.
    write_source(small, slice(None, None, -1), shift=3)
    assert pictures(tmp_path / "after") == before


@needs_data
def test_the_real_pictures():
    workspace = workspace_of(TASK)
    shapes = {}
    for split in ("train", *SPLITS):
        with np.load(workspace / f"{split}.npz") as file:
            shapes[split] = file["images"].shape
    assert shapes == {
        "train": (50_000, 28, 28),
        "validation": (10_000, 28, 28),
        "test": (10_000, 28, 28),
    }
    size = sum(path.stat().st_size for path in workspace.iterdir())
    assert size < 32 << 20


def test_the_truth_scores_one_in_any_order(data):
    check_truth(TASK, data)


@pytest.mark.parametrize("change", MALFORMED)
def test_malformed(data, change):
    check_malformed(TASK, data, change)


@pytest.mark.parametrize("value", ["10", "3.0", "sandal"])
def test_a_label_is_a_class(data, value):
    check_label_refused(TASK, data, value, "column label")


@needs_data
@needs("bubblewrap")
def test_the_box_hides_where_the_data_comes_from():
    assert run_in_box(TASK, SOURCES.format(names=("ubyte", "fashion-mnist"))) == []
    attack = """
import json, os
import numpy as np
with np.load("train.npz") as train:
    shape = train["images"].shape
print(json.dumps([os.listdir("/usr/share/datasets"), shape]))
"""
    assert run_in_box(TASK, attack) == [[], [50_000, 28, 28]]


@pytest.mark.parametrize("missing", NAMES)
def test_data_that_is_missing(small, tmp_path, missing):
    (small / f"{missing}-ubyte.gz").unlink()
    with pytest.raises(DataMissing, match=rf"missing.*apt-get install.*{VARIABLE}.*{missing}"):
        prepare(load_task(TASK), 0, tmp_path / "data")


def test_a_file_of_another_format(small, tmp_path):
    with gzip.open(small / f"{NAMES[0]}-ubyte.gz", "wb") as file:
        file.write(b"\x89PNG")
    with pytest.raises(TaskError, match="no IDX file of bytes"):
        prepare(load_task(TASK), 0, tmp_path / "data")
