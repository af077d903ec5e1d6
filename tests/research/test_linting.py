"""The linter: every rule is broken on purpose, and a task that is right breaks none."""

from __future__ import annotations

import base64
import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import os
import shutil
import sys
import tarfile
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from ludus.errors import TaskError
from ludus.research.linting import RULES, check_task, tables, unpacking
from ludus.research.linting.answers import find_answers
from ludus.research.task.scaffold import new_task
from tests.research.support import DOCUMENTED, SAMPLES


@pytest.fixture
def folder(tmp_path):
    return new_task("slopeTask", tmp_path)


def check(folder, **options):
    return check_task(folder, **options)


def places(folder, rule, **options):
    found = check(folder, **options).findings
    return [f"{row.path}:{row.line}" for row in found if row.rule == rule]


def change(folder, old, new):
    file = folder / "task.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def test_a_new_task_has_no_findings(folder):
    assert check(folder).findings == ()


def test_the_sample_has_no_findings():
    assert check(SAMPLES / "guess_number").findings == ()


def test_no_such_task(tmp_path):
    with pytest.raises(TaskError, match="no task at"):
        check_task(tmp_path)


def test_wrong_fields(folder):
    change(folder, "threshold", "treshold")
    (missing, unknown) = check(folder).findings
    assert (missing.path, missing.line, unknown.line) == ("task.yaml", 9, 12)
    assert str(unknown) == (
        "task.yaml:12: error [field] evaluation.treshold: there is no such field; did you mean "
        "'threshold'?"
    )


def test_the_documented_form_alone_is_no_whole_task(tmp_path):
    (tmp_path / "task.yaml").write_text(DOCUMENTED)
    rules = {found.rule for found in check(tmp_path, build=False).findings}
    assert rules == {
        "no-workspace", "no-baseline", "no-reference", "no-scale",
    }  # fmt: skip
    (tmp_path / "grader").mkdir()
    (tmp_path / "grader" / "grade.py").write_text("def grade(*given):\n    return 0.0\n")
    rules = {found.rule for found in check(tmp_path, build=False).findings}
    assert "no-submission" in rules


@pytest.mark.parametrize("part", ["baseline", "reference"])
def test_solutions_that_cannot_be_run(folder, part):
    for file in (folder / part).iterdir():
        file.unlink()
    line = 22 if part == "baseline" else 23
    assert places(folder, f"no-{part}", build=False) == [f"task.yaml:{line}"]
    change(folder, f"  {part}: python", f"  {part}: 'python \"'\n  #")
    assert places(folder, f"no-{part}", build=False) == [f"task.yaml:{line}"]
    change(folder, f"  {part}: ", "  #")
    assert places(folder, f"no-{part}", build=False) == ["task.yaml:21"]


def test_a_grader_that_is_none(folder):
    grader = folder / "grader" / "grade.py"
    grader.write_text("def grading(): ...\n")
    assert places(folder, "no-grader", build=False) == ["grader/grade.py:1"]
    grader.write_text("x = 1\ndef grade(:\n")
    assert places(folder, "no-grader", build=False) == ["grader/grade.py:2"]
    grader.write_text("class Grader:\n    def grade(self, submission, labels, seed, split): ...\n")
    assert places(folder, "no-grader", build=False) == []


def test_packages(folder):
    change(folder, "packages: []", "packages: [numpy, no_such_package, xml.etree, numpy.nothing]")
    found = [row.message for row in check(folder, build=False).findings]
    assert [text.split("'")[1] for text in found] == ["no_such_package", "numpy.nothing"]


