"""Digits: its splits, what is refused, and what the box hides."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data.preparation import prepare
from tests.research.tasks.predicting import (
    MALFORMED,
    SOURCES,
    SPLITS,
    built,
    check_label_refused,
    check_malformed,
    check_seeds,
    check_shuffle,
    check_truth,
    read,
    run_in_box,
    without,
)
from tests.sandbox.support import needs

TASK = "digits"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits") / "data"
    built(TASK, 0, folder)
    return folder


def test_seeds(tmp_path):
    check_seeds(TASK, tmp_path)


def test_the_splits_are_all_of_scikit_learns_digits(data):
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    known = Counter(
        (*map(int, picture), label) for picture, label in zip(pixels, labels, strict=True)
    )
    found = Counter()
    ids = []
    for split in ("train", *SPLITS):
        pictures = read(data / "workspace" / f"{split}.csv")
        answers = pictures if split == "train" else read(data / split / "labels.csv")
        for picture, answer in zip(pictures, answers, strict=True):
            assert picture["id"] == answer["id"]
            row = [int(value) for name, value in picture.items() if name.startswith("p")]
            found[(*row, int(answer["label"]))] += 1
            ids.append(int(picture["id"]))
        assert ("label" in pictures[0]) == (split == "train")
    assert found == known
    assert ids == list(range(1797))


def test_who_knows_the_seed_knows_no_label(data):
    rows = [
        [int(value) for name, value in row.items() if name.startswith("p")]
        for split in ("train", *SPLITS)
        for row in read(data / "workspace" / f"{split}.csv")
    ]
    check_shuffle(rows, seed=0)
    for split in SPLITS:
        labels = np.array([int(row["label"]) for row in read(data / split / "labels.csv")])
        # In the source it is 0.27, since there are runs from 0 to 9.
        assert np.mean(np.diff(labels) == 1) < 0.2


def test_the_truth_scores_one_in_any_order(data):
    check_truth(TASK, data)


@pytest.mark.parametrize("change", MALFORMED)
def test_malformed(data, change):
    check_malformed(TASK, data, change)


@pytest.mark.parametrize("value", ["10", "3.0", "three", "٣"])
def test_a_label_is_a_digit(data, value):
    check_label_refused(TASK, data, value, "column label")


@needs("bubblewrap")
def test_the_box_hides_where_the_data_comes_from():
    assert run_in_box(TASK, SOURCES.format(names=("digits.csv",))) == []
    attack = """
import json
from sklearn.datasets import load_digits
from sklearn.svm import SVC
try:
    load_digits()
    answer = "loaded"
except FileNotFoundError:
    answer = "not there"
print(json.dumps([answer, SVC().fit([[0], [1]], [0, 1]).predict([[2]]).tolist()]))
"""
    assert run_in_box(TASK, attack) == ["not there", [1]]


def test_data_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", without("sklearn"))
    with pytest.raises(DataMissing, match="pip install"):
        prepare(load_task(TASK), 0, tmp_path / "data")
