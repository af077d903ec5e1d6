"""imageClassificationCifar10 on a generated sample in the published formats."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data.preparation import prepare
from tests.research.tasks import samples
from tests.research.tasks.nulls import NULLS
from tests.research.tasks.playing import play, workspace_of

TASK = "imageClassificationCifar10"


@pytest.fixture(scope="module", autouse=True)
def sample(tmp_path_factory):
    with samples.provided(TASK, tmp_path_factory.mktemp("cifar10")) as folder:
        yield folder


def test_the_whole_task():
    scores = samples.check_on_sample(TASK)
    assert scores["null"] == load_task(TASK).scale.floor == 0.1


def test_data_is_of_the_seed(tmp_path):
    data = samples.check_seeds(TASK, tmp_path)
    images = {
        split: np.load(io.BytesIO(data[f"workspace/{split}_images.npy"]), allow_pickle=False)
        for split in ("train", "validation", "test")
    }
    assert {split: found.shape for split, found in images.items()} == {
        "train": (270, 32, 32, 3),
        "validation": (30, 32, 32, 3),
        "test": (100, 32, 32, 3),
    }
    rows = [{image.tobytes() for image in found} for found in images.values()]
    assert len(set.union(*rows)) == 400


def test_labels_stay_with_their_images(tmp_path):
    """The sample's class is where the stripe is."""
    data = samples.contents_of(TASK, 0, tmp_path)
    images = np.load(io.BytesIO(data["workspace/train_images.npy"]), allow_pickle=False)
    rows = csv.DictReader(data["workspace/train_labels.csv"].decode().splitlines())
    labels = np.array([int(row["label"]) for row in rows])
    contrast = np.abs(images.mean(axis=(2, 3)) - 127)
    stripes = contrast[:, :30].reshape(len(images), 10, 3).mean(axis=2)
    assert np.array_equal(stripes.argmax(axis=1), labels)


def test_both_formats_give_the_same(tmp_path):
    binary = samples.contents_of(TASK, 0, tmp_path / "binary")
    with samples.provided(TASK, tmp_path, samples.write_cifar10_parquet):
        assert samples.contents_of(TASK, 0, tmp_path / "packed") == binary


def test_a_copy_in_the_cache_of_the_hub_is_found(tmp_path, monkeypatch):
    binary = samples.contents_of(TASK, 0, tmp_path / "binary")
    monkeypatch.delenv("LUDUS_DATA_CIFAR10")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    samples.write_cifar10_parquet(tmp_path / "hub/datasets--uoft-cs--cifar10/snapshots/0b714b")
    assert samples.contents_of(TASK, 0, tmp_path / "cached") == binary


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_DATA_CIFAR10", str(tmp_path))
    wanted = r"CIFAR-10 is missing.*toronto.*binary version.*LUDUS_DATA_CIFAR10.*data_batch_1\.bin"
    with pytest.raises(DataMissing, match=wanted):
        prepare(load_task(TASK), 0, tmp_path / "made")
    # The Python version, which nobody unpickles.
    (tmp_path / "data_batch_1").write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    with pytest.raises(DataMissing, match="pickled, and not read"):
        prepare(load_task(TASK), 0, tmp_path / "made")


@pytest.mark.parametrize("data", [b"", bytes(3072), bytes([10]) + bytes(3072)])
def test_damaged_files_are_told(tmp_path, monkeypatch, data):
    samples.write_cifar10(tmp_path / "data")
    (tmp_path / "data/cifar-10-batches-bin/test_batch.bin").write_bytes(data)
    monkeypatch.setenv("LUDUS_DATA_CIFAR10", str(tmp_path / "data"))
    with pytest.raises(DataMissing, match=r"test_batch\.bin is no whole file"):
        prepare(load_task(TASK), 0, tmp_path / "made")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace(b"\n0,0\n", b"\n0,10\n"), "within 0 and 9"),
        (lambda text: text.replace(b"\n0,0\n", b"\n0,0.5\n"), "expected an integer"),
        (lambda text: text.replace(b"\n0,0\n", b"\n1,0\n"), "more than once"),
        (lambda text: text.replace(b"\n0,0\n", b"\n"), "lacks 1"),
        (lambda text: text.replace(b"id,label", b"id,label,score"), "columns"),
    ],
)
def test_malformed_predictions_are_refused(change, said):
    files = NULLS[TASK](workspace_of(TASK))
    files["predictions/test.csv"] = change(files["predictions/test.csv"])
    _, info = play(TASK, files)
    assert info["outcome"] == "agent_fault"
    assert said in info["reason"]
