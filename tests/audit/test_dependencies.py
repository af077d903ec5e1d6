"""Dependencies and their licences."""

from __future__ import annotations

import pytest

from ludus.audit import Settings, audit
from ludus.audit.dependencies import closure
from ludus.audit.licences import is_allowed, licence_of
from ludus.audit.limits import Limits
from ludus.audit.target import Metadata
from tests.audit.support import OFFLINE, make_folder, make_wheel, rules

LIMITS = Limits()


@pytest.fixture
def universe(tmp_path, monkeypatch):
    """Distributions that need each other, on this Python's path."""

    def install(**packages):
        for name, requires in packages.items():
            info = tmp_path / f"{name}-1.0.dist-info"
            info.mkdir()
            lines = ["Metadata-Version: 2.4", f"Name: {name}", "Version: 1.0"]
            lines += [f"Requires-Dist: {item}" for item in requires]
            (info / "METADATA").write_text("\n".join(lines) + "\n\n")
        monkeypatch.syspath_prepend(str(tmp_path))

    return install


def needs(*requires, extras=()):
    components, findings = closure(Metadata("root", "1", requires), extras, LIMITS)
    return {item.key: item for item in components}, findings


def test_the_closure_goes_through_installed_packages(universe):
    universe(audit_a=["audit-b>=1"], audit_b=["audit_c"], audit_c=[])
    found, _ = needs("audit-a")
    assert list(found) == ["root", "audit-a", "audit-b", "audit-c"]
    assert found["audit-a"].requires == ["audit-b"]
    assert found["audit-c"].source == "installed"


def test_a_cycle_is_walked_once(universe):
    universe(audit_a=["audit-b"], audit_b=["audit-a", "audit-b", "root"])
    found, _ = needs("audit-a")
    assert list(found) == ["root", "audit-a", "audit-b"]
    assert found["audit-b"].requires == ["audit-a", "root"]


def test_extras_and_markers(universe):
    universe(audit_a=["audit-b; extra == 'more'"], audit_b=["audit-a[more]"])
    assert "audit-b" not in needs("audit-a")[0]
    assert "audit-b" in needs("audit-a[more]")[0]
    assert "audit-a" not in needs("audit-a; sys_platform == 'nowhere'")[0]
    assert "audit-a" in needs("audit-a; extra == 'dev'", extras=["dev"])[0]


def test_what_is_not_installed_is_declared(universe):
    universe(audit_a=[])
    found, _ = needs("audit-a>=2", "audit-none>=1", "audit-pinned==2.0")
    assert (found["audit-a"].source, found["audit-a"].version) == ("declared", None)
    assert found["audit-none"].version is None
    assert found["audit-pinned"].version == "2.0"


@pytest.mark.parametrize(
    "requirement", ["???", "a" * 5000 + "!", "a; (" * 500, "a[", "\x1b[31m", "-r other.txt"]
)
def test_requirements_that_are_none(requirement):
    _, findings = needs(requirement)
    assert [item.rule for item in findings] == ["invalid-metadata"]
    assert findings[0].message.isprintable()


def test_a_dependency_from_an_address():
    _, findings = needs("a @ https://example.org/a.whl")
    assert [item.rule for item in findings] == ["direct-dependency"]


def test_dependencies_of_a_folder(tmp_path):
    project = (
        'name = "suspect"\nversion = "1"\nlicense = "MIT"\ndependencies = ["numpy"]\n'
        "[project.optional-dependencies]\nmore = [\"rich; python_version > '3'\"]\n"
    )
    path = str(make_folder(tmp_path, {}, project))
    assert [item.key for item in audit(path, OFFLINE).components] == ["suspect", "numpy"]
    more = audit(path, Settings(offline=True, bandit=False, extras=("more",))).components
    assert "rich" in {item.key for item in more}


def test_dependencies_that_are_computed_are_said_to_be_unknown(tmp_path):
    path = make_folder(tmp_path, {}, 'name = "s"\nlicense = "MIT"\ndynamic = ["dependencies"]\n')
    assert "invalid-metadata" in rules(path)


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        ({"licence_expression": "MIT OR Apache-2.0", "licence": "x"}, "MIT OR Apache-2.0"),
        ({"licence": "Apache License 2.0"}, "Apache-2.0"),
        ({"licence": "Zlib"}, "Zlib"),
        ({"licence": "UNKNOWN"}, None),
        ({"licence": "Permission is hereby granted\n" * 20}, None),
        ({"classifiers": ("License :: OSI Approved :: MIT License",)}, "MIT"),
        ({"classifiers": ("License :: OSI Approved",)}, None),
        ({"classifiers": ("Topic :: Games",)}, None),
        ({}, None),
    ],
)
def test_where_a_licence_is_read(fields, licence):
    assert licence_of(Metadata("a", **fields)) == licence


@pytest.mark.parametrize(
    ("expression", "allowed", "denied", "fits"),
    [
        ("MIT", [], [], True),
        ("MIT", ["mit"], [], True),
        ("MIT", ["Apache-2.0"], [], False),
        ("MIT OR GPL-3.0-only", ["MIT"], [], True),
        ("MIT AND GPL-3.0-only", ["MIT"], [], False),
        ("MIT OR (GPL-3.0-only AND BSD-3-Clause)", [], ["MIT", "GPL-3.0-only"], False),
        ("(MIT OR GPL-3.0-only) AND BSD-3-Clause", ["MIT", "BSD-3-Clause"], [], True),
        ("GPL-3.0-only WITH Classpath-exception-2.0", [], ["GPL-3.0-only"], False),
        ("MIT", [], ["MIT"], False),
        ("Some licence of ours", ["MIT"], [], False),
        ("Some licence of ours", [], ["MIT"], True),
        ("(" * 1000 + "MIT", ["MIT"], [], False),
        ("MIT OR", ["MIT"], [], False),
        ("", ["MIT"], [], False),
    ],
)
def test_which_licences_are_allowed(expression, allowed, denied, fits):
    assert is_allowed(expression, allowed, denied) is fits


def test_licences_in_the_report(tmp_path):
    path = make_wheel(tmp_path, {}, License_Expression="GPL-3.0-only", Requires_Dist="numpy")
    report = audit(str(path), OFFLINE)
    assert report.components[0].licence == "GPL-3.0-only"
    assert "denied-licence" not in rules(path)
    assert "denied-licence" in rules(
        path, Settings(deny_licences=("GPL-3.0-only",), offline=True, bandit=False)
    )
    assert "denied-licence" in rules(
        path, Settings(allow_licences=("MIT",), offline=True, bandit=False)
    )


def test_no_licence_at_all_is_a_finding(tmp_path):
    assert "unknown-licence" in rules(make_folder(tmp_path, {}, 'name = "a"\nversion = "1"\n'))