class TestReach:
    def test_links_out(self, folder):
        (folder / "workspace" / "up").symlink_to("../grader/grade.py")
        (folder / "workspace" / "abs").symlink_to(folder / "workspace" / "README.md")
        (folder / "workspace" / "dir").symlink_to("..")
        (folder / "workspace" / "fine").symlink_to("README.md")
        found = places(folder, "link-out", build=False)
        assert found == ["workspace/abs:0", "workspace/dir:0", "workspace/up:0"]

    def test_special_files(self, folder):
        os.mkfifo(folder / "workspace" / "pipe")
        assert places(folder, "special-file", build=False) == ["workspace/pipe:0"]

    @pytest.mark.parametrize("secret", ["grader/grade.py", "reference/solve.py", "data.py"])
    def test_hard_links_and_copies(self, folder, secret):
        (folder / "workspace" / "link.bin").hardlink_to(folder / secret)
        (folder / "workspace" / "copy.bin").write_bytes((folder / secret).read_bytes())
        assert places(folder, "hard-link", build=False) == ["workspace/link.bin:0"]
        assert places(folder, "secret-file", build=False) == ["workspace/copy.bin:0"]

    def test_the_baseline_may_be_seen(self, folder):
        solution = (folder / "baseline" / "baseline.py").read_bytes()
        (folder / "workspace" / "start.py").write_bytes(solution)
        assert check(folder, build=False).findings == ()

    def test_labels_that_data_py_copies(self, folder):
        with (folder / "data.py").open("a") as file:
            file.write(
                "\nlabelled = build\n\n\ndef build(folder, seed):\n    labelled(folder, seed)\n"
                "    copy = (folder / 'test' / 'labels.csv').read_bytes()\n"
                "    (folder / 'workspace' / '.cache').write_bytes(copy)\n"
            )
        assert places(folder, "secret-file") == ["workspace/.cache:0"]

    def test_files_that_everybody_may_change(self, folder):
        (folder / "grader" / "grade.py").chmod(0o666)
        report = check(folder, build=False)
        assert [(row.rule, row.path) for row in report.findings] == [
            ("writable-file", "grader/grade.py")
        ]
        assert report.ok

    def test_large_files(self, folder):
        with (folder / "workspace" / "big").open("wb") as file:
            file.truncate((20 << 20) + 1)
        assert places(folder, "too-large", build=False) == ["workspace/big:0"]

    def test_a_workspace_that_does_not_fit(self, folder):
        change(folder, "disk: 64M", "disk: 16K")
        assert places(folder, "too-large") == ["workspace:0"]


class TestGrader:
    def source(self, folder, text):
        grader = folder / "grader" / "grade.py"
        grader.write_text(f"{text}\n\n\ndef grade(submission, labels, seed, split): ...\n")

    @pytest.mark.parametrize(
        "text",
        [
            "import opponent",
            "from opponent import play",
            "from pkg.rules import x",
            "open('/workspace/opponent.py')",
            "open('opponent.py')",
            "PATH = 'pkg/rules.py'",
            "open('train.csv')",
        ],
    )
    def test_inputs_that_the_agent_can_write(self, folder, text):
        (folder / "workspace" / "opponent.py").write_text("def play(): ...\n")
        (folder / "workspace" / "pkg").mkdir()
        (folder / "workspace" / "pkg" / "rules.py").write_text("x = 1\n")
        self.source(folder, f"\n{text}")
        made = "train.csv" in text
        assert places(folder, "writable-input", build=made) == ["grader/grade.py:2"]

    def test_what_is_handed_in_or_its_own_is_fine(self, folder):
        (folder / "workspace" / "opponent.py").write_text("def play(): ...\n")
        (folder / "grader" / "opponent.py").write_text("def play(): return 0\n")
        self.source(folder, "import opponent\nNAME = 'predictions/test.csv'")
        assert check(folder, build=False).findings == ()

    @pytest.mark.parametrize(
        ("text", "rule"),
        [
            ("import pickle\npickle.load(f)", "unpickles"),
            ("from pickle import loads as read\nread(f)", "unpickles"),
            ("import torch as t\nt.load(f, weights_only=False)", "unpickles"),
            ("import numpy as np\nnp.load(f, allow_pickle=True)", "unpickles"),
            ("import numpy as np\nnp.load(f, allow_pickle=flag)", "unpickles"),
            ("import joblib\njoblib.load(f)", "unpickles"),
            ("import numpy as np\nnp.load(f)", None),
            ("import torch\ntorch.load(f)", None),
            ("import json\njson.load(f)", None),
            ("import subprocess\nsubprocess.run(['x'])", "executes-code"),
            ("x = 1\nexec(text)", "executes-code"),
            ("import importlib\nimportlib.import_module(name)", "executes-code"),
        ],
    )
    def test_calls(self, folder, text, rule):
        self.source(folder, text)
        found = check(folder, build=False).findings
        assert [(row.rule, row.line) for row in found] == ([(rule, 2)] if rule else [])


