"""Known vulnerabilities: from files, and through the real pip-audit against a server of ours."""

from __future__ import annotations

import http.server
import importlib.util
import json
import socket
import threading
import zipfile

import pytest

from ludus.audit import AuditError, Settings, audit
from ludus.audit.advisories import Outcome, check_advisories, check_index, parse_answer
from ludus.audit.dependencies import Component
from ludus.audit.target import Metadata
from tests.audit.support import make_wheel

needs_pip_audit = pytest.mark.skipif(
    importlib.util.find_spec("pip_audit") is None, reason="pip-audit is not installed"
)


def component(name, version):
    return Component(name, version, "installed", Metadata(name, version))


def advisory(name="suspect", *, versions=(), events=(), **fields):
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    affected = {"package": {"ecosystem": "PyPI", "name": name}, "versions": list(versions)}
    return {"id": "PYSEC-1", "affected": [{**affected, "ranges": ranges}], **fields}


def database(folder, *advisories):
    folder.mkdir(exist_ok=True)
    for number, item in enumerate(advisories):
        (folder / f"{number}.json").write_text(json.dumps(item))
    return folder


SPAN = [{"introduced": "1.2"}, {"fixed": "2.0"}]
OPEN = [{"introduced": "0"}]
LAST = [{"introduced": "0"}, {"last_affected": "1.5"}]
TWICE = [{"introduced": "3.0"}, {"fixed": "3.1"}, {"introduced": "0"}, {"fixed": "1.0"}]


@pytest.mark.parametrize(
    ("version", "events", "affected"),
    [
        ("1.1", SPAN, False),
        ("1.2", SPAN, True),
        ("1.10", SPAN, True),
        ("2.0rc1", SPAN, True),
        ("2.0", SPAN, False),
        ("2.0.post1", SPAN, False),
        ("1!0.1", SPAN, False),
        ("0.0.1a1", OPEN, True),
        ("99", OPEN, True),
        ("1.5", LAST, True),
        ("1.5.1", LAST, False),
        ("0.5", TWICE, True),
        ("2.0", TWICE, False),
        ("3.0.5", TWICE, True),
        ("3.1", TWICE, False),
    ],
)
def test_versions_are_compared_by_pep_440(version, events, affected, tmp_path):
    path = database(tmp_path / "db", advisory(events=events))
    outcome = check_advisories([component("suspect", version)], path)
    assert bool(outcome.found) is affected
    assert outcome.unchecked == {}


def test_listed_versions_count_in_any_spelling(tmp_path):
    path = database(tmp_path / "db", advisory("Sus.Pect", versions=["1.0", "not a version"]))
    assert check_advisories([component("sus-pect", "1.0.0")], path).found
    assert not check_advisories([component("sus-pect", "1.1")], path).found


def test_what_an_advisory_says_is_kept(tmp_path):
    item = advisory(
        events=SPAN,
        aliases=["CVE-1"],
        summary="bad \x1b[31m",
        database_specific={"severity": "LOW"},
    )
    (found,) = check_advisories(
        [component("suspect", "1.3")], database(tmp_path / "db", item)
    ).found
    assert (found.id, found.aliases, found.fixed, found.severity) == (
        "PYSEC-1",
        ("CVE-1",),
        ("2.0",),
        "low",
    )
    assert found.summary.isprintable()


def test_withdrawn_and_foreign_advisories_do_not_count(tmp_path):
    foreign = advisory(events=OPEN)
    foreign["affected"][0]["package"]["ecosystem"] = "npm"
    git = advisory(events=OPEN)
    git["affected"][0]["ranges"][0]["type"] = "GIT"
    withdrawn = advisory(events=OPEN, withdrawn="2024-01-01")
    path = database(tmp_path / "db", foreign, git, withdrawn)
    assert not check_advisories([component("suspect", "1")], path).found


