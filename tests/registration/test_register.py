from __future__ import annotations

import json

import pytest

import ludus
from ludus.core import Env, EnvSpec, SecuritySpec, WrapperSpec
from ludus.errors import DeprecatedEnv, Error, NameNotFound, RegistrationError, VersionNotFound
from ludus.registration import namespace, registry
from ludus.registration.table import find_highest_version
from ludus.testing.envs import CounterEnv

COUNTER = "ludus.testing.envs:CounterEnv"


@pytest.fixture(autouse=True)
def _restored_registry():
    before = dict(registry)
    yield
    registry.clear()
    registry.update(before)


def test_registered_spec_is_found():
    ludus.register("test/Counter-v3", COUNTER, max_episode_steps=5, kwargs={"goal": 4})
    spec = ludus.spec("test/Counter-v3")
    assert (spec.namespace, spec.name, spec.version) == ("test", "Counter", 3)
    assert spec.kwargs == {"goal": 4}
    assert ludus.registry["test/Counter-v3"] is spec


def test_namespace_block():
    with namespace("zoo"):
        assert ludus.registration.current_namespace == "zoo"
        ludus.register("Cat-v0", COUNTER)
    assert ludus.registration.current_namespace is None
    assert ludus.spec("zoo/Cat-v0").namespace == "zoo"


def test_override_warns():
    ludus.register("Twice-v0", COUNTER)
    with pytest.warns(UserWarning, match="Overriding environment Twice-v0"):
        ludus.register("Twice-v0", COUNTER)


def test_versioned_and_unversioned_exclude_each_other():
    ludus.register("Plain", COUNTER)
    with pytest.raises(RegistrationError, match="unversioned environment `Plain`"):
        ludus.register("Plain-v0", COUNTER)
    ludus.register("Numbered-v0", COUNTER)
    with pytest.raises(RegistrationError, match="versioned environment `Numbered-v0`"):
        ludus.register("Numbered", COUNTER)


def _spec(version):
    return EnvSpec(f"Grow-v{version}", COUNTER)


@pytest.mark.parametrize(
    ("change", "highest"),
    [
        (lambda: registry.__setitem__("Grow-v4", _spec(4)), 4),
        (lambda: registry.__delitem__("Grow-v3"), 2),
        (lambda: registry.pop("Grow-v3"), 2),
        (lambda: registry.popitem(), 2),
        (lambda: registry.update({"Grow-v4": _spec(4)}), 4),
        (lambda: registry.setdefault("Grow-v4", _spec(4)), 4),
        (lambda: registry.__ior__({"Grow-v4": _spec(4)}), 4),
        (lambda: registry.clear(), None),
    ],
)
def test_every_change_of_the_table_changes_the_latest_version(change, highest):
    for version in (2, 3):
        ludus.register(f"Grow-v{version}", COUNTER)
    assert find_highest_version(None, "Grow") == 3
    change()
    assert find_highest_version(None, "Grow") == highest


def test_latest_version_is_taken_and_old_ones_warn():
    ludus.register("Grow-v1", COUNTER)
    ludus.register("Grow-v2", COUNTER)
    with pytest.warns(UserWarning, match="Using the latest versioned environment `Grow-v2`"):
        assert ludus.make("Grow").spec.id == "Grow-v2"
    with pytest.warns(DeprecationWarning, match="out of date"):
        ludus.make("Grow-v1")
    with pytest.raises(VersionNotFound, match="`v1`, `v2`"):
        ludus.make("Grow-v3")
    with pytest.raises(DeprecatedEnv, match="Please use `Grow-v2`"):
        ludus.make("Grow-v0")


def test_unversioned_only():
    ludus.register("Lone", COUNTER)
    with pytest.raises(DeprecatedEnv, match="default version `Lone`"):
        ludus.make("Lone-v1")
    assert ludus.make("Lone").spec.id == "Lone"


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("Cartpole-v1", "CartPole"), ("cartpole-v1", "CartPole"), ("CarPole-v1", "CartPole")],
)
def test_suggestions(asked, hint):
    with pytest.raises(NameNotFound, match=f"Did you mean: `{hint}`"):
        ludus.make(asked)


def test_same_name_in_another_namespace_is_suggested():
    ludus.register("farm/Goose-v0", COUNTER)
    with pytest.raises(NameNotFound, match="`farm/Goose-v0`"):
        ludus.make("Goose-v0")


