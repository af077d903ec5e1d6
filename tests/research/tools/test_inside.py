"""The tools themselves, without a box: they are plain programs."""

from __future__ import annotations

import io
import sys

import pytest

from ludus.research.tools.inside.main import main
from ludus.research.tools.inside.state import folder


@pytest.fixture(autouse=True)
def workspace(tmp_path, monkeypatch):
    place = tmp_path / "workspace"
    place.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setenv("LUDUS_TOOL_STATE", str(tmp_path / "state"))
    return place


@pytest.fixture
def run(capfdbinary, monkeypatch):
    """Run a tool; return its status and all it wrote."""

    def call(*words, given=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
        out = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, write_through=True))
        monkeypatch.setattr(sys, "stderr", sys.stdout)
        status = main(list(words))
        return status, out.getvalue().decode("utf-8", "surrogateescape")

    return call


def numbered(count):
    return "".join(f"line {n}\n" for n in range(1, count + 1))


def test_open_shows_numbered_lines_around_the_one_asked_for(run, workspace):
    (workspace / "long.txt").write_text(numbered(500))
    status, said = run("open", "long.txt", "250")
    assert status == 0
    assert "of 500" in said.splitlines()[0]
    assert "   250  line 250" in said
    assert len(said.splitlines()) == 101


def test_scrolling_covers_the_whole_file_and_stops_at_its_ends(run, workspace):
    (workspace / "long.txt").write_text(numbered(450))
    seen = run("open", "long.txt")[1]
    for _ in range(5):
        seen += run("scroll_down")[1]
    assert all(f"line {n}\n" in seen for n in range(1, 451))
    assert "lines 351 to 450 of 450" in run("scroll_down")[1]
    for _ in range(5):
        said = run("scroll_up")[1]
    assert "lines 1 to 100 of 450" in said


def test_goto_needs_an_open_file_and_a_line_that_is_there(run, workspace):
    status, said = run("goto", "3")
    assert status == 1
    assert "No file is open" in said
    (workspace / "a.txt").write_text("x\n")
    run("open", "a.txt")
    assert run("goto", "2") == (1, f"There is no line 2: {workspace}/a.txt has 1 lines.\n")
    assert run("goto", "1")[0] == 0


def test_the_open_file_may_vanish(run, workspace):
    (workspace / "a.txt").write_text("x\n")
    run("open", "a.txt")
    (workspace / "a.txt").unlink()
    status, said = run("scroll_down")
    assert status == 1
    assert "is gone" in said


def test_create_makes_a_file_with_the_given_text_and_never_replaces_one(run, workspace):
    assert run("create", "a.py", given=b"x = 1\n")[0] == 0
    assert (workspace / "a.py").read_text() == "x = 1\n"
    status, said = run("create", "a.py", given=b"x = 2\n")
    assert status == 1
    assert "exists" in said
    assert (workspace / "a.py").read_text() == "x = 1\n"
    assert run("create", "no/such/folder.py")[0] == 1


@pytest.mark.parametrize("dangling", [True, False])
def test_create_does_not_write_through_a_link(run, workspace, tmp_path, dangling):
    target = tmp_path / "elsewhere"
    if not dangling:
        target.write_text("kept")
    (workspace / "link").symlink_to(target)
    assert run("create", "link", given=b"new")[0] == 1
    assert not dangling or not target.exists()
    assert dangling or target.read_text() == "kept"


def test_edit_replaces_the_lines_and_keeps_mode_and_line_ends(run, workspace):
    file = workspace / "a.txt"
    file.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    file.chmod(0o755)
    run("open", "a.txt")
    assert run("edit", "2:2", given=b"2a\n2b\n")[0] == 0
    assert file.read_bytes() == b"one\r\n2a\r\n2b\r\nthree\r\n"
    assert file.stat().st_mode & 0o777 == 0o755


def test_edit_without_text_deletes(run, workspace):
    (workspace / "a.txt").write_text("one\ntwo\nthree\n")
    run("open", "a.txt")
    assert run("edit", "1:2")[0] == 0
    assert (workspace / "a.txt").read_text() == "three\n"


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [("a.py", b"x = 1\ny = 2\n", b"def f(:\n"), ("a.json", b'{"a":\n1}\n', b"{\n")],
)
def test_a_change_that_breaks_the_syntax_is_not_made(run, workspace, name, good, bad):
    (workspace / name).write_bytes(good)
    run("open", name)
    status, said = run("edit", "1:1", given=bad)
    assert status == 1
    assert "left as it was" in said
    assert bad.decode().strip() in said
    assert (workspace / name).read_bytes() == good
    assert run("insert", "1", given=bad)[0] == 1
    assert (workspace / name).read_bytes() == good
    assert sorted(path.name for path in workspace.iterdir()) == [name]


