"""Specs that are registered in Gymnasium, seen through Ludus's registry."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ludus
from ludus.errors import Error, NameNotFound, RegistrationError
from ludus.registration import discovery, plugin_namespaces, registry
from ludus.registration.foreign import adopt_specs, as_spec, packages_to_import

gymnasium = pytest.importorskip("gymnasium")

CARTPOLE = "gymnasium.envs.classic_control.cartpole:CartPoleEnv"


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    theirs, ours = dict(gymnasium.registry), dict(registry)
    monkeypatch.setattr(discovery, "_loaded", set())
    yield
    for table, before in ((gymnasium.registry, theirs), (registry, ours)):
        table.clear()
        table.update(before)
    adopt_specs()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = []

    def add(name: str, code: str, group: str = "gymnasium.envs", entry: str | None = None) -> None:
        (tmp_path / f"{name}.py").write_text(code)
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
        (info / "METADATA").write_text(metadata + "Requires-Dist: gymnasium>=1.0\n")
        if entry is not None:
            (info / "entry_points.txt").write_text(f"[{group}]\n{entry} = {name}:envs\n")
        modules.append(name)

    yield add
    for name in modules:
        sys.modules.pop(name, None)


FUNCTION = f"""
import gymnasium
def envs():
    gymnasium.register("Hill-v0", {CARTPOLE!r}, max_episode_steps=5)
"""
AT_IMPORT = f"""
import gymnasium
gymnasium.register("{{ns}}Hill-v0", {CARTPOLE!r}, max_episode_steps=5)
def envs():
    raise RuntimeError("registered twice")
