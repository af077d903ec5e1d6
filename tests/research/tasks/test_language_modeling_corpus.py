"""languageModelingCorpus: the text, its splits, and models that do not play by the rules."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from ludus.research import load_task
from ludus.research.data.hiding import hidden_paths
from tests.research.tasks.nulls import NULLS
from tests.research.tasks.playing import play, workspace_of
from tests.research.tasks.samples import check_seeds, contents_of

TASK = "languageModelingCorpus"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return contents_of(TASK, 0, tmp_path_factory.mktemp("data") / "seed0")


def corpus():
    return lzma.decompress((load_task(TASK).folder / "corpus.txt.xz").read_bytes()).decode()


def hidden_in(data, split):
    return json.loads(data[f"{split}/passages.json"])


def test_data_is_of_the_seed(tmp_path):
    check_seeds(TASK, tmp_path)


def test_splits_are_apart(data):
    train = data["workspace/train.txt"].decode()
    test, validation = hidden_in(data, "test"), hidden_in(data, "validation")
    assert len(test) == len(validation) == 20
    assert not set(test) & set(validation)
    assert not any(passage in train for passage in (*test, *validation))
    assert len(train) + sum(map(len, (*test, *validation))) == len(corpus())


def test_letters_are_exchanged_one_by_one(data):
    plain, coded = corpus(), data["workspace/train.txt"].decode()
    assert sum(map(str.isalpha, set(coded))) > 40
    assert "And God said" not in coded
    kind = str.maketrans({c: "A" if c.isupper() else "a" for c in set(plain) if c.isalpha()})
    first = next(line for line in coded.splitlines() if len(line) > 100)
    # What is no letter, and what is a capital, stays: so the lines can still be found.
    assert f"\n{first.translate(kind)}\n" in f"\n{plain.translate(kind)}"
    assert first not in plain


def test_copies_of_the_text_are_hidden():
    task = load_task(TASK)
    hidden = hidden_paths(task)
    for place in ("/usr/lib/bible.data", "/usr/lib/bible.data.conc"):
        assert place in task.config.hidden
        assert not Path(place).exists() or Path(place) in hidden
    assert any((task.folder / "corpus.txt.xz").is_relative_to(path) for path in hidden)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("def predict(contexts): return [[1 / 256] * 256] * len(contexts)", "array of floats"),
        ("import numpy\ndef predict(contexts): return numpy.full((1, 256), 1 / 256)", "shape"),
        ("import numpy\ndef predict(contexts): return numpy.ones((len(contexts), 256))", "add up"),
        (
            "import numpy as n\ndef predict(contexts): return n.full((len(contexts), 256), n.nan)",
            "not finite",
        ),
        ("def forecast(contexts): return None", "predict"),
        ("import os\nos._exit(0)", "no answer"),
    ],
)
def test_malformed_models_are_refused(model, said):
    files = {**NULLS[TASK](workspace_of(TASK)), "model.py": model.encode()}
    total, info = play(TASK, files)
    assert info["outcome"] == "agent_fault"
    assert said in info["reason"]
    assert total == load_task(TASK).scale.worst


def test_weights_have_to_be_there():
    files = NULLS[TASK](workspace_of(TASK))
    _, info = play(TASK, {"model.py": files["model.py"]})
    assert info["outcome"] == "agent_fault"
    assert "model.npz" in info["reason"]


def test_the_model_sees_neither_text_nor_labels():
    looking = (
        "import os, sys\n"
        "def predict(contexts):\n"
        "    found = [os.path.join(at, name) for top in ('/workspace', '/ludus', os.getcwd())\n"
        "             for at, _, names in os.walk(top) for name in names]\n"
        "    kept = [name for name in found if name.endswith(('.txt', '.json', '.xz'))]\n"
        "    raise SystemExit('found ' + repr([n for n in kept if 'passages' in n or 'train' in n\n"
        "                                      or 'corpus' in n]))\n"
    )
    files = {**NULLS[TASK](workspace_of(TASK)), "model.py": looking.encode()}
    _, info = play(TASK, files)
    assert info["outcome"] == "agent_fault"
    assert "found []" in info["reason"]
