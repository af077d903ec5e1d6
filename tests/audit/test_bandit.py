"""bandit beside Ludus's own rules: the real one."""

from __future__ import annotations

import importlib.util

import pytest

from ludus.audit import Settings, audit
from ludus.audit.bandit import run_bandit
from ludus.audit.limits import Limits
from ludus.errors import DependencyNotInstalled
from tests.audit.support import make_wheel

WITH = Settings(offline=True)
needs_bandit = pytest.mark.skipif(
    importlib.util.find_spec("bandit") is None, reason="bandit is not installed"
)


@needs_bandit
def test_it_adds_what_ludus_has_no_rule_for_and_hears_no_excuses(tmp_path):
    source = (
        "import hashlib\nimport pickle\n\n\n"
        "def f(x):\n"
        "    hashlib.md5(x)  # nosec\n"
        "    pickle.loads(x)  # nosec B301\n"
    )
    path = make_wheel(tmp_path, {"a/b.py": source, ".bandit": "[bandit]\nskips: B324\n"})
    report = audit(str(path), WITH)
    assert {(item.rule, item.place) for item in report.findings} == {
        ("bandit:B324", "a/b.py:6"),
        ("unpickling", "a/b.py:7"),
    }
    assert report.checks[1].state == "checked"


@needs_bandit
def test_it_is_bounded_in_time():
    sources = {"a.py": b"x = 1\n"}
    found, problem = run_bandit(sources, [], Limits(bandit_seconds=0.01))
    assert found == []
    assert "0.01 seconds" in problem


def test_without_it_the_audit_goes_on_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled, match="ludus-gym\\[audit\\]"):
        run_bandit({}, [], Limits())
    path = str(make_wheel(tmp_path, {}))
    report = audit(path, WITH)
    assert (report.checks[1].state, report.exit_code) == ("not checked", 0)
    assert audit(path, Settings(offline=True, require=("bandit",))).exit_code == 3