"""
BOMB = "raise RuntimeError('imported')"


def test_what_is_registered_in_gymnasium_is_found() -> None:
    gymnasium.register(
        "Theirs-v0", CARTPOLE, max_episode_steps=5, kwargs={"sutton_barto_reward": 1}
    )
    env = ludus.make("Theirs-v0")
    assert isinstance(env, ludus.Env)
    assert isinstance(env.observation_space, ludus.spaces.Box)
    assert env.spec is not None
    assert env.spec.kwargs == {"sutton_barto_reward": 1}
    assert env.spec.max_episode_steps == 5
    assert ludus.spec("Theirs-v0").security.trust == "plugin"
    assert "Theirs-v0" in ludus.registry
    assert "Theirs-v0" in ludus.envs.registry
    with pytest.warns(UserWarning, match="Using the latest versioned environment `Theirs-v0`"):
        ludus.make("Theirs")


def test_changes_in_gymnasiums_registry_are_followed() -> None:
    gymnasium.register("Theirs-v0", CARTPOLE, max_episode_steps=5)
    assert ludus.spec("Theirs-v0").max_episode_steps == 5
    del gymnasium.registry["Theirs-v0"]
    gymnasium.register("Theirs-v0", CARTPOLE, max_episode_steps=6)
    assert ludus.spec("Theirs-v0").max_episode_steps == 6
    del gymnasium.registry["Theirs-v0"]
    with pytest.raises(NameNotFound):
        ludus.spec("Theirs-v0")


def test_what_ludus_has_is_not_replaced() -> None:
    gymnasium.registry["CartPole-v1"].max_episode_steps = 3
    try:
        assert ludus.spec("CartPole-v1").max_episode_steps == 500
    finally:
        gymnasium.registry["CartPole-v1"].max_episode_steps = 500
    gymnasium.register("Theirs-v0", CARTPOLE)
    adopt_specs()
    with pytest.warns(UserWarning, match="Overriding environment Theirs-v0"):
        ludus.register("Theirs-v0", "ludus.testing.envs:CounterEnv")
    assert ludus.spec("Theirs-v0").entry_point == "ludus.testing.envs:CounterEnv"


def test_ids_that_contradict_ours_are_left_out() -> None:
    gymnasium.register("CartPoleLike", CARTPOLE)
    ludus.register("CartPoleLike-v1", "ludus.testing.envs:CounterEnv")
    adopt_specs()
    assert "CartPoleLike" not in registry


def test_nothing_of_ludus_comes_back() -> None:
    adopt_specs()
    assert not [env_id for env_id in registry if env_id.startswith("ludus/")]
    assert "GymV21Environment-v0" not in registry


def test_a_spec_of_gymnasium_is_taken() -> None:
    env = ludus.make(gymnasium.spec("CartPole-v1"), max_episode_steps=4)
    assert str(env).startswith("<TimeLimit<OrderEnforcing<PassiveEnvChecker<AsLudus<CartPoleEnv")
    assert as_spec("CartPole-v1") == "CartPole-v1"


def test_an_environment_class_of_gymnasium_is_registered_in_ludus() -> None:
    ludus.register("Mine-v0", entry_point=CARTPOLE, max_episode_steps=2)
    env = ludus.make("Mine-v0")
    assert env.unwrapped.get_wrapper_attr("gravity") == 9.8
    assert env.reset(seed=1)[0].tolist() == gymnasium.make("CartPole-v1").reset(seed=1)[0].tolist()


@pytest.mark.parametrize(
    "code", [FUNCTION, AT_IMPORT.format(ns="hills/")], ids=["called", "import"]
)
def test_a_namespace_that_is_announced_to_gymnasium(install: Any, code: str) -> None:
    install("gym_hills", code, entry="hills")
    install("gym_lakes", BOMB, entry="lakes")
    assert {"hills", "lakes"} <= set(plugin_namespaces())
    env = ludus.make("hills/Hill-v0")
    assert env.spec is not None
    assert env.spec.max_episode_steps == 5
    assert "gym_lakes" not in sys.modules


def test_two_packages_that_announce_one_namespace(install: Any) -> None:
    install("gym_hills1", BOMB, entry="hills")
    install("gym_hills2", BOMB, entry="hills")
    with pytest.raises(RegistrationError, match="gym_hills1, gym_hills2"):
        ludus.make("hills/Hill-v0")


@pytest.mark.parametrize(
    "wanted", ["CartPol-v1", "ALE/Pomg-v5", "nowhere/A-v0", "Hill-v0", "MinAtar/X-v0"]
)
@pytest.mark.parametrize("strict", [False, True])
def test_unknown_ids_and_lists_import_no_package(
    install: Any, monkeypatch: pytest.MonkeyPatch, wanted: str, strict: bool
) -> None:
    monkeypatch.setenv("LUDUS_TRUST", "strict" if strict else "default")
    for number, name in enumerate(["__root__", "ALE", "MinAtar", "hills", "ludus", "mlgym"]):
        install(f"gym_bomb{number}", BOMB, entry=name)
    install("gym_bomb_root", BOMB, group="gymnasium.envs.__root__", entry="anything")
    with pytest.raises(Error):
        ludus.make(wanted)
    with pytest.raises(Error):
        ludus.spec(wanted)
    ludus.search("hill")
    ludus.pprint_registry(disable_print=True)
    assert not [name for name in sys.modules if name.startswith("gym_bomb")]


def test_the_error_names_the_package_to_import(install: Any) -> None:
    install("hillenvs", BOMB)
    install("gym_root", BOMB, entry="__root__")
    assert packages_to_import("HillEnv-Steep") == ["hillenvs"]
    with pytest.raises(NameNotFound, match=r"make\('hillenvs:HillEnv-Steep-v0'\)"):
        ludus.make("HillEnv-Steep-v0")
    assert "gym_root" in packages_to_import("Zzz")
    assert "hillenvs" not in sys.modules


def test_an_id_that_begins_with_the_name_of_a_package_imports_it(install: Any) -> None:
    install("gymhills", AT_IMPORT.format(ns="").replace("Hill-v0", "GymHills-Steep-v0"))
    install("gymhillside", BOMB)
    with pytest.raises(NameNotFound, match="GymHill"):
        ludus.make("GymHill-Steep-v0")
    assert "gymhills" not in sys.modules
    env = ludus.make("GymHills-Steep-v0")
    assert env.spec is not None
    assert env.spec.max_episode_steps == 5
    assert "gymhillside" not in sys.modules
