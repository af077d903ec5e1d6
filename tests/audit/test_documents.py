"""Bills of materials, SARIF, settings, and pages that name tests."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest

from ludus.audit import (
    RULES,
    Acceptance,
    AuditError,
    Exclusion,
    Settings,
    audit,
    read_settings,
    to_cyclonedx,
    to_sarif,
)
from ludus.terminal_text import printable
from tests.audit.support import OFFLINE, make_folder, make_wheel
from tests.audit.test_advisories import OPEN, advisory, database

ROOT = Path(__file__).parents[2]
EVIL = "import os\nos.system('x')\n"


def problems_of(bill):
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    return JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))


@pytest.mark.skipif(
    importlib.util.find_spec("cyclonedx") is None, reason="cyclonedx-python-lib is not installed"
)
def test_the_bill_of_materials_keeps_the_official_schema(tmp_path):
    path = make_wheel(
        tmp_path,
        {"a.py": EVIL},
        License_Expression="Licence of \x1b ours",
        Requires_Dist=["numpy", "rich", "gone>=1", "pinned==1!2.0+local.1"],
    )
    known = database(tmp_path / "db", advisory("numpy", events=OPEN, summary="bad"))
    bill = to_cyclonedx(audit(str(path), Settings(advisories=known, bandit=False)))
    assert problems_of(bill) is None
    assert (
        bill["metadata"]["component"]["hashes"][0]["content"]
        == audit(str(path), OFFLINE).target.sha256
    )
    graph = {entry["ref"]: entry["dependsOn"] for entry in bill["dependencies"]}
    assert "pkg:pypi/gone" in graph["pkg:pypi/suspect@1.0"]
    assert set().union(*graph.values()) <= set(graph)
    assert bill["vulnerabilities"][0]["affects"][0]["ref"].startswith("pkg:pypi/numpy@")
    broken = {**bill, "components": [{"name": "no type"}]}
    assert problems_of(broken) is not None


def test_the_bill_of_materials_can_be_repeated(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    report = audit(str(make_wheel(tmp_path, {})), OFFLINE)
    assert to_cyclonedx(report) == to_cyclonedx(report)
    assert to_cyclonedx(report)["metadata"]["timestamp"] == "2023-11-14T22:13:20+00:00"


def test_sarif(tmp_path):
    settings = Settings(offline=True, bandit=False, accept=(Acceptance("subprocess", "*", "mine"),))
    run = to_sarif(audit(str(make_wheel(tmp_path, {"a.py": EVIL})), settings))["runs"][0]
    by_rule = {result["ruleId"]: result for result in run["results"]}
    assert by_rule["subprocess"]["suppressions"][0]["justification"] == "mine"
    place = by_rule["import-time-effect"]["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == 2
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == set(by_rule)


def settings_from(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return read_settings(path)


def test_settings_accept_with_a_reason(tmp_path):
    settings = settings_from(
        tmp_path,
        '[tool.ludus.audit]\nfail-on = "low"\nextras = ["all"]\n'
        'accept = [{ rule = "subprocess", path = "a/*", reason = "a box" },\n'
        '          { rule = "network", path = ["b", "c"], reason = "local" }]\n'
        'exclude = [{ path = "tests/*", reason = "not installed" }]\n',
    )
    assert settings.accept == (
        Acceptance("subprocess", "a/*", "a box"),
        Acceptance("network", "b", "local"),
        Acceptance("network", "c", "local"),
    )
    assert settings.exclude == (Exclusion("tests/*", "not installed"),)
    assert settings.fail_on == "low"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.other]", "no table"),
        ("nonsense [", "cannot be read"),
        ('[tool.ludus.audit]\nfail-on = "never"', "never"),
        ("[tool.ludus.audit]\nfail-on = 3", "fail-on"),
        ('[tool.ludus.audit]\nfail_on = "low"', "fail_on"),
        ('[tool.ludus.audit]\naccept = ["subprocess"]', "accept"),
        ('[tool.ludus.audit]\naccept = [{ rule = "subprocess" }]', "reason"),
        ('[tool.ludus.audit]\naccept = [{ rule = "subprocess", reason = "  " }]', "accept"),
        ('[tool.ludus.audit]\naccept = [{ rule = "subproces", reason = "x" }]', "subproces"),
        ('[tool.ludus.audit]\nexclude = [{ path = "a" }]', "reason"),
        ('[tool.ludus.audit]\nrequire = ["luck"]', "luck"),
    ],
)
def test_settings_that_cannot_be_used(text, words, tmp_path):
    with pytest.raises(AuditError, match=words):
        settings_from(tmp_path, text)


def test_acceptances(tmp_path):
    path = str(make_wheel(tmp_path, {"a/b.py": EVIL, "c.py": EVIL}))
    everything = tuple(
        Acceptance(rule, "*", "seen") for rule in ("subprocess", "import-time-effect")
    )
    assert audit(path, Settings(offline=True, bandit=False, accept=everything)).exit_code == 0
    some = (Acceptance("subprocess", "a/*", "seen"), Acceptance("network", "*", "none left"))
    report = audit(path, Settings(offline=True, bandit=False, accept=some))
    assert {item.place for item in report.open_findings if item.rule == "subprocess"} == {"c.py:2"}
    assert "stale-acceptance" in {item.rule for item in report.findings}
    without = (Exclusion("a/*", "x"), Exclusion("c.py", "x"))
    assert audit(path, Settings(offline=True, bandit=False, exclude=without)).findings == []


def test_the_suspect_grants_no_pardon(tmp_path, monkeypatch):
    pardon = (
        'name = "suspect"\nversion = "1"\nlicense = "MIT"\n'
        '[tool.ludus.audit]\nfail-on = "high"\nexclude = [{ path = "*", reason = "trust me" }]\n'
        'accept = [{ rule = "subprocess", reason = "trust me" }]\n'
    )
    source = "import os\nos.system('x')  # nosec # noqa: S605 # ludus: ignore\n"
    monkeypatch.chdir(make_folder(tmp_path, {"a.py": source, ".bandit": "[bandit]\n"}, pardon))
    assert audit(".", OFFLINE).exit_code == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ä 漢字", "plain ä 漢字"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\u202e\u2066\ud800\x9b", "\\u202e\\u2066\\ud800\\x9b"),
        ("x" * 400, "x" * 299 + "…"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown


def test_ludus_gives_reasons_for_what_it_accepts_in_itself():
    settings = read_settings(ROOT / "audit.toml")
    assert settings.fail_on == "medium"
    assert len({(item.rule, item.path) for item in settings.accept}) == len(settings.accept)
    assert len({(item.rule, item.reason) for item in settings.accept}) <= 20
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(settings.extras) <= set(project["optional-dependencies"])
    for item in settings.exclude:
        assert item.path not in ("*", "src/*")


def test_the_security_page_names_tests_that_exist():
    named = set(re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / "security.md").read_text()))
    assert len(named) >= 15
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_the_page_about_audits_lists_every_rule():
    text = (ROOT / "docs" / "audit.md").read_text()
    assert [rule for rule in RULES if f"`{rule}`" not in text] == []


def test_names_are_pinned():
    import ludus.audit

    assert ludus.audit.__all__ == [
        "RULES",
        "Acceptance",
        "AuditError",
        "AuditReport",
        "Check",
        "Exclusion",
        "Finding",
        "Limits",
        "Rule",
        "Settings",
        "audit",
        "read_settings",
        "to_cyclonedx",
        "to_sarif",
    ]
