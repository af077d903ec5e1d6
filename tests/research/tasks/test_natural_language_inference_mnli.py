"""naturalLanguageInferenceMNLI on a generated sample in the published formats."""

from __future__ import annotations

import csv
import json

import pytest

from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data.preparation import prepare
from tests.research.tasks import samples
from tests.research.tasks.nulls import NULLS
from tests.research.tasks.playing import play, workspace_of

TASK = "naturalLanguageInferenceMNLI"


@pytest.fixture(scope="module", autouse=True)
def sample(tmp_path_factory):
    with samples.provided(TASK, tmp_path_factory.mktemp("mnli")) as folder:
        yield folder


def rows_of(data, split):
    lines = data[f"workspace/{split}.jsonl"].decode().split("\n")
    return [json.loads(line) for line in lines if line]


def labels_of(data, split):
    return [row["label"] for row in csv.DictReader(data[f"{split}/labels.csv"].decode().split())]


def test_the_whole_task(tmp_path):
    scores = samples.check_on_sample(TASK)
    labels = labels_of(samples.contents_of(TASK, 0, tmp_path), "test")
    assert scores["null"] == pytest.approx(labels.count("entailment") / len(labels))


def test_data_is_of_the_seed(tmp_path):
    data = samples.check_seeds(TASK, tmp_path)
    premises = [
        {row["premise"] for row in rows_of(data, split)}
        for split in ("train", "validation", "test")
    ]
    assert all(premises)
    assert sum(map(len, premises)) == len(set.union(*premises))
    assert set(rows_of(data, "train")[0]) == {"premise", "hypothesis", "label"}
    assert set(rows_of(data, "test")[0]) == {"id", "premise", "hypothesis"}


def test_nothing_of_the_original_gives_labels_away(tmp_path):
    data = samples.contents_of(TASK, 0, tmp_path)
    for split in ("validation", "test"):
        rows = rows_of(data, split)
        assert [row["id"] for row in rows] == list(range(len(rows)))
        assert len(labels_of(data, split)) == len(rows)
    assert not any(b"pairID" in text or b"annotator" in text for text in data.values())


def test_pairs_without_a_label_are_left_out(tmp_path, sample):
    source = (sample / "multinli_1.0/multinli_1.0_dev_matched.jsonl").read_text()
    assert '"gold_label": "-"' in source
    data = samples.contents_of(TASK, 0, tmp_path)
    assert len(rows_of(data, "test")) == 300 - source.count('"gold_label": "-"')
    assert set(labels_of(data, "test")) == {"entailment", "neutral", "contradiction"}


def test_premises_of_the_test_are_not_trained_on(tmp_path):
    def write(folder):
        samples.write_mnli(folder)
        inside = folder / "multinli_1.0"
        with (inside / "multinli_1.0_train.jsonl").open("a") as train:
            train.write((inside / "multinli_1.0_dev_matched.jsonl").read_text())

    before = samples.contents_of(TASK, 0, tmp_path / "before")
    with samples.provided(TASK, tmp_path, write):
        assert samples.contents_of(TASK, 0, tmp_path / "after") == before


@pytest.mark.parametrize("below", ["", "mnli"])
def test_all_formats_give_the_same(tmp_path, below):
    lines = samples.contents_of(TASK, 0, tmp_path / "lines")

    def write(folder):
        samples.write_mnli_parquet(folder)
        if below:
            # As in GLUE, beside other tasks.
            (folder / "data").rename(folder / below)
            (folder / "cola").mkdir()
            (folder / "cola" / "train-00000-of-00001.parquet").write_bytes(b"something else")

    with samples.provided(TASK, tmp_path, write):
        assert samples.contents_of(TASK, 0, tmp_path / "packed") == lines


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_DATA_MNLI", str(tmp_path / "nowhere"))
    wanted = (
        r"MNLI.*multinli_1\.0\.zip.*LUDUS_DATA_MNLI \(it names .*nowhere\).*multinli_1\.0_train"
    )
    with pytest.raises(DataMissing, match=wanted):
        prepare(load_task(TASK), 0, tmp_path / "made")
    monkeypatch.setenv("LUDUS_DATA_MNLI", str(tmp_path))
    samples.write_mnli(tmp_path)
    file = tmp_path / "multinli_1.0/multinli_1.0_train.jsonl"
    file.write_text('{"sentence1": "a", "sente')
    with pytest.raises(DataMissing, match="is damaged"):
        prepare(load_task(TASK), 0, tmp_path / "made")
    file.write_text('{"sentence1": "a", "sentence2": "b", "gold_label": "-"}\n')
    with pytest.raises(DataMissing, match="no pairs with a label"):
        prepare(load_task(TASK), 0, tmp_path / "made")
    file.write_text('{"sentence1": "a", "sentence2": "b", "gold_label": "neutral"}\n')
    with pytest.raises(DataMissing, match="too few"):
        prepare(load_task(TASK), 0, tmp_path / "made")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"\n0,entailment\n", b"\n0,maybe\n", "expected one of"),
        (b"\n0,entailment\n", b"\n1,entailment\n", "more than once"),
        (b"\n0,entailment\n", b"\n", "lacks 1"),
        (b"id,label", b"id,accuracy", "columns"),
    ],
)
def test_malformed_predictions_are_refused(old, new, said):
    files = NULLS[TASK](workspace_of(TASK))
    files["predictions/test.csv"] = files["predictions/test.csv"].replace(old, new)
    _, info = play(TASK, files)
    assert info["outcome"] == "agent_fault"
    assert said in info["reason"]