class TestData:
    def test_missing(self, folder):
        (folder / "data.py").write_text(
            "from ludus.errors import DataMissing\n"
            "def build(folder, seed):\n    raise DataMissing('run: fetch it')\n"
        )
        (found,) = check(folder).findings
        assert (found.rule, found.severity, found.message) == (
            "data-missing", "warning", "run: fetch it",
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("body", "words"),
        [("1 / 0", "ZeroDivisionError"), ("import os; os._exit(3)", "exit code 3")],
    )
    def test_failing(self, folder, body, words):
        (folder / "data.py").write_text(f"def build(folder, seed):\n    {body}\n")
        (found,) = check(folder).findings
        assert found.rule == "data-failed"
        assert words in found.message

    def test_random(self, folder):
        text = (folder / "data.py").read_text().replace("default_rng(seed)", "default_rng()")
        (folder / "data.py").write_text(text)
        assert "workspace/train.csv:0" in places(folder, "data-random")

    def test_splits_that_are_the_same(self, folder):
        (folder / "data.py").unlink()
        for split in ("validation", "test"):
            (folder / split).mkdir()
            (folder / split / "labels.csv").write_text("id,y\n1,2\n2,5\n3,4\n")
        assert places(folder, "same-split") == ["test/labels.csv:0"]

    def test_sources_that_the_box_shows(self, folder):
        source = str(Path(sys.base_prefix, "bin", "python3").resolve())
        with (folder / "data.py").open("a") as file:
            file.write("\n\nordinary = build\n\n\ndef build(folder, seed):\n")
            file.write(f"    open({source!r}, 'rb').close()\n    ordinary(folder, seed)\n")
        (found,) = check(folder).findings
        assert found.rule == "readable-source"
        assert source in found.message
        change(folder, "packages:", f"hidden: [{source}]\npackages:")
        assert check(folder).findings == ()


