"""``ludus task fetch``, from folders and from a server on loopback; and what ``task list`` says."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from ludus.cli.task import app
from ludus.errors import DataMissing
from ludus.research import load_task
from ludus.research.data import downloads
from ludus.research.data.availability import find_missing
from ludus.research.data.data_cache import CachedTask
from ludus.research.data.fetching import fetch_data, needs_of
from ludus.research.data.hiding import hidden_paths
from ludus.research.data.preparation import prepare
from ludus.research.data.sources import FETCHED, fetched_root
from ludus.research.task.scaffold import new_task
from tests.research.tasks import samples
from tests.research.tasks.test_image_classification_fmnist import write_source

run = CliRunner(env={"COLUMNS": "80", "MLGYM_TASK_CONFIG_DIR": "", "MLGYM_CONFIG_ROOT": ""}).invoke


def write_fmnist(folder):
    folder.mkdir(parents=True)
    write_source(folder, slice(None), shift=0)


WRITERS = {
    "imageClassificationFMnist": (write_fmnist, {"train": 120, "t10k": 20}),
    "imageClassificationCifar10": (samples.write_cifar10, {"train": 300, "test": 100}),
    "naturalLanguageInferenceMNLI": (samples.write_mnli, None),
    "imageCaptioningCOCO": (samples.write_coco, {"train2017": 200, "val2017": 40}),
    "languageModelingFineWeb": (samples.write_fineweb, None),
}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Nothing is here, and what is fetched is kept apart."""
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    for task in WRITERS:
        monkeypatch.delenv(needs_of(load_task(task))[1].variable, raising=False)
    return tmp_path / "cache"


def kept():
    return sorted(path.name for path in fetched_root().iterdir())


def lacks(task):
    return [one.what for one in find_missing([load_task(task)])[0] if one.what != "sandbox"]


@pytest.mark.parametrize("task", WRITERS)
def test_data_from_a_folder(task, tmp_path):
    write, rows = WRITERS[task]
    write(tmp_path / "given")
    loaded = load_task(task)
    if not Path("/usr/share/datasets/fashion-mnist").is_dir():
        assert lacks(task) == ["data"]
    result = run(app, ["fetch", task, "--from", str(tmp_path / "given")])
    assert result.exit_code == 1
    assert "This is not all of" in result.stderr
    assert kept() == []
    result = run(app, ["fetch", task, "--from", str(tmp_path / "given"), "--sample", "--json"])
    told = json.loads(result.stdout)
    assert rows is None or told["rows"] == rows
    assert set(told["rows"]) == set(needs_of(loaded)[1].rows)
    assert lacks(task) == []
    assert Path(told["folder"]) == needs_of(loaded)[1].fetched
    assert kept() == [Path(told["folder"]).name]
    prepare(loaded, 0, tmp_path / "made")
    assert any(hidden == fetched_root() for hidden in hidden_paths(loaded))
    again = run(app, ["fetch", task])
    assert "here already" in again.stdout


def test_what_is_not_right_replaces_nothing(tmp_path):
    task = load_task("imageClassificationCifar10")
    samples.write_cifar10(tmp_path / "given")
    first = fetch_data(task, origin=str(tmp_path / "given"), sample=True)
    before = CachedTask.of(task).prepared(0).workspace
    (tmp_path / "given/cifar-10-batches-bin/test_batch.bin").write_bytes(b"\x0b" * 3073)
    with pytest.raises(DataMissing, match=r"not CIFAR-10, or it is damaged: .*no whole file"):
        fetch_data(task, origin=str(tmp_path / "given"), sample=True)
    samples.write_fineweb(tmp_path / "other")
    with pytest.raises(DataMissing, match="not CIFAR-10"):
        fetch_data(task, origin=str(tmp_path / "other"), sample=True)
    with pytest.raises(DataMissing, match="no folder"):
        fetch_data(task, origin=str(tmp_path / "nowhere"))
    assert kept() == ["cifar10"]
    assert fetch_data(task).rows == first.rows
    assert CachedTask.of(task).prepared(0).workspace == before
    # Other data is not mistaken for what was made of the first.
    samples.write_cifar10_parquet(tmp_path / "packed")
    fetch_data(task, origin=str(tmp_path / "packed"), sample=True)
    assert CachedTask.of(task).prepared(0).workspace != before


