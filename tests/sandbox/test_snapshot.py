from __future__ import annotations

import os

from ludus.sandbox import Snapshot


def test_names_to_keep_are_left_as_they_are(tmp_path):
    (tmp_path / "mounted" / "deep").mkdir(parents=True)
    (tmp_path / "mounted" / "deep" / "file").write_text("before")
    (tmp_path / "own").write_text("before")
    root = os.open(tmp_path, os.O_RDONLY)
    try:
        with Snapshot.take(root, limit=1 << 20) as snapshot:
            (tmp_path / "mounted" / "deep" / "file").write_text("after")
            (tmp_path / "own").write_text("after")
            (tmp_path / "new").write_text("new")
            snapshot.restore(root, owner=None, keep={"mounted"})
    finally:
        os.close(root)
    assert (tmp_path / "mounted" / "deep" / "file").read_text() == "after"
    assert (tmp_path / "own").read_text() == "before"
    assert not (tmp_path / "new").exists()
