"""Rules, findings and reports, as the checks of environments, packages and tasks share them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ludus.audit.rules
import ludus.checking.rules
import ludus.research.linting.rules
from ludus.findings import Rule, RuleBook

BOOK = RuleBook(
    ("mild", "grave"),
    [Rule("a", "mild", "A is kept.", "Do a."), Rule("b", "grave", "B is kept.", "Do b.")],
    {"what": "message", "file": "path"},
)
BOOKS = [ludus.audit.rules.BOOK, ludus.checking.rules.BOOK, ludus.research.linting.rules.BOOK]


def test_a_finding_takes_from_its_rule_what_is_not_given():
    found = BOOK.finding("a", path="x.py", line=3)
    assert (found.severity, found.message, found.advice) == ("mild", "A is kept.", "Do a.")
    assert (found.place, str(found)) == ("x.py:3", "x.py:3: mild [a] A is kept. Do a.")
    own = BOOK.finding("a", "", severity="grave", advice="Wait.")
    assert (own.severity, own.message, own.advice, own.place) == ("grave", "", "Wait.", "")
    with pytest.raises(KeyError):
        BOOK.finding("c")


def test_a_rule_of_another_tool_is_told_by_its_first_part():
    assert BOOK.rule_of(BOOK.finding("b:17")) is BOOK.rules["b"]


def test_a_report_fails_on_open_findings_that_are_severe_enough():
    mild, grave = BOOK.finding("a"), BOOK.finding("b")
    assert sorted([mild, grave], key=BOOK.order) == [grave, mild]
    assert BOOK.report("x", [mild]).ok
    assert not BOOK.report("x", [mild], fail_on="mild").ok
    report = BOOK.report("x", [mild, grave], ["c not checked"])
    assert (report.failing, report.counts) == ((grave,), {"mild": 1, "grave": 1})
    accepted = BOOK.report("x", [mild, replace(grave, accepted="known")])
    assert (accepted.ok, accepted.open, accepted.counts["grave"]) == (True, (mild,), 0)
    with pytest.raises(ValueError, match="never.*mild"):
        BOOK.report("x", [], fail_on="never")


def test_reports_as_data_and_text():
    report = BOOK.report("x", [BOOK.finding("a", "No a.", "f")], ["b not checked"])
    rows = [{"what": "No a.", "file": "f"}]
    assert report.to_dict() == {
        "subject": "x",
        "ok": True,
        "findings": rows,
        "notes": ["b not checked"],
    }
    head, row, advice, note = str(report).splitlines()
    assert head == "x: 0 graves, 1 milds"
    assert row.split() == ["mild", "a", "No", "a."]
    assert advice.strip() == "→ Do a."
    assert note.split() == ["note", "b", "not", "checked"]


@pytest.mark.parametrize("book", BOOKS)
def test_every_rule_has_a_severity_of_its_book_and_an_advice(book):
    for id, rule in book.rules.items():
        assert (rule.id, rule.severity in book.severities) == (id, True)
        assert rule.meaning
        assert rule.advice
