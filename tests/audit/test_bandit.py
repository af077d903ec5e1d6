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


RUNS_CODE = {
    "B102": "def f(x): exec(x)",
    "B301": "import pickle\ndef f(x): pickle.loads(x)",
    "B302": "import marshal\ndef f(x): marshal.loads(x)",
    "B307": "def f(x): eval(x)",
    "B506": "import yaml\ndef f(x): yaml.load(x)",
    "B614": "import torch\ndef f(x): torch.load(x)",
}
DECOYS = {
    "a decoy definition": "if 0:\n    def eval(x): pass\ndef f(x): eval(x)",
    "a decoy assignment": "eval = eval\ndef f(x): eval(x)",
    "a decoy parameter elsewhere": "def g(eval): pass\ndef f(x): eval(x)",
    "a decoy in a class": "class A:\n    eval = 1\n    def f(self, x): eval(x)",
    "a full-width letter": "def f(x): \uff45val(x)",
    "an alias": "from pickle import loads as read\ndef f(x): read(x)",
    "a module's alias": "import pickle as p\ndef f(x): p.loads(x)",
    "text that turns": "x = '\u202egnirts'",
    "a comment": "def f(x): eval(x)  # nosec # noqa # ludus: ignore",
}


@needs_bandit
def test_what_runs_data_as_code_is_severe(tmp_path):
    files = {f"{test}.py": source for test, source in RUNS_CODE.items()}
    files |= {f"{name}.py": source for name, source in DECOYS.items()}
    report = audit(str(make_wheel(tmp_path, files)), WITH)
    assert report.exit_code == 1
    found = {(item.rule, item.path) for item in report.failing}
    assert {(f"bandit:{test}", f"{test}.py") for test in RUNS_CODE} <= found
    assert {path for _, path in found} == set(files)


@needs_bandit
def test_it_hears_no_excuses_and_repeats_nothing(tmp_path):
    source = (
        "import hashlib\nimport subprocess\n\n\n"
        "def f(x):\n"
        "    hashlib.md5(x)  # nosec\n"
        "    subprocess.run(x, shell=True)  # nosec B602\n"
    )
    path = make_wheel(tmp_path, {"a/b.py": source, ".bandit": "[bandit]\nskips: B324\n"})
    report = audit(str(path), WITH)
    assert {(item.rule, item.place) for item in report.findings} == {
        ("bandit:B324", "a/b.py:6"),
        ("subprocess", "a/b.py:7"),
    }
    assert report.checks[1].state == "checked"


@needs_bandit
def test_it_is_bounded_in_time():
    sources = {"a.py": b"x = 1\n"}
    found, problem = run_bandit(sources, Limits(bandit_seconds=0.01))
    assert found == []
    assert "0.01 seconds" in problem


def test_without_it_the_audit_goes_on_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(DependencyNotInstalled, match="ludus-gym\\[audit\\]"):
        run_bandit({}, Limits())
    path = str(make_wheel(tmp_path, {}))
    report = audit(path, WITH)
    assert (report.checks[1].state, report.exit_code) == ("not checked", 0)
    assert audit(path, Settings(offline=True, require=("bandit",))).exit_code == 3
