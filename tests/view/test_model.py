"""The read model, without pages."""

from __future__ import annotations

import fcntl
import time

import numpy as np
import pytest

from ludus.errors import RecordError, ViewError
from ludus.record import Run
from ludus.record.format.folder import Folder
from ludus.view.episodes.conversation import calls_of, show_call
from ludus.view.episodes.curve import score_curve
from ludus.view.episodes.episode import open_episode
from ludus.view.episodes.index import indexes, open_events
from ludus.view.episodes.locks import is_written
from ludus.view.episodes.output import window
from ludus.view.episodes.trajectory import Subject
from ludus.view.library import Library
from ludus.view.model.ansi import ansi, cut_lines, decoded, shown
from ludus.view.model.series import extremes
from ludus.view.rendering import _block
from ludus.view.settings import ViewSettings
from tests.view import samples


def found(folder, name):
    return Library(ViewSettings.of(folder)).find(name)


def file_of(tmp_path, content: bytes):
    (tmp_path / "file").write_bytes(content)
    with Folder(tmp_path) as folder:
        return folder.open("file")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain & <b>", "plain &amp; &lt;b&gt;"),
        ("\x1b[31mred\x1b[0m.", '<span class="a-fg-red">red</span>.'),
        ("\x1b[1;32mok\x1b[22m!", '<span class="a-b a-fg-green">ok</span>'),
        ("\x1b[38;5;196mx", '<span class="a-fg-bright-red">x</span>'),
        ("\x1b[38;2;0;0;255mx", '<span class="a-fg-bright-blue">x</span>'),
        ("\x1b[48;2;0;0;0mx", '<span class="a-bg-black">x</span>'),
        ("\x1b]8;;javascript:x\x07y", "\\x1b</i>]8;;javascript:x"),
        ("a\rb", "\\r\n</i>b"),
        ("\u202e", "U+202E"),
        ("\udc80", "\\x80"),
    ],
)
def test_text_of_terminals(text, html):
    assert html in str(ansi(text))


@pytest.mark.parametrize("text", samples.HOSTILE)
def test_nothing_of_a_text_is_markup(text):
    made = str(ansi(text))
    bare = made.replace('<i class="c">', "").replace("</i>", "").replace("</span>", "")
    while '<span class="a-' in bare:
        start = bare.index('<span class="a-')
        bare = bare[:start] + bare[bare.index(">", start) + 1 :]
    assert "<" not in bare
    assert '"' not in bare
    assert "\x1b" not in made
    assert "\u202e" not in made


def test_a_bomb_of_colours_is_bounded():
    made = str(ansi("\x1b[31m." * 100_000))
    assert made.count("<span") <= 4001
    assert made.count(".") >= 100_000


def test_a_text_of_megabytes_is_cut():
    made = str(_block("\x00\n" * 1_000_000))
    assert "[… 1,800,000 more characters]" in made
    assert made.count("x00") == 100_000


def test_combining_marks_do_not_pile_up():
    assert str(shown("e" + "\u0301" * 10)).count("\u0301") == 3
    assert str(shown("é ü")) == "é ü"


def test_long_lines_are_cut():
    assert cut_lines("x" * 5000 + "\ny") == "x" * 2000 + " […3,000 more characters]\ny"
    assert decoded(b"a\xff") == "a\udcff"


def test_an_index_finds_what_reading_finds(site):
    record = found(site.folder, "large")
    with open_events(record) as handle:
        index = indexes.read(record, handle)
        lines = (record.path / "events.jsonl").read_bytes().splitlines(keepends=True)
        assert len(index) == len(lines)
        assert [index.ends[n] - index.start(n) for n in range(len(index))] == [*map(len, lines)]
        assert index.kind(0) == "open"
        assert len(index.steps) == 450
        events = list(index.events(handle, 0, len(index)))
        assert [one.n for one in events] == list(range(len(index)))
        assert events[index.steps[7]].data["n"] == 7


def test_an_index_grows_with_the_file_and_notices_a_cut(tmp_path):
    with Run.create(tmp_path / "r", kind="research", subject=samples.subject()) as run:
        samples.add_step(run, 0)
        record = found(tmp_path, "r")
        with open_episode(record) as episode:
            assert (episode.count, episode.state) == (1, "running")
            first = episode.steps(0, 1)[0].key
        samples.add_step(run, 1)
        with open_episode(record) as episode:
            assert episode.count == 2
            assert episode.steps(0, 1)[0].key == first
        # A line that is being written is no event yet, and no damage.
        with (tmp_path / "r" / "events.jsonl").open("ab") as file:
            file.write(b'{"data":{"action')
        with open_episode(record) as episode:
            assert (episode.count, episode.index.broken) == (2, None)
    file = tmp_path / "r" / "events.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:3]))
    time.sleep(0.3)  # the table of locks is read four times a second
    with open_episode(record) as episode:
        assert (episode.count, episode.state) == (1, "interrupted")


