"""imageCaptioningCOCO on a generated sample in the published format, and BLEU by hand."""

from __future__ import annotations

import importlib.util
import io
import json
import math

import numpy as np
import pytest

from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data.preparation import prepare
from tests.research.tasks import samples
from tests.research.tasks.nulls import NULLS
from tests.research.tasks.playing import play, workspace_of

TASK = "imageCaptioningCOCO"


@pytest.fixture(scope="module", autouse=True)
def sample(tmp_path_factory):
    with samples.provided(TASK, tmp_path_factory.mktemp("coco")) as folder:
        yield folder


@pytest.fixture(scope="module")
def bleu():
    file = load_task(TASK).grader / "bleu.py"
    spec = importlib.util.spec_from_file_location("bleu_of_coco", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.bleu


@pytest.mark.parametrize(
    ("caption", "references", "expected"),
    [
        ("a b c d", ["a b c d"], 1.0),
        # 4 of 5 words, 3 of 4 pairs, 2 of 3, 1 of 2: their product is 1/5.
        ("a b c d e", ["a b c d f"], 0.2**0.25),
        # All there, but 4 words instead of 6.
        ("a b c d", ["a b c d e f"], math.exp(1 - 6 / 4)),
        # 3 and 5 are as near to 4; the shorter counts.
        ("a b c d", ["a b c d e", "x y z"], 1.0),
        # The nearest length is 6, not the longest.
        ("a b c d", ["a b c d e f", "a b c d e f g h i j"], math.exp(1 - 6 / 4)),
        # Runs may come from different references: 5/5, 4/4, 2/3, 1/2.
        ("a b c d e", ["a b c d x", "v w x d e"], (1 * 1 * 2 / 3 * 1 / 2) ** 0.25),
        # A run counts as often as one reference has it: 6/8, 5/7, 4/6, 3/5.
        ("a b a b a b a b", ["a b a b a b x y"], (6 / 8 * 5 / 7 * 4 / 6 * 3 / 5) ** 0.25),
        ("the the the the the the the", ["the cat is on the mat"], 0.0),
        ("a b c", ["a b c"], 0.0),
        ("", ["a b c d"], 0.0),
        ("A Dog's ball, on: GRASS.", ["a dog's ball on grass"], 1.0),
    ],
)
def test_bleu_of_one_caption(bleu, caption, references, expected):
    assert bleu([(caption, references)]) == pytest.approx(expected)


def test_bleu_adds_up_before_it_divides(bleu):
    pairs = [("a b c d e", ["a b c d f"]), ("a b c", ["a b c d e"])]
    # 7 of 8 words, 5 of 6 pairs, 3 of 4, 1 of 2; 8 words instead of 10.
    expected = (7 / 8 * 5 / 6 * 3 / 4 * 1 / 2) ** 0.25 * math.exp(1 - 10 / 8)
    assert bleu(pairs) == pytest.approx(expected)


def test_bleu_of_nothing(bleu):
    assert bleu([]) == 0.0


def test_the_whole_task():
    scores = samples.check_on_sample(TASK)
    assert scores["null"] == load_task(TASK).scale.floor == 0.0


def test_data_is_of_the_seed(tmp_path):
    data = samples.check_seeds(TASK, tmp_path)
    sizes = {
        split: np.load(io.BytesIO(data[f"workspace/{split}_images.npy"]), allow_pickle=False).shape
        for split in ("train", "validation", "test")
    }
    assert sizes == {
        "train": (180, 96, 96, 3),
        "validation": (20, 96, 96, 3),
        "test": (40, 96, 96, 3),
    }
    assert not any(
        "captions" in name and "train" not in name and "workspace" in name for name in data
    )


def test_captions_stay_with_their_pictures(tmp_path):
    data = samples.contents_of(TASK, 0, tmp_path)
    images = np.load(io.BytesIO(data["workspace/train_images.npy"]), allow_pickle=False)
    rows = json.loads(data["workspace/train_captions.json"])
    assert len(rows) == 3 * len(images)
    names = ("red", "green", "blue")
    for row in rows:
        strongest = names[images[row["id"], 40:56, 40:56].mean(axis=(0, 1)).argmax()]
        assert strongest in row["caption"]
        assert "\n" not in row["caption"]


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("LUDUS_DATA_COCO")
    wanted = r"COCO.*cocodataset.*LUDUS_DATA_COCO \(it is not set\).*captions_train2017.*val2017"
    with pytest.raises(DataMissing, match=wanted):
        prepare(load_task(TASK), 0, tmp_path / "made")
    monkeypatch.setenv("LUDUS_DATA_COCO", str(tmp_path / "data"))
    samples.write_coco(tmp_path / "data")
    (tmp_path / "data/val2017/000000000003.jpg").write_bytes(b"no picture")
    with pytest.raises(DataMissing, match=r"000000000003\.jpg is no picture"):
        prepare(load_task(TASK), 0, tmp_path / "made")
    (tmp_path / "data/val2017/000000000003.jpg").unlink()
    with pytest.raises(DataMissing, match=r"there is no picture .*000000000003\.jpg"):
        prepare(load_task(TASK), 0, tmp_path / "made")
    (tmp_path / "data/val2017").rename(tmp_path / "data/elsewhere")
    with pytest.raises(DataMissing, match="there is no folder .*val2017"):
        prepare(load_task(TASK), 0, tmp_path / "made")
    (tmp_path / "data/annotations/captions_val2017.json").write_text('{"images": 1}')
    with pytest.raises(DataMissing, match=r"captions_val2017\.json is no file of captions"):
        prepare(load_task(TASK), 0, tmp_path / "made")


def test_names_do_not_lead_out_of_the_folder(tmp_path, monkeypatch):
    """A picture is the file of that name in the folder, whatever path annotations give."""
    monkeypatch.setenv("LUDUS_DATA_COCO", str(tmp_path / "data"))
    samples.write_coco(tmp_path / "data")
    before = samples.contents_of(TASK, 0, tmp_path / "before")
    file = tmp_path / "data/annotations/captions_val2017.json"
    file.write_text(file.read_text().replace('"file_name": "', '"file_name": "../../'))
    assert samples.contents_of(TASK, 0, tmp_path / "after") == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"\n0,a\n", b"\n0," + b"a" * 501 + b"\n", "at most 500 characters"),
        (b"\n0,a\n", b"\n1,a\n", "more than once"),
        (b"\n0,a\n", b"\n", "lacks 1"),
        (b"\n0,a\n", b"\n0,a,b\n", "3 fields"),
        (b"id,caption", b"id,caption,bleu_score", "columns"),
    ],
)
def test_malformed_captions_are_refused(old, new, said):
    files = NULLS[TASK](workspace_of(TASK))
    files["captions/test.csv"] = files["captions/test.csv"].replace(old, new)
    _, info = play(TASK, files)
    assert info["outcome"] == "agent_fault"
    assert said in info["reason"]