class TestAnswers:
    """Thirty rows; the answers are one of three letters, or numbers."""

    rng = np.random.default_rng(0)
    ids = [f"r{i}" for i in range(30)]
    letters = [str(x) for x in rng.choice(list("abc"), 30)]
    digits = [int(x) for x in rng.integers(0, 9, 30)]
    numbers = [float(x) for x in rng.normal(size=30)]

    def table(self, path, **columns):
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([columns, *zip(*columns.values(), strict=True)])

    @pytest.fixture
    def places(self, tmp_path):
        (tmp_path / "workspace").mkdir()

        def find(answers=()):
            labels = {"test": tmp_path / "test"}
            found = list(find_answers(tmp_path / "workspace", labels, answers))
            return [f"{row.rule} {row.path}:{row.line}" for row in found]

        find.labels, find.workspace = tmp_path / "test", tmp_path / "workspace"
        return find

    def test_innocent_files(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        other = [f"t{i}" for i in range(30)]
        self.table(places.workspace / "train.csv", id=other, y=sorted(self.letters))
        self.table(places.workspace / "test.csv", id=self.ids, x=self.numbers)
        # Much the same, as a good feature is, but not the answer itself.
        near = [*self.letters[:20], *(["a"] * 10)]
        self.table(places.workspace / "more.csv", id=self.ids, x=near)
        (places.workspace / "noise.bin").write_bytes(bytes(range(256)) * 9)
        assert places() == []

    def test_the_column_is_left_in(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        self.table(places.workspace / "test.csv", id=self.ids, x=self.numbers, y=self.letters)
        assert places() == ["answers workspace/test.csv:2"]

    def test_train_and_test_in_one_file(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        ids = [*(f"t{i}" for i in range(9)), *self.ids]
        self.table(places.workspace / "all.csv", id=ids, y=[*"abcabcabc", *self.letters])
        assert places() == ["answers workspace/all.csv:11"]

    def test_other_order_and_other_names(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        order = self.rng.permutation(30)
        names = {"a": "ant", "b": "bee", "c": "cat"}
        self.table(
            places.workspace / "notes.tsv.csv",
            number=list(range(30)),
            who=[self.ids[i] for i in order],
            what=[names[self.letters[i]] for i in order],
        )
        assert places() == ["answers workspace/notes.tsv.csv:2"]

    def test_numbers_in_another_spelling_and_order(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.numbers)
        shuffled = self.rng.permutation(self.numbers)
        self.table(places.workspace / "x.csv", z=[f"{value:.17e}" for value in shuffled])
        assert places() == ["answers workspace/x.csv:2"]

    def test_rare_answers_must_be_told_too(self, places):
        rare = ["0"] * 29 + ["1"]
        self.table(places.labels / "labels.csv", id=self.ids, y=rare)
        self.table(places.workspace / "test.csv", id=self.ids, x=["0"] * 30)
        assert places() == []
        self.table(places.workspace / "test.csv", id=self.ids, x=rare)
        assert places() == ["answers workspace/test.csv:2"]

    def test_declared_answers_are_the_only_ones(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, x=self.numbers, y=self.letters)
        self.table(places.workspace / "test.csv", id=self.ids, x=self.numbers)
        assert places() == ["answers workspace/test.csv:2"]
        assert places(("y",)) == []
        assert places(("y", "z")) == ["unchecked task.yaml:0"]

    @pytest.mark.parametrize(
        ("name", "data"), [("y.bin", b"a\0c"), ("y.json", b"{"), ("y.csv.gz", b"\x1f\x8b")]
    )
    def test_labels_that_cannot_be_read(self, places, name, data):
        places.labels.mkdir()
        (places.labels / name).write_bytes(data)
        assert places() == [f"unchecked test/{name}:0"]

    @pytest.mark.parametrize(
        "name", ["a.json", "b.json", "c.jsonl", "d.npy", "e.npz", "f.txt", "g.csv.gz", "h.npy"]
    )
    def test_formats(self, places, name):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.digits)
        path, values = places.workspace / name, self.digits
        rows = [{"i": i, "y": y} for i, y in zip(self.ids, values, strict=True)]
        wide = np.column_stack([self.rng.random((30, 90)), values])
        match name[0]:
            case "a":
                path.write_text(json.dumps({"data": rows}))
            case "b":
                path.write_text(json.dumps(dict(zip(self.ids, values, strict=True))))
            case "c":
                path.write_text("\n".join(map(json.dumps, rows)))
            case "d":
                np.save(path, np.array(values, np.uint8))
            case "e":
                np.savez_compressed(path, x=np.zeros(3), y=np.array(values, np.float32))
            case "f":
                path.write_text("\n".join(map(str, values)))
            case "g":
                text = "id,y\n" + "".join(
                    f"{i},{y}\n" for i, y in zip(self.ids, values, strict=True)
                )
                path.write_bytes(gzip.compress(text.encode()))
            case "h":
                np.save(path, wide)
        assert [place.rpartition(":")[0] for place in places()] == [f"answers workspace/{name}"]

    @pytest.mark.parametrize("kind", ["u1", "<i4", ">i4", "<i8", "<f4"])
    def test_bytes_of_any_file(self, places, kind):
        np.save(places.labels.parent / "y.npy", np.array(self.digits))
        places.labels.mkdir()
        (places.labels.parent / "y.npy").rename(places.labels / "y.npy")
        held = b"HEADER" + np.array([7, *self.digits, 7]).astype(kind).tobytes()
        (places.workspace / "t10k-ubyte.gz").write_bytes(gzip.compress(held))
        assert places() == ["answers workspace/t10k-ubyte.gz:0"]

    @pytest.mark.parametrize(
        ("name", "data"),
        [("a.parquet", b"PAR1"), ("b.json", b"{"), ("c.npz", b"PK"), ("d.csv", b"a\xff"),
         ("e.npy", b"\x93NUMPY"), ("f.csv.gz", b"\x1f\x8bxx")],
    )  # fmt: skip
    def test_what_cannot_be_searched_is_told(self, places, name, data):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        (places.workspace / name).write_bytes(data)
        assert places() == [f"unchecked workspace/{name}:0"]

    LETTERS = ("entailment", "neutral", "contradiction")

    @pytest.mark.parametrize("kind", ["f2", "f4", "f8", "i4"])
    @pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.csv", "x.bin", "head.npy", "row.npy"])
    def test_scaled_numbers(self, places, kind, name):
        rng = np.random.default_rng(1)
        labels = rng.integers(0, 10, 64) if kind == "i4" else rng.normal(size=64).round(4)
        self.table(places.labels / "labels.csv", id=range(64), y=labels.tolist())
        values = (3 * labels - 7).astype(kind)
        path = places.workspace / name
        match name:
            case "x.npy":
                np.save(path, values)
            case "head.npy":
                np.save(path, np.concatenate([rng.normal(size=9).astype(kind), values]))
            case "row.npy":
                np.save(path, np.stack([values, rng.permutation(values)]))
            case "x.npz":
                np.savez_compressed(path, images=np.zeros((64, 3)), extra=values[:, None, None])
            case "x.csv":
                self.table(path, x=[f"{value:.6g}" for value in values.tolist()])
            case "x.bin":
                path.write_bytes(b"HEADER" + values.tobytes())
        (found,) = places()
        assert found.startswith(f"answers workspace/{name}:")

    def test_numbers_that_are_only_near(self, places):
        rng = np.random.default_rng(2)
        y = rng.normal(size=400)
        self.table(places.labels / "labels.csv", id=range(400), y=y.tolist())
        # A good feature, another order, a line, the rank, a rounding that loses much.
        near = y + 0.01 * rng.normal(size=400)
        columns = (near, rng.permutation(2 * y), np.arange(400), y.argsort().argsort(), y.round(1))
        np.save(places.workspace / "near.npy", np.column_stack(columns))
        (places.workspace / "near.bin").write_bytes(near.tobytes())
        for shape in ((), (0,), (0, 3, 3), (1, 1, 1), (2, 2, 2), (3, 0), (1, 400, 1)):
            np.save(places.workspace / f"{shape}.npy", np.zeros(shape))
        assert places() == []

    def test_a_line_is_no_answer_that_is_hidden(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, y=[2 * i for i in range(30)])
        self.table(places.workspace / "x.csv", who=self.ids, day=[5 * i for i in range(30)])
        np.save(places.workspace / "days.npy", np.arange(30))
        assert places() == []

    @pytest.mark.parametrize("form", ["reversed", "base64", "hex", "rot13"])
    @pytest.mark.parametrize("name", ["x.csv", "x.txt", "x.json", "notes", "upside.csv"])
    def test_encoded_texts(self, places, form, name):
        rng = np.random.default_rng(3)
        labels = [f"{self.LETTERS[i % 3]} {rng.integers(10**6)}" for i in range(30)]
        self.table(places.labels / "labels.csv", id=self.ids, y=labels)
        encode = {
            "reversed": lambda text: text[::-1],
            "base64": lambda text: base64.b64encode(text.encode()).decode(),
            "hex": lambda text: text.encode().hex(),
            "rot13": lambda text: codecs.encode(text, "rot13"),
        }[form]
        held, path = [encode(text) for text in labels], places.workspace / name
        match name:
            case "x.csv":
                order = rng.permutation(30)
                self.table(path, who=[self.ids[i] for i in order], x=[held[i] for i in order])
            case "upside.csv":
                self.table(path, x=held[::-1])
            case "x.json":
                path.write_text(json.dumps({"made": held}))
            case _:
                path.write_text("\n".join(held))
        (found,) = places()
        assert found.startswith(f"answers workspace/{name}:")

    def test_names_in_the_same_order(self, places):
        labels = [self.LETTERS[i] for i in np.random.default_rng(4).integers(0, 3, 40)]
        self.table(places.labels / "labels.csv", id=range(40), y=labels)
        names = {"entailment": "7", "neutral": "blue", "contradiction": "ox"}
        (places.workspace / "x.txt").write_text("\n".join(names[label] for label in labels))
        assert places() == ["answers workspace/x.txt:1"]
        (places.workspace / "x.txt").write_text("\n".join(sorted(map(names.get, labels))))
        assert places() == []

    def test_values_in_the_text_of_a_program(self, places):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.digits)
        (places.workspace / "x.py").write_text(f"SEEDS = {self.digits}\n")
        assert places() == ["answers workspace/x.py:0"]

    PACKERS: ClassVar = {
        "x.csv.gz": gzip.compress,
        "x.gz": lambda data: gzip.compress(data[:50]) + gzip.compress(data[50:]),
        "x.csv.bz2": bz2.compress,
        "x.csv.xz": lzma.compress,
        "x.csv.lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
        "x.zlib": zlib.compress,
        "weights": zlib.compress,
        "model.bin": bz2.compress,
        "x.b64": base64.encodebytes,
        "token": lambda data: base64.b64encode(lzma.compress(data)),
        "x.hex": lambda data: gzip.compress(data).hex().encode(),
        "x.zip": lambda data: zipped({"a/b.csv": data}),
        "nested.zip": lambda data: zipped({"in.zip": zipped({"labels": gzip.compress(data)})}),
        "x.npz": lambda data: zipped({"labels.csv": data}),
        "x.tar": lambda data: tarred(data),
        "x.tar.gz": lambda data: gzip.compress(tarred(data)),
    }

    @pytest.mark.parametrize("name", PACKERS)
    def test_packed_copies(self, places, name):
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        data = (places.labels / "labels.csv").read_bytes()
        (places.workspace / name).write_bytes(self.PACKERS[name](data))
        assert places() == [f"answers workspace/{name}:0"]
        # And a column of another file, packed.
        other = "\n".join(
            f"{letter},{key}" for letter, key in zip(self.letters, self.ids, strict=True)
        )
        (places.workspace / name).write_bytes(self.PACKERS[name](f"what,who\n{other}".encode()))
        assert places() == [f"answers workspace/{name}:0"]

    def test_packed_copies_of_labels_without_columns(self, places):
        places.labels.mkdir()
        data = np.random.default_rng(5).bytes(400)
        (places.labels / "masks.bin").write_bytes(data)
        (places.workspace / "x.xz").write_bytes(lzma.compress(data))
        assert places() == ["unchecked test/masks.bin:0", "answers workspace/x.xz:0"]

    def test_parquet(self, places):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        table = pyarrow.table({"who": self.ids, "what": self.letters, "more": [[1]] * 30})
        parquet.write_table(table, places.workspace / "x.parquet")
        (places.workspace / "x.zip").write_bytes(
            zipped({"x": (places.workspace / "x.parquet").read_bytes()})
        )
        assert places() == ["answers workspace/x.parquet:0", "answers workspace/x.zip:0"]
        parquet.write_table(table.drop_columns(["what"]), places.workspace / "x.parquet")
        (places.workspace / "x.zip").unlink()
        assert places() == []

    @pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zlib.compress])
    def test_bombs(self, places, monkeypatch, pack):
        """What is too large is told, and little of it is unpacked."""
        monkeypatch.setattr(unpacking, "LARGEST", 1 << 20)
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        bomb = pack(bytes(64 << 20))
        tracemalloc.start()
        for name, data in {
            "a": bomb,
            "b.zip": zipped({f"{n}": bomb for n in range(20)}),
            "c.zip": zipped({str(n): b"" for n in range(unpacking.MOST + 1)}),
            "d": gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"x"))))),
        }.items():
            (places.workspace / name).write_bytes(data)
            assert places() == [f"unchecked workspace/{name}:0"]
            (places.workspace / name).unlink()
        assert tracemalloc.get_traced_memory()[1] < 32 << 20
        tracemalloc.stop()

    def test_texts_with_too_many_values(self, places, monkeypatch):
        monkeypatch.setattr(tables, "_CELLS", 1000)
        self.table(places.labels / "labels.csv", id=self.ids, y=self.letters)
        for name in ("x.csv", "x.txt", "x.json"):
            (places.workspace / name).write_text("[" + "1,\n" * 1000)
        assert places() == [f"unchecked workspace/x.{end}:0" for end in ("csv", "json", "txt")]


