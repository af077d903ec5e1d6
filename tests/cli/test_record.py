from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

from ludus.cli.app import app
from ludus.record import Run, load_public_key, read_run


def run(*arguments):
    return CliRunner().invoke(app, [str(item) for item in arguments])


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "run"
    with Run.create(path, kind="test", subject={"about": "[red]\x1b[31mme"}) as writer:
        writer.append("note", {"text": "hello"})
        writer.append_block({"reward": np.ones((3, 2)), "action": np.arange(3)})
    return path


def test_keygen_makes_a_key_once(tmp_path):
    path = tmp_path / "keys" / "mine"
    done = run("keygen", path)
    public = load_public_key(f"{path}.pub")
    assert done.exit_code == 0
    assert public.hex in done.output
    assert public.fingerprint in done.output
    again = run("keygen", path)
    assert again.exit_code == 2
    assert load_public_key(f"{path}.pub") == public


def test_keygen_has_a_default_place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert run("keygen").exit_code == 0
    assert (tmp_path / "ludus" / "keys" / "default.pub").exists()


def test_show_tells_what_a_run_is(folder):
    done = run("record", "show", folder, "--events", "2")
    assert done.exit_code == 0
    for words in ("1 note", "reward float64[2]", "complete", "none"):
        assert words in done.output
    assert "\x1b[31m" not in done.output
    assert "[red]" in done.output
    assert done.output.strip().splitlines()[-1].startswith("3 ")
    assert f"ludus view {folder}\n" in done.output


def test_show_tells_how_to_see_a_run_in_a_browser_whatever_its_name(folder, tmp_path):
    odd = tmp_path / "it's $(odd)"
    folder.rename(odd)
    line = run("record", "show", odd).output.strip().splitlines()[-1]
    assert shlex.split(line.partition(": ")[2]) == ["ludus", "view", str(odd)]


def test_show_of_what_is_broken(folder, tmp_path):
    (folder / "events.jsonl").write_bytes(b"{}\n")
    assert run("record", "show", folder).exit_code == 1
    assert run("record", "show", tmp_path / "none").exit_code == 2


def test_fsck_finds_and_repairs(folder, tmp_path):
    assert run("record", "fsck", folder).output.startswith("4 events, 3 rows, complete")
    with (folder / "blocks.bin").open("ab") as blocks:
        blocks.write(b"torn")
    found = run("record", "fsck", folder)
    assert found.exit_code == 1
    assert "--repair cuts it" in found.output
    repaired = run("record", "fsck", folder, "--repair", "--json")
    assert repaired.exit_code == 0
    report = json.loads(repaired.output)
    assert (report["ok"], report["repaired"], report["torn_blocks"]) == (True, True, 4)
    assert run("record", "fsck", tmp_path / "none").exit_code == 2


def test_sign_signs(folder, tmp_path):
    run("keygen", tmp_path / "key")
    done = run("record", "sign", folder, "--key", tmp_path / "key")
    assert done.exit_code == 0
    assert read_run(folder).signature().key.fingerprint in done.output
    assert run("record", "sign", folder, "--key", tmp_path / "nothing").exit_code == 2
