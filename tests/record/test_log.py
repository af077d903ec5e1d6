from __future__ import annotations

import hashlib
import json

import pytest

from ludus.errors import CodecError, RecordDamaged, RecordError
from ludus.record import Run, fsck, read_run
from ludus.record.format.limits import MAX_LINE_BYTES
from tests.record.forging import SUBJECT, lines_of, small_run


def test_the_chain_is_what_the_format_says(tmp_path):
    path = small_run(tmp_path / "run")
    previous = hashlib.sha256((path / "manifest.json").read_bytes()).hexdigest()
    for n, event in enumerate(lines_of(path)):
        assert (event["n"], event["previous"]) == (n, previous)
        stated = event.pop("hash")
        text = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert hashlib.sha256(text.encode()).hexdigest() == stated
        previous = stated
    assert read_run(path).head == previous


def test_events_come_back_as_they_were_written(tmp_path):
    data = {
        "seed": 3,
        "nested": {"x": [1.5, None, (1, 2)]},
        "ü": "\n\u2028\x00",
        "nan": float("inf"),
    }
    with Run.create(tmp_path / "run", kind="test", subject=SUBJECT, more=[1]) as run:
        written = run.append("reset", data)
        assert (run.head, run.events_count) == (written.hash, 2)
    reader = read_run(tmp_path / "run")
    assert list(reader.events)[1] == written
    assert [event.kind for event in reader.events] == ["open", "reset", "close"]
    assert (reader.manifest["subject"], reader.manifest["more"]) == (SUBJECT, [1])


@pytest.mark.parametrize(
    "kind", ["", "Open", "a b", "a\n", 'a"', "x" * 65, "open", "block", "file", "resume", "close"]
)
def test_kinds_are_words_and_not_the_runs_own(tmp_path, kind):
    with Run.create(tmp_path / "run", kind="test", subject=SUBJECT) as run:
        with pytest.raises(RecordError):
            run.append(kind, {})
        assert run.events_count == 1


def test_what_cannot_be_written_leaves_the_run_as_it_was(tmp_path):
    with Run.create(tmp_path / "run", kind="test", subject=SUBJECT) as run:
        before = run.head
        with pytest.raises(CodecError):
            run.append("note", {"thing": object()})
        with pytest.raises(RecordError, match="block or a file"):
            run.append("note", {"text": "x" * MAX_LINE_BYTES})
        assert run.head == before
        run.append("note", {"text": "x" * (MAX_LINE_BYTES - 500)})
    assert fsck(tmp_path / "run").ok


def test_every_flipped_byte_is_found(tmp_path):
    path = small_run(tmp_path / "run")
    for name in ("manifest.json", "events.jsonl", "blocks.bin"):
        file = path / name
        whole = file.read_bytes()
        for position in range(0, len(whole), 1 if len(whole) < 1000 else 7):
            for flip in (1, 0x80):
                changed = bytearray(whole)
                changed[position] ^= flip
                file.write_bytes(changed)
                report = fsck(path)
                assert not report.ok, (name, position)
        file.write_bytes(whole)
    assert fsck(path).ok


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda lines: lines[:2] + lines[3:], 3),  # dropped
        (lambda lines: lines[:1] + [lines[2], lines[1]] + lines[3:], 2),  # reordered
        (lambda lines: lines[:2] + [lines[1]] + lines[2:], 3),  # doubled
        (lambda lines: lines[1:], 1),  # beheaded
        (lambda lines: lines + [lines[-1]], 8),  # after the end
        (lambda lines: lines[:3] + [b"\n"] + lines[3:], 4),
        (lambda lines: lines[:3] + [b"{}\n"] + lines[3:], 4),
        (lambda lines: lines[:3] + [b"[1]\n"] + lines[3:], 4),
    ],
)
def test_lines_that_do_not_follow_are_found(tmp_path, change, line):
    path = small_run(tmp_path / "run")
    file = path / "events.jsonl"
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))
    with pytest.raises(RecordDamaged) as caught:
        list(read_run(path).events)
    assert (caught.value.file, caught.value.position) == ("events.jsonl", line)
    assert fsck(path, repair=True).problems[0].position == line


def test_events_of_another_run_do_not_fit(tmp_path):
    one, two = small_run(tmp_path / "one"), small_run(tmp_path / "two")
    for name in ("manifest.json", "events.jsonl"):
        mine = (one / name).read_bytes()
        (one / name).write_bytes((two / name).read_bytes())
        with pytest.raises(RecordDamaged, match="manifest"):
            list(read_run(one).events)
        (one / name).write_bytes(mine)


def test_a_run_being_written_is_read_as_far_as_it_has_come(tmp_path):
    with Run.create(tmp_path / "run", kind="test", subject=SUBJECT) as run:
        reader = read_run(tmp_path / "run")
        assert len(list(reader.events)) == 1
        run.append("note", {})
        assert len(list(reader.events)) == 2
        assert not reader.closed
    assert reader.events_count == 2  # As of the first time it was asked for.
    assert read_run(tmp_path / "run").closed