def zipped(members):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return held.getvalue()


def tarred(data):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        member = tarfile.TarInfo("data/x")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


UNNAMED = {"field"}  # of which there are many, tested by their words


def test_every_rule_is_broken_by_a_test():
    files = (Path(__file__), Path(__file__).with_name("test_measuring.py"))
    source = "".join(file.read_text("utf-8") for file in files)
    assert [rule for rule in RULES if f'"{rule}' not in source and rule not in UNNAMED] == []


HOSTILE_FILES = {
    "link to itself": (lambda folder: (folder / "workspace/x").symlink_to("x"), "x is neither"),
    "pipe": (lambda folder: os.mkfifo(folder / "workspace/x"), "special-file"),
    "pipe as grader": (lambda folder: os.mkfifo(folder / "grader/x.py"), None),
    "endless": (lambda folder: os.truncate(folder / "workspace/guess.py", 1 << 40), "too-large"),
    "endless grader": (
        lambda folder: os.truncate(folder / "grader/grade.py", 1 << 40),
        "too-large",
    ),
    "brackets": (lambda folder: (folder / "grader/x.py").write_text("(" * 50_000), "no Python"),
    "signs": (lambda folder: (folder / "grader/x.py").write_text("-" * 99_999 + "1"), "no Python"),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("attack", HOSTILE_FILES)
def test_hostile_files_in_a_task_are_findings(tmp_path, attack):
    """Checking a folder of anybody's ends, and tells what is there."""
    source = Path(__file__).parent / "sample_tasks" / "guess_number"
    folder = shutil.copytree(source, tmp_path / "task")
    act, words = HOSTILE_FILES[attack]
    act(folder)
    report = check_task(folder)
    said = "\n".join(map(str, report.findings))
    assert said == "" if words is None else words in said
