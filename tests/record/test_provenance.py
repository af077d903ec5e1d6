from __future__ import annotations

import dataclasses
import hashlib
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import ludus
from ludus.record import provenance
from ludus.record.format import canonical
from ludus.record.replay.provenance import _git, _of_process, env_source, package_source
from ludus.registration import registry
from ludus.version import __version__


def test_it_is_plain_data_and_names_what_matters() -> None:
    found = provenance(ludus.make("CartPole-v1"))
    assert canonical.loads(canonical.dumps(found)) == found
    assert found["ludus"] == {"version": __version__, "source": package_source()}
    for name in ("numpy", "numba"):
        package = found["packages"][name]
        assert package["version"] == metadata.version(name)
        record = metadata.distribution(name).read_text("RECORD")
        assert record is not None
        assert package["files"] == hashlib.sha256(record.encode()).hexdigest()
    assert found["cpu"]["model"]
    assert found["env"]["id"] == "CartPole-v1"
    assert len(found["env"]["source"]) == 64


def test_without_an_environment() -> None:
    assert "env" not in provenance()


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1"])
def test_one_and_many_have_the_same_source(env_id: str) -> None:
    one = provenance(ludus.make(env_id))["env"]
    many = provenance(ludus.make_vec(env_id, 2))["env"]
    assert one["source"] == many["source"] == env_source(registry[env_id])


def test_other_environments_have_other_sources() -> None:
    sources = {env_source(registry[name]) for name in ("CartPole-v1", "Pendulum-v1", "Taxi-v3")}
    assert len(sources) == 3


def module(folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = folder / f"{name.replace('.', '_')}.py"
    path.write_text(text)
    made = ModuleType(name)
    made.__file__ = str(path)
    monkeypatch.setitem(sys.modules, name, made)
    exec(compile(text, path, "exec"), made.__dict__)
    return made


def test_the_source_covers_what_the_code_takes_from_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = dataclasses.replace(registry["CartPole-v1"], vector_entry_point=None)

    def named(helper: str, own: str) -> str | None:
        module(tmp_path, "pkg_x", "", monkeypatch)
        module(tmp_path, "pkg_x.helper", helper, monkeypatch)
        made = module(tmp_path, "pkg_x.env", own, monkeypatch)
        return env_source(dataclasses.replace(spec, entry_point=made.make))

    own = "from pkg_x.helper import speed\ndef make():\n    return speed()\n"
    first = named("def speed():\n    return 1\n", own)
    assert first == named("def speed():\n    return 1\n", own)
    assert first != named("def speed():\n    return 2\n", own)
    assert first != named("def speed():\n    return 1\n", own + "# another\n")


def test_code_without_a_file_has_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ModuleType("nowhere_x")
    monkeypatch.setitem(sys.modules, "nowhere_x", made)
    exec("def make():\n    pass\n", made.__dict__)
    spec = dataclasses.replace(registry["CartPole-v1"], vector_entry_point=None)
    assert env_source(dataclasses.replace(spec, entry_point=made.make)) is None


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=m"]
    command = ["git", *identity, *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_git_commit_and_changes(tmp_path: Path) -> None:
    assert _git(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert _git(tmp_path) is None  # nothing is committed yet
    (tmp_path / "a.txt").write_text("1")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    below = tmp_path / "below"
    below.mkdir()
    assert _git(below) == {"commit": commit, "dirty": False}
    (tmp_path / "a.txt").write_text("2")
    assert _git(tmp_path) == {"commit": commit, "dirty": True}
    git(tmp_path, "checkout", "-q", "--", "a.txt")
    git(tmp_path, "pack-refs", "--all")
    assert _git(tmp_path) == {"commit": commit, "dirty": False}
    git(tmp_path, "checkout", "-q", "--detach")
    assert _git(tmp_path) == {"commit": commit, "dirty": False}


def test_git_runs_nothing_of_the_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.txt").write_text("1")
    git(tmp_path, "add", "a.txt")
    git(tmp_path, "commit", "-q", "-m", "first")
    trap = tmp_path / "trap"
    script = tmp_path / "monitor.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(script))
    assert _git(tmp_path) is not None
    assert not trap.exists()


def test_a_damaged_repository_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_bytes(b"\xff\xfe not a commit")
    assert _git(tmp_path) is None


def test_what_belongs_to_the_process_is_found_once() -> None:
    assert _of_process("/") is _of_process("/")