def test_a_zip_of_advisories(tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("PYSEC-1.json", json.dumps(advisory(events=OPEN)))
    assert check_advisories([component("suspect", "1")], path).found


@pytest.mark.parametrize(
    "text",
    ["nonsense", "[]", "{}", '{"affected": 1}', "[" * 100_000,
     json.dumps(advisory(events=[{"introduced": "one"}]))],
)  # fmt: skip
def test_an_advisory_that_cannot_be_read_is_not_passed_over(text, tmp_path):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(AuditError, match=r"a\.json"):
        check_advisories([component("suspect", "1")], tmp_path)


def test_no_advisories_are_no_database(tmp_path):
    with pytest.raises(AuditError, match="contains no advisories"):
        check_advisories([], tmp_path)
    with pytest.raises(AuditError, match="neither a folder nor a zip"):
        check_advisories([], tmp_path / "missing")


def test_the_whole_audit_with_advisories(tmp_path):
    path = str(make_wheel(tmp_path, {}, Requires_Dist=["numpy", "unknown-thing>=1"]))
    known = database(tmp_path / "db", advisory("numpy", events=OPEN))
    report = audit(path, Settings(advisories=known, bandit=False))
    assert [item.rule for item in report.failing] == ["vulnerability"]
    assert {check.name: check.state for check in report.checks}[
        "vulnerabilities"
    ] == "partly checked"


def test_not_checked_is_a_state_of_its_own(tmp_path):
    path = str(make_wheel(tmp_path, {}))
    report = audit(path, Settings(offline=True, bandit=False))
    assert report.checks[-1].state == "not checked"
    assert report.exit_code == 0
    strict = Settings(offline=True, bandit=False, require=("vulnerabilities",))
    assert audit(path, strict).exit_code == 3


def test_dependencies_that_are_unknown_are_not_checked(tmp_path):
    known = database(tmp_path / "db", advisory("numpy", events=OPEN))
    folder = tmp_path / "project"
    folder.mkdir()
    report = audit(str(folder), Settings(advisories=known, bandit=False))
    assert report.checks[-1].state == "not checked"
    (folder / "pyproject.toml").write_text('[project]\nname = "a"\nlicense = "MIT"\n')
    report = audit(str(folder), Settings(advisories=known, bandit=False))
    assert report.checks[-1].state == "checked"


ANSWER = {  # as pip-audit 2.10 gives it
    "dependencies": [
        {"name": "requests", "version": "2.19.0", "vulns": [
            {"id": "PYSEC-2018-28", "fix_versions": ["2.20.0"],
             "aliases": ["CVE-2018-18074"], "description": "sends \x1b credentials"}]},
        {"name": "Fine_Thing", "version": "1.0", "vulns": []},
        {"name": "private", "skip_reason": "Dependency not found on PyPI: private (1.0)"},
    ],
    "fixes": [],
}  # fmt: skip


def test_the_answer_of_pip_audit():
    outcome = Outcome("pip-audit")
    asked = {"requests": "2.19.0", "fine-thing": "1.0", "private": "1.0", "forgotten": "1.0"}
    parse_answer(ANSWER, asked, outcome)
    (found,) = outcome.found
    assert (found.component, found.id, found.fixed) == ("requests", "PYSEC-2018-28", ("2.20.0",))
    assert found.summary.isprintable()
    assert set(outcome.unchecked) == {"private", "forgotten"}


@pytest.fixture
def osv():
    """A server that answers like OSV's; ``answers`` maps names to advisories."""
    answers = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            query = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            found = answers.get(query["package"]["name"])
            if found == "broken":
                self.send_response(500)
                self.end_headers()
                return
            if found == "silent":
                release.wait(30)
                return
            body = json.dumps({"vulns": found} if found else {}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    release = threading.Event()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    answers["url"] = f"http://127.0.0.1:{server.server_port}/v1/query"
    yield answers
    release.set()
    server.shutdown()
    server.server_close()
    thread.join()


CANARY = [advisory("jinja2", events=OPEN)]


def ask(osv, seconds=20.0):
    parts = [component("suspect", "1.0"), component("nameless", None)]
    return check_index(parts, service="osv", url=osv["url"], seconds=seconds)


@needs_pip_audit
def test_pip_audit_finds_what_an_index_knows(osv):
    osv["jinja2"] = CANARY
    osv["suspect"] = [advisory(events=SPAN, summary="bad")]
    outcome = ask(osv)
    assert [(item.component, item.id, item.fixed) for item in outcome.found] == [
        ("suspect", "PYSEC-1", ("2.0",))
    ]
    assert set(outcome.unchecked) == {"nameless"}


@needs_pip_audit
def test_a_package_without_vulnerabilities_is_checked(osv):
    osv["jinja2"] = CANARY
    outcome = ask(osv)
    assert outcome.found == []
    assert set(outcome.unchecked) == {"nameless"}


@needs_pip_audit
def test_an_index_that_knows_nothing_checks_nothing(osv):
    outcome = ask(osv)
    assert "no advisories" in outcome.unchecked["suspect"]


@needs_pip_audit
def test_an_index_that_fails_checks_nothing(osv):
    osv["jinja2"] = "broken"
    assert "pip-audit failed" in ask(osv).unchecked["suspect"]


@needs_pip_audit
def test_an_index_that_is_silent_is_not_waited_for(osv):
    osv["jinja2"] = "silent"
    assert "suspect" in ask(osv, seconds=3.0).unchecked


@needs_pip_audit
def test_an_index_out_of_reach_checks_nothing():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    outcome = check_index([component("suspect", "1.0")], service="osv", url=url, seconds=20)
    assert "pip-audit failed" in outcome.unchecked["suspect"]


def test_without_pip_audit(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    outcome = check_index([component("suspect", "1.0")])
    assert "pip install 'ludus-gym[audit]'" in outcome.unchecked["suspect"]