def test_a_broken_file_can_be_mended_step_by_step(run, workspace):
    (workspace / "a.py").write_text("def f(:\ndef g(:\n")
    run("open", "a.py")
    status, said = run("edit", "1:1", given=b"def f(): pass\n")
    assert status == 0
    assert "does not parse yet" in said
    assert run("edit", "2:2", given=b"def g(): pass\n")[0] == 0
    assert run("edit", "2:2", given=b"def g(:\n")[0] == 1


@pytest.mark.parametrize("source", [b"x = '\0'\n", b"(" * 5000 + b"\n", b"-" * 200_000 + b"1\n"])
def test_source_that_upsets_the_parser_is_an_ordinary_refusal(run, workspace, source):
    (workspace / "a.py").write_text("x = 1\n")
    run("open", "a.py")
    assert run("edit", "1:1", given=source)[0] == 1
    assert (workspace / "a.py").read_text() == "x = 1\n"


@pytest.mark.parametrize("lines", ["0:1", "2:1", "1:9", "x", "1", "1:2:3", "-1:2"])
def test_edit_refuses_lines_that_are_not_there(run, workspace, lines):
    (workspace / "a.txt").write_text("one\ntwo\n")
    run("open", "a.txt")
    assert run("edit", lines, given=b"new\n")[0] == 1
    assert (workspace / "a.txt").read_text() == "one\ntwo\n"


def test_insert_at_top_end_and_into_an_empty_file(run, workspace):
    run("create", "a.txt")
    assert run("insert", "0", given=b"two\n")[0] == 0
    run("insert", "0", given=b"one")
    run("insert", "2", given=b"three")
    assert (workspace / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert run("insert", "9", given=b"x")[0] == 1
    assert run("insert", "1")[0] == 1


def test_bytes_that_are_no_text_survive_an_edit(run, workspace):
    (workspace / "a.txt").write_bytes(b"\xff\xfe\nsecond\n")
    run("open", "a.txt")
    assert run("edit", "2:2", given=b"new\n")[0] == 0
    assert (workspace / "a.txt").read_bytes() == b"\xff\xfe\nnew\n"


def test_searching(run, workspace):
    (workspace / "sub").mkdir()
    (workspace / ".git").mkdir()
    (workspace / "a.py").write_text("needle\nhay\nneedle needle\n")
    (workspace / "sub" / "b.txt").write_text("needle\n")
    (workspace / ".git" / "c").write_text("needle\n")
    (workspace / "data.bin").write_bytes(b"\0needle")
    assert run("search_dir", "needle")[1] == (
        "Found 2 files below . with 'needle':\na.py  (3)\nsub/b.txt  (1)\n"
    )
    assert "Found no files" in run("search_dir", "pin")[1]
    assert run("search_dir", "needle", "nowhere")[0] == 1
    assert "     3  needle needle\n" in run("search_file", "needle", "a.py")[1]
    assert run("search_file", "needle")[0] == 1
    run("open", "a.py")
    assert "Found 2 lines" in run("search_file", "needle")[1]
    assert run("find_file", "*.txt")[1].endswith("sub/b.txt\n")


def test_notes_are_kept_and_found_by_their_words(run):
    assert "no notes" in run("memory_read")[1]
    assert run("memory_write", "ridge", "scored", "0.88")[1] == "Noted as number 1.\n"
    run("memory_write", given="a forest\nscored 0.91 — better".encode())
    assert run("memory_read")[1].startswith("1. ridge scored 0.88\n2. a forest")
    assert run("memory_read", "Forest")[1] == "2. a forest\nscored 0.91 — better\n"
    assert "No note" in run("memory_read", "svm")[1]
    assert run("memory_write")[0] == 1
    assert run("memory_write", given=b"x" * (1 << 19))[0] == 1


def test_each_request_has_a_token_of_its_own(run):
    for name in ("validate", "submit"):
        assert run(name)[0] == 0
        first = (folder() / "requests" / name).read_text()
        run(name)
        assert (folder() / "requests" / name).read_text() != first


@pytest.mark.parametrize(
    "words", [["goto"], ["goto", "x"], ["goto", "1", "2"], ["open"], ["submit", "now"]]
)
def test_a_wrong_call_shows_how_it_is_done(run, words):
    status, said = run(*words)
    assert status == 2
    assert f"Usage: {words[0]}" in said