def test_a_folder_that_the_user_names_stays_the_only_one(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_DATA_CIFAR10", str(tmp_path))
    with pytest.raises(DataMissing, match="Unset it"):
        fetch_data(load_task("imageClassificationCifar10"), origin=str(tmp_path))


def test_a_task_without_such_data():
    assert fetch_data(load_task("blotto")) is None
    assert "needs no data" in run(app, ["fetch", "digits"]).stdout


# --- downloads ---------------------------------------------------------------------------------


class Site(BaseHTTPRequestHandler):
    """Serves the files of its server; ``/moved/URL`` redirects, ``short`` breaks off."""

    def do_GET(self):
        name = urlsplit(self.path).path.lstrip("/")
        if name.startswith("moved/"):
            self.send_response(302)
            self.send_header("Location", name.removeprefix("moved/"))
            self.end_headers()
            return
        data = self.server.files.get(name)
        if data is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(data) + 9 * (name == "short")))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.files = {}
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


DATA = """
from pathlib import Path
from ludus.research.data.downloads import Download
from ludus.research.data.sources import Source, read_rows

SOURCE = Source(
    name="Things", variable="LUDUS_DATA_THINGS", files="things.jsonl", origin="a shop",
    layouts=(["**/things.jsonl"],), downloads=({downloads}), rows={{"things": 3}},
)

def count_rows():
    return {{"things": len(list(read_rows(SOURCE.find()[0][0], ["x"])))}}

def build(folder, seed):
    (folder / "workspace" / "n").write_text(str(count_rows()["things"]))
"""
LINES = b'{"x": 1}\n{"x": 2}\n{"x": 3}\n'


def thing_task(folder, *parts):
    """Write a task with these downloads: address, path, digest, whether to unpack."""
    made = new_task("things", folder)
    told = "".join(f"Download(*{part!r})," for part in parts)
    (made / "data.py").write_text(DATA.format(downloads=told))
    return load_task(made)


def text_or_type(value):
    """Return a part of a test's id; archives hold the time, which differs between processes."""
    return value if isinstance(value, str) else type(value).__name__


def packed_tar(name, data, kind=tarfile.REGTYPE):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.size, member.linkname = kind, len(data), "/etc/passwd"
        archive.addfile(member, io.BytesIO(data))
    return held.getvalue()


def packed_zip(name, data):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, data)
    return held.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "unpack"),
    [
        ("things.jsonl", LINES, False),
        ("a.tar.gz", packed_tar("deep/in/things.jsonl", LINES), True),
        ("a.zip", packed_zip("deep/things.jsonl", LINES), True),
    ],
    ids=text_or_type,
)
@pytest.mark.parametrize("via", ["its address", "a mirror", "a folder"])
def test_downloads(site, tmp_path, name, data, unpack, via):
    site.files[name] = data
    url = f"{site.url}/{name}" if via == "its address" else f"https://nowhere.invalid/{name}"
    digest = hashlib.sha256(data).hexdigest()
    task = thing_task(tmp_path, (url, "." if unpack else name, digest, unpack))
    given = tmp_path / "given"
    given.mkdir()
    (given / name).write_bytes(data)
    origin = {"its address": "", "a mirror": f"{site.url}/", "a folder": str(given)}[via]
    came = []
    made = fetch_data(task, origin=origin, progress=lambda *told: came.append(told))
    assert made.rows == {"things": 3}
    assert came[-1:] in ([], [(name, len(data), len(data))])
    assert came or (via == "a folder" and not unpack)
    told = json.loads((made.folder / FETCHED).read_text())
    assert told["sha256"] == ({name: digest} if unpack or via != "a folder" else {})
    assert fetch_data(task).is_new is False
    prepare(task, 0, tmp_path / "made")
    assert (tmp_path / "made/workspace/n").read_text() == "3"