def test_module_prefix_imports_first(tmp_path, monkeypatch):
    (tmp_path / "my_envs_for_prefix.py").write_text(
        f"import ludus\nludus.register('prefixed/Mine-v0', {COUNTER!r})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert ludus.make("my_envs_for_prefix:prefixed/Mine-v0").spec.id == "prefixed/Mine-v0"


def test_spec_json_round_trip():
    spec = EnvSpec(
        "ns/Thing-v2",
        entry_point=COUNTER,
        max_episode_steps=3,
        kwargs={"goal": 4},
        additional_wrappers=(WrapperSpec("TimeLimit", "ludus.wrappers:TimeLimit", {"n": 1}),),
        tags=["a", "b"],
        description="d",
        security=SecuritySpec(network="loopback", dependencies=("numpy",), trust="untrusted"),
    )
    assert EnvSpec.from_json(spec.to_json()) == spec
    assert spec.deterministic


def test_plain_spec_json_is_gymnasiums():
    gymnasium = pytest.importorskip("gymnasium")
    ours = EnvSpec("Thing-v2", entry_point=COUNTER, max_episode_steps=3).to_json()
    theirs = gymnasium.envs.registration.EnvSpec(
        "Thing-v2", entry_point=COUNTER, max_episode_steps=3
    ).to_json()
    assert json.loads(ours) == json.loads(theirs)
    assert EnvSpec.from_json(theirs) == EnvSpec.from_json(ours)


def test_spec_with_callable_is_not_json():
    with pytest.raises(ValueError, match="Callable found in Thing-v0 for entry_point"):
        EnvSpec("Thing-v0", entry_point=CounterEnv).to_json()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '{"id": 3}',
        '{"id": "A-v0", "colour": 1}',
        '{"id": "A-v0", "security": {"trust": "x"}}',
    ],
)
def test_bad_spec_json(text):
    with pytest.raises((ValueError, TypeError)):
        EnvSpec.from_json(text)


def test_pprint(capsys):
    spec = EnvSpec("Thing-v0", entry_point=COUNTER, max_episode_steps=9, description="hello")
    assert spec.pprint(disable_print=True) == "id=Thing-v0\nmax_episode_steps=9"
    told = spec.pprint(disable_print=True, about=True)
    assert told == "id=Thing-v0\nmax_episode_steps=9\ndescription=hello"
    spec.pprint(include_entry_points=True)
    assert f"entry_point={COUNTER}" in capsys.readouterr().out
    assert "order_enforce=True" in spec.pprint(disable_print=True, print_all=True)


def test_pprint_registry_groups_by_family(capsys):
    ludus.register("barn/Cow-v0", COUNTER)
    text = ludus.pprint_registry(disable_print=True)
    assert "===== classic_control =====" in text
    assert "===== barn =====\nbarn/Cow-v0" in text
    ludus.pprint_registry(exclude_namespaces=["barn"])
    assert "Cow" not in capsys.readouterr().out


def test_search():
    tags = ("maze", "weather")
    ludus.register("s/Fog-v0", COUNTER, description="Find a way through fog", tags=tags)
    ids = lambda found: [spec.id for spec in found]  # noqa: E731
    assert ids(ludus.search("WAY fog")) == ["s/Fog-v0"]
    assert ids(ludus.search(tag="weather")) == ["s/Fog-v0"]
    assert ids(ludus.search("fog", tag="maze")) == ["s/Fog-v0"]
    mazes = ids(ludus.search(tag="maze"))
    assert sorted(mazes) == sorted(id for id, spec in registry.items() if "maze" in spec.tags)
    assert {"MetaMaze-v0", "s/Fog-v0"} < set(mazes)
    assert "CartPole-v1" not in mazes
    assert "CartPole-v1" in ids(ludus.search(family="classic_control"))
    assert ludus.search("no such words anywhere") == []
    with pytest.raises(ValueError, match="Did you mean: `maze`"):
        ludus.search(tag="mase")
    with pytest.raises(ValueError, match="classic_control"):
        ludus.search(family="clasic_control")


def test_builtin_specs_are_marked():
    spec = ludus.spec("CartPole-v1")
    assert spec.security.trust == "builtin"
    assert spec.description
    assert spec.family == "classic_control"


def test_callable_entry_point():
    ludus.register("Call-v0", lambda goal=3: CounterEnv(goal))
    assert ludus.make("Call-v0", goal=7).unwrapped.goal == 7


def test_register_needs_an_entry_point():
    with pytest.raises(ValueError, match="entry_point"):
        ludus.register("None-v0")


def test_register_envs_takes_a_module():
    assert ludus.register_envs(json) is None


def test_malformed_ids():
    for env_id in ("", "a b-v0", "a/b/c-v0", "Ünicode-v0", "x-v0\n"):
        with pytest.raises(Error, match="Malformed"):
            ludus.register(env_id, COUNTER)


def test_env_is_not_imported_by_listing():
    ludus.register("Ghost-v0", "no_such_package_at_all:Ghost")
    assert any(spec.id == "Ghost-v0" for spec in ludus.search("ghost"))
    with pytest.raises(ModuleNotFoundError):
        ludus.make("Ghost-v0")


def test_subclass_of_env_without_spec_prints():
    assert str(CounterEnv()) == "<CounterEnv instance>"
    assert isinstance(CounterEnv(), Env)
