"""Attacks on ``ludus task fetch``: by servers, by archives, by folders, by several at once."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Thread

import pytest

from ludus.errors import DataMissing
from ludus.research.data import downloads, sources, unpacking
from ludus.research.data.downloads import Download, fetch_file
from ludus.research.data.fetching import _put, fetch_data
from ludus.research.data.sources import fetched_root
from ludus.research.data.web import _Redirects
from tests.research.test_fetching import LINES, kept, thing_task

ZEROS = bytes(1 << 20)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("LUDUS_DATA_THINGS", raising=False)


class Peer:
    """A server that sends what it is told to, until whoever listens has had enough."""

    def __init__(self, *pieces, forever=b"", pause=0.0):
        self._pieces, self._forever, self._pause = pieces, forever, pause
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = Thread(target=self._serve)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *rest):
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            Thread(target=self._answer, args=(connection,)).start()

    def _answer(self, connection):
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            for piece in self._pieces:
                connection.sendall(piece)
            while self._forever:
                connection.sendall(self._forever)
                time.sleep(self._pause)


def refused(peer, folder, words):
    with peer, pytest.raises(DataMissing, match=words):
        fetch_file(Download(f"{peer.url}/x.bin", "x.bin"), folder)


def left_over(folder):
    """Return what is left of a file that was refused."""
    file = folder / "x.bin"
    return file.read_bytes() if file.exists() else b""


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "peer",
    [
        {"forever": b"HTTP/1.1 100 Continue\r\n\r\n" * 100},
        {"forever": b"H", "pause": 0.05},
        {"pieces": [HEAD], "forever": b"a", "pause": 0.05},
        {"pieces": [HEAD, b"Content-Length: 1000000\r\n\r\n"], "forever": b"x", "pause": 0.05},
        {"pieces": [HEAD, b"Transfer-Encoding: chunked\r\n\r\n0\r\n"], "forever": b"a: b\r\n"},
    ],
    ids=["interim answers", "status", "headers", "body", "trailers"],
)
def test_a_server_that_keeps_one_waiting_with_next_to_nothing(tmp_path, monkeypatch, peer):
    monkeypatch.setattr(downloads, "SECONDS", 0.5)
    pieces = peer.pop("pieces", [])
    refused(Peer(*pieces, **peer), tmp_path, "next to nothing")
    assert len(left_over(tmp_path)) < 1 << 10


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"", "does not answer as a web server"),
        (b"SSH-2.0-x\r\n", "does not answer as a web server"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "does not answer as a web server"),
        (b"HTTP/1.1 200 " + b"x" * 100_000 + b"\r\n\r\n", "does not answer as a web server"),
        (HEAD + b"a: b\r\n" * 200 + b"\r\n", "does not answer as a web server"),
        (b"HTTP/1.1 206 Partial\r\nContent-Length: 3\r\n\r\nabc", "answers 206"),
        (b"HTTP/1.1 204 Nothing\r\n\r\n", "answers 204"),
        (HEAD + b"Content-Length: 10\r\n\r\nabc", "ended after 3 of 10"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc", "broke off"),
        (HEAD + b"Content-Length: " + b"9" * 18 + b"\r\n\r\nabc", "are free"),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n", "not allowed"),
        (b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\n\r\n", "answers 302"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://[::1\r\n\r\n", "does not answer"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://a b/\r\n\r\n", "does not answer"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n", "answers 302 .*loop"),
    ],
    ids=lambda value: value[:40].decode() if isinstance(value, bytes) else "",
)
def test_answers_that_are_none(tmp_path, head, words):
    refused(Peer(head), tmp_path, f"(?s){words}")
    # Nothing but what the answer itself held, and nothing of this machine.
    assert left_over(tmp_path) in (b"", b"abc")


def test_a_length_of_thousands_of_digits_says_nothing(tmp_path):
    with Peer(HEAD, b"Content-Length: " + b"9" * 5000 + b"\r\n\r\nabc") as peer:
        fetch_file(Download(f"{peer.url}/x.bin", "x.bin"), tmp_path)
    assert (tmp_path / "x.bin").read_bytes() == b"abc"


def test_a_body_without_end_does_not_fill_the_disk(tmp_path, monkeypatch):
    free = downloads.shutil.disk_usage(tmp_path).free
    monkeypatch.setattr(downloads, "RESERVE", free - (8 << 20))
    monkeypatch.setattr(downloads, "_BETWEEN", 1 << 20)
    refused(Peer(HEAD + b"\r\n", forever=ZEROS), tmp_path, "are free")
    assert (tmp_path / "x.bin").stat().st_size < 512 << 20


def test_nobody_is_sent_from_a_safe_address_to_one_that_is_not():
    request = urllib.request.Request("https://example.org/x")
    with pytest.raises(urllib.error.HTTPError, match="anybody on the way"):
        _Redirects().redirect_request(request, None, 302, "", {}, "http://example.org/x")
    again = _Redirects().redirect_request(request, None, 302, "", {}, "https://a.example/x")
    assert again.full_url == "https://a.example/x"


# --- archives ----------------------------------------------------------------------------------


def header(name, size, kind):
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


def zipped(kind, content):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", kind) as archive:
        archive.writestr("a", content)
    return held.getvalue()


def unpacked(data, folder):
    (folder / "given").mkdir(parents=True)
    (folder / "given/a").write_bytes(data)
    (folder / "out").mkdir()
    fetch_file(Download("https://x.invalid/a", ".", unpack=True), folder / "out", f"{folder}/given")
    return sorted(str(path.relative_to(folder / "out")) for path in (folder / "out").rglob("*"))


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
@pytest.mark.parametrize("place", ["first", "later"])
def test_headers_of_gigabytes_are_not_read_into_memory(tmp_path, kind, place):
    """300 KB of gzip would be 300 MB, and 3 MB of it 3 GB."""
    data = header("ok", 0, tarfile.REGTYPE) if place == "later" else b""
    data = gzip.compress(data + header("x", 300 << 20, kind)) + gzip.compress(ZEROS) * 300
    with pytest.raises(DataMissing, match="too large|neither a tar"):
        unpacked(data, tmp_path)


def test_headers_behind_headers_end(tmp_path):
    with pytest.raises(DataMissing, match="no whole archive|neither"):
        unpacked(gzip.compress(header("x", 0, tarfile.XGLTYPE) * 100_000), tmp_path)


@pytest.mark.parametrize("name", ["x", "d/"])
def test_archives_of_very_many_files(tmp_path, monkeypatch, name):
    monkeypatch.setattr(unpacking, "MOST_FILES", 100)
    kind = tarfile.DIRTYPE if name == "d/" else tarfile.REGTYPE
    with pytest.raises(DataMissing, match="more than 100 files"):
        unpacked(gzip.compress(header(name, 0, kind) * 101), tmp_path)


def test_what_is_passed_over_is_bounded_too(tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST", 1 << 22)
    data = gzip.compress(header("x", 1 << 24, b"Z") + ZEROS * 16)
    with pytest.raises(DataMissing, match="unpacks to more than"):
        unpacked(data, tmp_path)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_damage_without_a_known_digest_is_seen(tmp_path, pack):
    """tarfile stops before the checksum."""
    content = os.urandom(200_000)
    whole = header("a", len(content), tarfile.REGTYPE) + content + bytes(20_000)
    assert unpacked(pack(whole), tmp_path / "first") == ["a"]
    data = bytearray(pack(whole))
    data[100_000:100_100] = bytes(100)
    with pytest.raises((DataMissing, OSError), match="no whole archive|neither|Invalid data"):
        unpacked(bytes(data), tmp_path / "second")


def test_a_way_of_compression_that_takes_as_much_memory_as_it_says(tmp_path):
    with pytest.raises(DataMissing, match="compressed in a way"):
        unpacked(zipped(zipfile.ZIP_LZMA, LINES), tmp_path / "first")
    assert unpacked(zipped(zipfile.ZIP_BZIP2, LINES), tmp_path / "second") == ["a"]


@pytest.mark.parametrize("names", [["x" * 300], ["a/" * 3000 + "x"], ["a", "a/b"], ["a/b", "a"]])
def test_names_that_no_file_can_have(tmp_path, names):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    with pytest.raises(DataMissing, match="cannot be a file there"):
        unpacked(held.getvalue(), tmp_path)


def test_a_file_through_a_link_of_the_same_archive(tmp_path):
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w") as archive:
        link = tarfile.TarInfo("l")
        link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
        archive.addfile(link)
        archive.addfile(tarfile.TarInfo("l/planted"))
    assert unpacked(held.getvalue(), tmp_path) == ["l", "l/planted"]
    assert not (tmp_path / "planted").exists()


def test_a_line_without_end(tmp_path, monkeypatch):
    """A few megabytes of gzip are a line of gigabytes."""
    monkeypatch.setattr(sources, "_LONGEST_LINE", 1 << 16)
    with gzip.open(tmp_path / "a.jsonl.gz", "wb") as file:
        file.write(b'{"x": "' + ZEROS)
    with pytest.raises(DataMissing, match="a line has more than"):
        list(sources.read_rows(tmp_path / "a.jsonl.gz", ["x"]))


# --- folders, and several at once --------------------------------------------------------------


def test_a_hole_in_a_folder_does_not_fill_the_disk(tmp_path):
    (tmp_path / "given").mkdir()
    (tmp_path / "given/things.jsonl").write_bytes(LINES)
    with (tmp_path / "given/hole").open("wb") as file:
        file.truncate(downloads.LARGEST + 1)
    before = downloads.LARGEST
    try:
        downloads.LARGEST = 1 << 24
        with pytest.raises(DataMissing, match="more than"):
            fetch_data(thing_task(tmp_path), origin=str(tmp_path / "given"))
    finally:
        downloads.LARGEST = before
    assert kept() == []


def test_what_killed_fetches_have_left_is_removed(tmp_path):
    program = (
        "import sys; from ludus.research import load_task; "
        "from ludus.research.data.fetching import fetch_data; fetch_data(load_task(sys.argv[1]))"
    )
    with Peer(HEAD + b"\r\n", forever=b"x" * 1000, pause=0.01) as peer:
        slow = thing_task(tmp_path / "slow", (f"{peer.url}/x", "x", "", False))
        running = [
            subprocess.Popen([sys.executable, "-c", program, str(slow.folder)]) for _ in range(2)
        ]
        try:
            until = time.monotonic() + 60
            while len(list(fetched_root().glob(".fetching-*/x"))) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            left = kept()
            assert len(left) == 2
            running[0].send_signal(signal.SIGKILL)
            running[0].wait()
            assert kept() == left
            (tmp_path / "given").mkdir()
            (tmp_path / "given/things.jsonl").write_bytes(LINES)
            fetch_data(thing_task(tmp_path), origin=str(tmp_path / "given"))
            assert len(kept()) == 2  # that of the other, which goes on, and the data
            assert len(list(fetched_root().glob(".fetching-*/x"))) == 1
        finally:
            for one in running:
                one.kill()
                one.wait()


def test_several_that_put_the_same_data_in_its_place(tmp_path):
    def put(number):
        staged = tmp_path / f"staged-{number}"
        staged.mkdir()
        (staged / "x").write_text(str(number))
        _put(staged, tmp_path / "place")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(200)))
    assert [path.name for path in (tmp_path / "place").iterdir()] == ["x"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "place"]