@pytest.mark.parametrize(
    ("path", "data", "part", "words"),
    [
        ("x", LINES, ("things.jsonl", "0" * 64, False), "another file than expected"),
        ("x", LINES[:20], ("things.jsonl", "", False), "not Things, or it is damaged"),
        ("x", LINES[:9], ("things.jsonl", "", False), "things has 1 instead of 3"),
        ("x", b'{"y": 1}\n' * 3, ("things.jsonl", "", False), "no column 'x'"),
        ("x", LINES, ("other.jsonl", "", False), "not Things"),
        ("short", LINES, ("things.jsonl", "", False), "ended after|broke off"),
        ("gone", None, ("things.jsonl", "", False), "answers 404"),
        ("moved/file:///etc/hostname", None, ("things.jsonl", "", False), "answers 302|reached"),
        ("a", b"no archive", (".", "", True), "neither a tar nor a zip"),
        ("a", packed_tar("x", LINES)[:-40], (".", "", True), "or damaged"),
        ("a", packed_tar("../things.jsonl", LINES), (".", "", True), "leads out"),
        ("a", packed_tar("/tmp/things.jsonl", LINES), (".", "", True), "leads out"),
        ("a", packed_tar("things.jsonl", b"", tarfile.SYMTYPE), (".", "", True), "not Things"),
        ("a", packed_zip("../things.jsonl", LINES), (".", "", True), "leads out"),
    ],
    ids=text_or_type,
)
def test_what_comes_is_checked(site, tmp_path, path, data, part, words):
    if data is not None:
        site.files[path] = data
    task = thing_task(tmp_path, (f"{site.url}/{path}", *part))
    with pytest.raises(DataMissing, match=words):
        fetch_data(task)
    assert kept() == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["cache", "things"]


def test_sizes_are_bounded(site, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST", 1 << 16)
    site.files["bomb"] = packed_tar("things.jsonl", bytes(1 << 20))
    with pytest.raises(DataMissing, match="unpacked, has more than"):
        fetch_data(thing_task(tmp_path, (f"{site.url}/bomb", ".", "", True)))
    site.files["big"] = bytes(1 << 20)
    with pytest.raises(DataMissing, match="has more than"):
        fetch_data(thing_task(tmp_path / "other", (f"{site.url}/big", "x", "", False)))


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://127.0.0.1/x", "/etc/passwd"])
def test_only_web_addresses(tmp_path, address):
    with pytest.raises(DataMissing, match="is no address"):
        fetch_data(thing_task(tmp_path, (address, "things.jsonl", "", False)))


def test_without_a_network_it_says_what_to_do(site, tmp_path):
    closed = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    port = closed.server_port
    closed.server_close()
    task = thing_task(tmp_path, (f"http://127.0.0.1:{port}/a.zip", ".", "", True))
    result = run(app, ["fetch", str(task.folder)])
    assert result.exit_code == 1
    for words in ("cannot be reached", "bring a.zip here (from a shop)", "things --from FOLDER"):
        assert words in result.stderr


def test_the_list_says_what_runs(tmp_path):
    """And imports no data.py of others."""
    mine = new_task("mine", tmp_path)
    (mine / "data.py").write_text("raise SystemExit('imported')\n")
    text = (mine / "task.yaml").read_text().replace("packages: []", "packages: [no_such_thing]")
    (mine / "task.yaml").write_text(text)
    env = {"MLGYM_TASK_CONFIG_DIR": str(tmp_path)}
    shown = run(app, ["list"], env=env).stdout
    assert max(map(len, shown.splitlines())) <= 80
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert rows["naturalLanguageInferenceMNLI"].rstrip().endswith("no: data")
    assert rows["mine"].rstrip().endswith(" no:")  # folded
    told = {row["id"]: row for row in json.loads(run(app, ["list", "--json"], env=env).stdout)}
    missing = {one["what"]: one["reason"] for one in told["imageCaptioningCOCO"]["missing"]}
    assert "cocodataset.org" in missing["data"]
    assert told["imageCaptioningCOCO"]["runs"] is False
    assert told["blotto"]["runs"] is (told["blotto"]["missing"] == [])


def test_gpus_are_missing(tmp_path, monkeypatch):
    made = new_task("mine", tmp_path)
    text = (made / "task.yaml").read_text().replace("gpu: 0", "gpu: 2")
    (made / "task.yaml").write_text(text)
    assert lacks(made) == ["2 GPU"]
    monkeypatch.setenv("MLGYM_GPUS", "0")
    assert lacks(made) == []


def test_packed_files_of_the_debian_form_are_found_deep(tmp_path):
    write_fmnist(tmp_path / "a" / "b")
    packed = next((tmp_path / "a" / "b").glob("train-images*"))
    assert gzip.decompress(packed.read_bytes())[:4] == b"\0\0\x08\x03"
    task = load_task("imageClassificationFMnist")
    assert fetch_data(task, origin=str(tmp_path / "a"), sample=True).rows["train"] == 120
