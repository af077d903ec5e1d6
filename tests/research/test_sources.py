"""Data that the user has put somewhere."""

from __future__ import annotations

import gzip

import cv2
import numpy as np
import pytest

from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data.data_cache import CachedTask
from ludus.research.data.hiding import hidden_paths
from ludus.research.data.sources import Source, given_folders, hub_cache, read_image, read_rows
from tests.research.support import SAMPLES

SOURCE = Source("Things", "LUDUS_DATA_THINGS", "a.bin", "a shop", ("maker/things",))


@pytest.fixture(autouse=True)
def hub(tmp_path, monkeypatch):
    monkeypatch.delenv("LUDUS_DATA_THINGS", raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def touch(*files):
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    return list(files)


def test_a_folder_is_searched_for_layouts_in_order(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_DATA_THINGS", str(tmp_path / "given"))
    one, two, other = touch(*(tmp_path / "given" / name for name in ("x/2.a", "x/1.a", "y.b")))
    assert SOURCE.find(["*.c"], ["**/*.a", "*.b"], ["*.b"]) == [[two, one], [other]]
    assert SOURCE.find(["**/*.a", "*.c"], ["*.b"]) == [[other]]


def test_the_cache_of_the_hub_is_searched_too(hub):
    (file,) = touch(hub / "datasets--maker--things/snapshots/0a1b/data/a.bin")
    assert SOURCE.find(["**/*.bin"]) == [[file]]


def test_a_named_folder_is_meant(tmp_path, hub, monkeypatch):
    touch(hub / "datasets--maker--things/snapshots/0a1b/a.bin")
    monkeypatch.setenv("LUDUS_DATA_THINGS", str(tmp_path / "empty"))
    with pytest.raises(DataMissing, match=r"LUDUS_DATA_THINGS \(it names .*empty\)"):
        SOURCE.find(["**/*.bin"])


def test_a_variable_without_a_value_names_nothing(monkeypatch):
    monkeypatch.setenv("LUDUS_DATA_THINGS", "")
    assert "LUDUS_DATA_THINGS" not in given_folders()


def test_what_is_missing_is_said(hub):
    with pytest.raises(DataMissing) as caught:
        SOURCE.find(["*"])
    for part in ("Things", "a shop", "LUDUS_DATA_THINGS (it is not set)", "a.bin", "maker/things"):
        assert part in str(caught.value)
    assert str(hub) in str(caught.value)
    assert "torn" in str(SOURCE.missing("it is torn"))


def test_where_the_hub_keeps_things(monkeypatch, tmp_path):
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    assert hub_cache() == tmp_path / "hub"
    monkeypatch.delenv("HF_HOME")
    assert hub_cache().parts[-3:] == (".cache", "huggingface", "hub")


def test_rows_of_lines(tmp_path):
    file = tmp_path / "a.jsonl"
    file.write_text('{"a": 1, "b": 2}\n\n{"b": 4, "a": "ü"}', "utf-8")
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(file.read_bytes()))
    for path in (file, packed):
        assert list(read_rows(path, ["a"])) == [{"a": 1}, {"a": "ü"}]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.jsonl", b'{"a": 1', "damaged"),
        ("a.jsonl", b"7\n", "damaged"),
        ("a.jsonl", b'{"a": "\xff"}\n', "damaged"),
        ("a.jsonl", b'{"b": 1}\n', "no column 'a'"),
        ("a.jsonl.gz", b"no gzip", "damaged"),
        ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 99, mtime=0)[:20], "damaged"),
        ("a.parquet", b"no parquet", "damaged"),
    ],
)
def test_rows_that_cannot_be_read(tmp_path, name, data, said):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(DataMissing, match=said):
        list(read_rows(tmp_path / name, ["a"]))


def test_pictures():
    pixels = np.zeros((20, 40, 3), np.uint8)
    pixels[:, :, 0] = 200
    data = cv2.imencode(".png", pixels[:, :, ::-1])[1].tobytes()
    assert np.array_equal(read_image(data, 10, "it"), pixels[::2, ::4])
    for broken in (b"", b"no picture", data[:30]):
        with pytest.raises(DataMissing, match="it is no picture"):
            read_image(broken, 10, "it")


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cv2", None)
    with pytest.raises(DataMissing, match=r"pip install 'ludus-gym\[images\]'"):
        read_image(b"x", 10, "it")


def test_boxes_do_not_show_the_data(tmp_path, monkeypatch):
    touch(tmp_path / "given/a.bin")
    monkeypatch.setenv("LUDUS_DATA_THINGS", str(tmp_path / "given"))
    touch(tmp_path / "hub/file")
    hidden = hidden_paths(load_task(SAMPLES / "guess_number"))
    assert {tmp_path / "given", tmp_path / "hub"} <= set(hidden)


def test_data_of_another_folder_is_made_anew(tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    task = CachedTask.of(load_task(SAMPLES / "guess_number"))
    places = {task.prepared(0).workspace}
    for name in ("one", "two", "two"):
        monkeypatch.setenv("LUDUS_DATA_THINGS", str(tmp_path / name))
        places.add(task.prepared(0).workspace)
    assert len(places) == 3
