"""Plugins, installed for real into a folder on the path."""

from __future__ import annotations

import sys

import pytest

import ludus
from ludus.errors import NamespaceNotFound
from ludus.registration import discovery, plugin_namespaces, registry

COUNTER = "ludus.testing.envs:CounterEnv"


@pytest.fixture
def install(tmp_path, monkeypatch):
    before = dict(registry)
    monkeypatch.setattr(discovery, "_loaded", set())
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = []

    def add(name, namespace, code, target="envs"):
        (tmp_path / f"{name}.py").write_text(code)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ludus.envs]\n{namespace} = {name}:{target}\n")
        modules.append(name)

    yield add
    registry.clear()
    registry.update(before)
    for name in modules:
        sys.modules.pop(name, None)


FUNCTION = f"import ludus\ndef envs():\n    ludus.register('Hill-v0', {COUNTER!r})\n"


def test_plugin_is_loaded_when_its_namespace_is_asked_for(install):
    install("plug_hills", "hills", FUNCTION)
    install("plug_lakes", "lakes", "raise RuntimeError('imported without being asked for')")
    assert {"hills", "lakes"} <= set(plugin_namespaces())
    assert "plug_hills" not in sys.modules
    assert ludus.make("hills/Hill-v0").spec.id == "hills/Hill-v0"
    assert "plug_lakes" not in sys.modules


def test_plugin_given_as_data(install):
    code = f"from ludus import EnvSpec\nenvs = [EnvSpec('Dune-v1', entry_point={COUNTER!r})]\n"
    install("plug_dunes", "dunes", code)
    assert ludus.spec("dunes/Dune-v1").security.trust == "plugin"


def test_root_plugin(install):
    install("plug_root", "__root__", FUNCTION)
    assert ludus.make("Hill-v0").spec.id == "Hill-v0"


def test_listing_loads_everything(install):
    install("plug_hills2", "hills2", FUNCTION)
    assert "hills2/Hill-v0" in [spec.id for spec in ludus.search("hill")]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("raise RuntimeError('broken')", "RuntimeError: broken"),
        ("envs = 3", "iterable of EnvSpec"),
        ("envs = ['Hill-v0']", "expected EnvSpec"),
        (
            "from ludus import EnvSpec, SecuritySpec\n"
            f"envs = [EnvSpec('A-v0', {COUNTER!r}, security=SecuritySpec(trust='builtin'))]",
            "only Ludus itself may",
        ),
    ],
)
def test_broken_plugin_is_reported_and_skipped(install, code, words):
    install("plug_broken", "broken", code)
    with pytest.warns(UserWarning, match=words), pytest.raises(NamespaceNotFound):
        ludus.make("broken/A-v0")


def test_plugin_cannot_replace_a_builtin(install):
    code = f"from ludus import EnvSpec\nenvs = [EnvSpec('CartPole-v1', entry_point={COUNTER!r})]"
    install("plug_thief", "__root__", code)
    with pytest.warns(UserWarning, match="may not replace it"):
        ludus.search()
    assert "cartpole" in ludus.spec("CartPole-v1").entry_point


def test_close_namespace_is_suggested_without_importing(install):
    install("plug_rivers", "rivers", "raise RuntimeError('imported')")
    with pytest.raises(NamespaceNotFound, match="Did you mean: `rivers`"):
        ludus.make("river/Long-v0")