def test_who_writes_is_not_disturbed(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with Folder(tmp_path) as folder, folder.open("file") as handle:
        assert not is_written(handle)
        with path.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            time.sleep(0.3)  # the table of locks is read four times a second
            assert is_written(handle)
            # Another lock would be refused now: asking has taken none.
            with path.open() as other, pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_windows_of_lines(tmp_path):
    with file_of(tmp_path, b"".join(b"%d\n" % n for n in range(12_345))) as handle:
        made = window(handle, 11_999)
        assert (made.first, made.total) == (11_999, 12_345)
        assert made.lines == [str(n) for n in range(11_999, 12_345)]
        assert made.next is None
        assert window(handle, 0).lines[:2] == ["0", "1"]
        assert window(handle, 999).lines[:2] == ["999", "1000"]
        assert window(handle, 10**9).lines == ["12344"]


@pytest.mark.parametrize(
    ("content", "lines", "total"),
    [
        (b"", [""], 0),
        (b"\n", [""], 1),
        (b"a", ["a"], 1),
        (b"a\nb", ["a", "b"], 2),
        (b"\xff\n", ["\udcff"], 1),
    ],
)
def test_small_windows(tmp_path, content, lines, total):
    with file_of(tmp_path, content) as handle:
        made = window(handle, 0)
        assert (made.lines, made.total) == (lines, total)


def test_a_line_of_megabytes(tmp_path):
    with file_of(tmp_path, b"x" * 3_000_000 + b"\nend\n") as handle:
        made = window(handle, 0)
        assert len(made.lines) == 1
        assert len(made.lines[0]) < 2100
        assert made.next == 1
        assert window(handle, 1).lines == ["end"]


def test_extremes_keep_peaks():
    values = np.zeros(100_000)
    values[77_777], values[5], values[6] = 9, np.nan, -9
    places, kept = extremes(values, 300)
    assert len(places) <= 600
    assert {77_777, 6} <= set(places.tolist())
    assert np.isfinite(kept).all()


def test_curves_of_odd_scores():
    subject = Subject(lower=True, baseline=0.5)
    assert score_curve([], subject, 3) is None
    for scores in ([None], [1e300, -1e300], [0.0, 0.0], [1e-300], [None, 0.3, None]):
        curve = score_curve(list(enumerate(scores)), subject, len(scores))
        assert all(0 <= one.x <= curve.width and 0 <= one.y <= curve.height for one in curve.points)
        assert 0 < len(curve.ticks) < 20


def test_the_conversation_is_that_of_the_record(site):
    from ludus.record import read_run
    from ludus.research.running.conversation import read_calls

    library = Library(ViewSettings.of(site.folder))
    (unit,) = site.units("deep/second")
    record = library.episode("deep~second", unit)
    told = list(read_calls(read_run(record.path)))
    with open_episode(record) as episode:
        calls = calls_of(episode)
        assert [row.n for row in calls.rows] == [one.n for one in told]
        for row, one in zip(calls.rows, told, strict=True):
            made = show_call(episode, calls, row.number, 1000)
            assert [message.role for message in made.messages] == [m["role"] for m in one.messages]
            assert row.tokens["prompt"] == one.usage["prompt_tokens"]
            assert made.tools == len(one.tools)


def test_names_and_links_in_a_library(tmp_path):
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    for place in (root / "a" / "b", root / "sp ace" / "ünïcode", outside):
        with Run.create(place, kind="note", subject={}):
            pass
    (root / "link").symlink_to(outside)
    (root / ".hidden").mkdir()
    (root / ".hidden" / "manifest.json").symlink_to(outside / "manifest.json")
    (root / "fake").mkdir()
    (root / "fake" / "manifest.json").symlink_to(outside / "manifest.json")
    library = Library(ViewSettings.of(root))
    names = [one.name for one in library.all()]
    assert names[0] == "a~b"
    assert len(names) == 2
    assert names[1].startswith("n-code~")
    assert library.find("a~b").place == "a/b"
    for wrong in ("link", "..", "a", "a/b", ""):
        with pytest.raises(ViewError):
            library.find(wrong)
    record = library.find("a~b")
    (root / "a").rename(root / "moved")
    (root / "a").symlink_to(outside.parent)
    with pytest.raises(RecordError):
        record.open()
