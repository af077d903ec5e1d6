"""languageModelingFineWeb on a generated sample in the published format."""

from __future__ import annotations

import gzip
import json
import math

import pytest

from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data.preparation import prepare
from tests.research.tasks import samples
from tests.research.tasks.playing import play, played

TASK = "languageModelingFineWeb"


@pytest.fixture(scope="module", autouse=True)
def sample(tmp_path_factory):
    with samples.provided(TASK, tmp_path_factory.mktemp("fineweb")) as folder:
        yield folder


def test_the_whole_task():
    scores = samples.check_on_sample(TASK)
    assert scores["null"] == pytest.approx(math.log(256))
    assert load_task(TASK).scale.floor == pytest.approx(scores["null"], abs=1e-6)
    details = played(TASK, "reference")[1]["final"]["details"]
    assert details["bits_per_byte"] == pytest.approx(scores["reference"] / math.log(2))


def test_data_is_of_the_seed(tmp_path):
    data = samples.check_seeds(TASK, tmp_path)
    train = data["workspace/train.txt"].decode()
    test, validation = (json.loads(data[f"{s}/passages.json"]) for s in ("test", "validation"))
    assert len(train.split("\n\n\n")) + len(test) + len(validation) == 240
    assert not set(test) & set(validation)
    assert not any(page in train for page in (*test, *validation))
    assert "café" in train


def test_lines_of_json_do_as_well(tmp_path, sample):
    packed = samples.contents_of(TASK, 0, tmp_path / "packed")
    with samples.provided(TASK, tmp_path, samples.write_fineweb_lines) as folder:
        assert samples.contents_of(TASK, 0, tmp_path / "lines") == packed
        file = folder / "part.jsonl"
        with gzip.open(f"{file}.gz", "wb") as stream:
            stream.write(file.read_bytes())
        file.unlink()
        assert samples.contents_of(TASK, 0, tmp_path / "gzip") == packed


def test_pages_that_come_twice_count_once(tmp_path):
    def write(folder):
        samples.write_fineweb_lines(folder)
        (folder / "twice.jsonl").write_bytes((folder / "part.jsonl").read_bytes())

    once = samples.contents_of(TASK, 0, tmp_path / "once")
    with samples.provided(TASK, tmp_path, write):
        assert samples.contents_of(TASK, 0, tmp_path / "twice") == once


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_DATA_FINEWEB", str(tmp_path))
    with pytest.raises(DataMissing, match=r"FineWeb.*huggingface.*LUDUS_DATA_FINEWEB.*parquet"):
        prepare(load_task(TASK), 0, tmp_path / "made")
    (tmp_path / "a.jsonl").write_text('{"text": "one"}\n{"text": "one"}\n')
    with pytest.raises(DataMissing, match="1 documents, which cannot be split"):
        prepare(load_task(TASK), 0, tmp_path / "made")
    (tmp_path / "a.jsonl").write_text('{"words": "one"}\n')
    with pytest.raises(DataMissing, match="no column 'text'"):
        prepare(load_task(TASK), 0, tmp_path / "made")


def test_a_malformed_model_is_refused():
    model = "def predict(contexts): return contexts"
    _, info = play(TASK, {"model.py": model.encode(), "model.npz": b"anything"})
    assert info["outcome"] == "agent_fault"
    assert "array of uint8" in info["reason"]


def test_solutions_are_those_of_the_small_corpus():
    """They are copies, because a task's folder is complete by itself."""
    task, other = load_task(TASK), load_task("languageModelingCorpus")
    for part in ("baseline", "reference"):
        for name in ("model.py", "train.py"):
            assert (task.folder / part / name).read_bytes() == (
                other.folder / part / name
            ).read_bytes()
