"""Plugins, installed for real into a folder on the path."""

from __future__ import annotations

import sys

import pytest

import ludus
from ludus.errors import Error, NameNotFound, NamespaceNotFound, RegistrationError
from ludus.registration import discovery, load_plugins, plugin_namespaces, registry

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


def test_root_plugin_is_loaded_by_listing_only(install):
    install("plug_root", "__root__", FUNCTION)
    with pytest.raises(NameNotFound, match=r"load_plugins\(everything=True\): plug_root"):
        ludus.make("Hill-v0")
    assert "plug_root" not in sys.modules
    load_plugins(everything=True)
    assert ludus.make("Hill-v0").spec.id == "Hill-v0"


BOMB = "raise RuntimeError('imported')"


@pytest.mark.parametrize(
    "wanted",
    [
        "CartPol-v1",
        "CartPole-v99",
        "ALE/Pong-v99",
        "ALE/Pomg-v5",
        "mlgym/nothing-v0",
        "nowhere/A-v0",
    ],
)
@pytest.mark.parametrize("strict", [False, True])
def test_mistyped_ids_import_no_plugin(install, monkeypatch, wanted, strict):
    monkeypatch.setenv("LUDUS_TRUST", "strict" if strict else "default")
    names = ["__root__", "mlgym", "ALE", "ale", "Maze", "phys2d", "phys-2d", "builtin", "hills"]
    for number, name in enumerate(names):
        install(f"plug_bomb{number}", name, BOMB)
    with pytest.raises(Error):
        ludus.make(wanted)
    with pytest.raises(Error):
        ludus.spec(wanted)
    assert not [name for name in sys.modules if name.startswith("plug_bomb")]


@pytest.mark.parametrize("wanted", ["CartPole-v1", "mlgym/titanicSurvival-v0", "Maze/Empty-5x5-v0"])
def test_ids_of_ludus_import_no_plugin(install, wanted):
    for number, name in enumerate(["__root__", "mlgym", "Maze", "MAZE"]):
        install(f"plug_bomb{number}", name, BOMB)
    assert ludus.spec(wanted).security.trust == "builtin"
    assert not [name for name in sys.modules if name.startswith("plug_bomb")]


@pytest.mark.parametrize(
    "name",
    [
        "mlgym", "MLGYM", "ALE", "ale", "maze", "Phys2D", "tabular", "builtin", "ludus", "root",
        "a/b", "a:b", "a b", "a.b", "hills\u200b", "h\u0456lls", "\uff21\uff2c\uff25", "A\x1b[2J",
    ],
    ids=ascii,
)  # fmt: skip
def test_names_that_no_plugin_may_have(install, name):
    install("plug_squatter", name, BOMB)
    assert name not in set(plugin_namespaces()) - {"mlgym"}
    for wanted in (f"{name}/Hill-v0", "Hill-v0"):
        with pytest.raises((Error, ModuleNotFoundError)):
            ludus.make(wanted)
    with pytest.warns(UserWarning, match="of the package plug_squatter is ignored") as caught:
        ludus.search("CartPole")
    assert all(str(one.message).isprintable() for one in caught)
    assert "plug_squatter" not in sys.modules


def test_two_plugins_of_one_namespace(install):
    install("plug_first", "hills", FUNCTION)
    install("plug_second", "hills", BOMB)
    with pytest.raises(RegistrationError, match=r"plug_first, plug_second.*uninstall"):
        ludus.make("hills/Hill-v0")
    with pytest.warns(UserWarning, match="several packages declare it"):
        ludus.search("Hill")
    assert not {"plug_first", "plug_second"} & sys.modules.keys()
    assert "hills" not in plugin_namespaces()


def test_metadata_cannot_drive_a_terminal(install):
    evil = "\x1b]0;gotcha\x07"
    install("plug_evil", "evil", f"raise RuntimeError({evil!r} * 1000)")
    with (
        pytest.warns(UserWarning, match="gotcha") as caught,
        pytest.raises(NamespaceNotFound),
    ):
        ludus.make("evil/A-v0")
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message.isprintable()
    assert len(message) < 2000


@pytest.mark.parametrize(
    "wanted", [":CartPole-v1", ".os:CartPole-v1", "a..b:C-v0", "a b:C", "a/b:C"]
)
def test_modules_that_are_none(wanted):
    with pytest.raises(Error, match="Malformed"):
        ludus.make(wanted)


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
            "which only Ludus may",
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
