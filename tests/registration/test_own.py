"""Namespaces that Ludus fills itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import ludus
from ludus.errors import NameNotFound, NamespaceNotFound
from ludus.registration import plugin_namespaces, registry
from ludus.registration.lookup import find_known
from ludus.research import new_task


@pytest.fixture
def own_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    new_task("slopeTask", tmp_path)
    monkeypatch.setenv("MLGYM_TASK_CONFIG_DIR", str(tmp_path))
    yield "mlgym/slopeTask-v0"
    registry.pop("mlgym/slopeTask-v0", None)


def test_a_task_that_appears_later_is_found(own_task):
    assert ludus.spec(own_task).family == "research"


@pytest.mark.parametrize("trust", ["default", "strict"])
def test_bundled_tasks_need_no_box_around_them(trust, monkeypatch):
    monkeypatch.setenv("LUDUS_TRUST", trust)
    env = ludus.make("mlgym/battleOfSexes-v0")
    assert type(env.unwrapped).__name__ == "ResearchEnv"
    env.close()


def test_what_others_wrote_is_a_plugin(own_task):
    found = find_known(own_task)
    assert found is not None
    assert found.security.trust == "plugin"


def test_typing_errors_get_a_hint():
    assert "mlgym" in plugin_namespaces()
    with pytest.raises(NamespaceNotFound, match="mlgym"):
        ludus.make("mlgim/blotto-v0")
    with pytest.raises(NameNotFound, match="blotto"):
        ludus.make("mlgym/bloto-v0")
