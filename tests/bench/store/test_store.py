"""A store on SQLite and on PostgreSQL: the same tests."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import SQLAlchemyError

from ludus.bench.planning.suite import suite_from
from ludus.bench.store import open_store
from ludus.bench.store.rows import LARGEST_EXTRA
from ludus.bench.store.store import Store
from ludus.bench.store.tables import statements
from ludus.errors import StoreError
from tests.bench.stating import some_key, stated
from tests.bench.store.support import make_many, make_result

ODD_NAMES = (
    "'; DROP TABLE ludus_results; --",
    "double \" and single '",
    "%s %(name)s :name ? {0} \\",
    "line\nbreak\ttab\x1b[31m",
    "ünïcödé 名前 🎲 \u202e\u2066",
    "\ufeff\uffff\U0010ffff",
    " ",
    "NULL",
    "é",
    "e\u0301",
    "A",
    "a",
    "x" * 300,
    "🎲" * 300,
)


@pytest.fixture
def store(url):
    with open_store(url) as opened:
        yield opened


def test_results_come_back_as_they_were(store):
    given = [
        make_result(
            id="b", score=-0.1 + 1e-17, seed=2**63 - 1, extra={"a": {"ü": [1, None, True]}}
        ),
        make_result(id="a", outcome="agent_fault", reason="it said \ufffd\n", best_score=3.0),
        make_result(id="c", run="another", outcome="infrastructure_fault", record=None, head=None),
        make_result(id="d", source_hash=None, seconds=1e100, extra={}),
        make_result(id="e", score=5e-324, cost=0.1),
    ]
    assert store.add(given) == 5
    assert list(store.results()) == sorted(given, key=lambda one: (one.run, one.id))


def test_nothing_is_an_empty_store(store):
    assert store.add([]) == 0
    assert list(store.results()) == []
    assert store.runs() == []
    assert store.statements() == []
    assert store.leaderboard() == []


def test_the_same_again_is_passed_over(store):
    given = list(make_many(range(50)))
    assert store.add(given[:30]) == 30
    assert store.add(given + given) == 20
    assert store.add(given, batch=7) == 0
    assert len(list(store.results())) == 50


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"score": 22.5}, "score is 21.5 there and 22.5 here"),
        ({"agent": "other"}, "agent is 'random' there and 'other' here"),
        ({"extra": {"returns": [1.0]}}, "extra is "),
        ({"created": "2026-02-01T00:00:00Z"}, "created is "),
        ({"outcome": "agent_fault"}, "outcome is 'scored' there and 'agent_fault' here"),
    ],
)
def test_other_content_is_refused_and_both_are_named(store, change, words):
    first = make_result()
    store.add([first])
    with pytest.raises(StoreError, match="result 'unit' of run 'first' is in the store") as caught:
        store.add([make_result(id="new"), make_result(**change)])
    assert words in str(caught.value)
    assert list(store.results()) == [first]


def test_other_content_in_one_batch_is_refused(store):
    with pytest.raises(StoreError, match=r"twice in one batch.*score is 21\.5 there and 1\.0 here"):
        store.add([make_result(), make_result(score=1.0)])
    assert list(store.results()) == []


def test_batches_before_a_refused_one_stay(store):
    given = list(make_many(range(10)))
    with pytest.raises(StoreError):
        store.add([make_result(), *given, make_result(score=1.0)], batch=5)
    assert len(list(store.results())) == 10
    assert store.add(given) == 1  # the one beside the refused


def test_the_same_id_in_another_run_is_another_result(store):
    store.add([make_result(), make_result(run="second", score=1.0)])
    assert [one.score for one in store.results()] == [21.5, 1.0]


def test_a_result_takes_the_place_of_an_infrastructure_fault(store):
    early = make_result(outcome="infrastructure_fault", reason="no room")
    late = make_result(
        outcome="infrastructure_fault", reason="no power", created="2026-01-31T12:00:01+00:00"
    )
    scored = make_result(agent="random", source_hash="6" * 64)
    assert store.add([late]) == 1
    assert store.add([early]) == 0
    assert list(store.results()) == [late]
    assert store.add([scored]) == 1
    assert store.add([early, late, scored]) == 0
    assert list(store.results()) == [scored]
    with pytest.raises(StoreError, match="other content"):
        store.add([make_result(score=0.0)])


def test_the_place_is_taken_within_a_batch_too(store):
    early = make_result(outcome="infrastructure_fault")
    scored = make_result()
    assert store.add([early, scored, early]) == 1
    assert list(store.results()) == [scored]


def test_filters(store):
    given = list(make_many(range(300)))
    given += make_many(range(40), run="other")
    given += [make_result(suite="another")]
    store.add(given)
    for wanted in (
        {"run": "other"},
        {"agent": "agent-3"},
        {"env": "Env1-v0", "outcome": "agent_fault"},
        {"suite": "classic", "verified": "verified", "run": "many"},
        {"suite": "another"},
        {"agent": "nobody"},
        {"outcome": "infrastructure_fault"},
    ):
        found = list(store.results(**wanted))
        assert sorted(found, key=repr) == sorted(
            (one for one in given if all(getattr(one, key) == wanted[key] for key in wanted)),
            key=repr,
        )


def test_runs(store):
    store.add(make_many(range(100), run="b"))
    store.add([make_result(run="a"), make_result(run="a", id="2", created="2026-03-01T00:00:00Z")])
    first, second = store.runs()
    assert (first.run, first.results, first.suites, first.agents) == (
        "a",
        2,
        ("classic",),
        ("random",),
    )
    assert (first.first, first.last) == ("2026-01-31T12:00:00Z", "2026-03-01T00:00:00Z")
    assert (second.run, second.results, len(second.agents), len(second.envs)) == ("b", 100, 7, 5)


def marked(store, *keys):
    """Return what the results of a store count as, for whoever trusts these keys."""
    trusting = Store(store._database, [key.public for key in keys])
    return {one.id: one.verified for one in trusting.results()}


def test_statements_of_trusted_keys_decide_what_a_result_counts_as(store):
    good, bad, other = (make_result(id=name) for name in ("good", "bad", "other"))
    store.add([good, bad, other])
    ada, bob = some_key("ada"), some_key("bob")
    store.add_statements(
        stated([replace(good, verified="verified"), replace(bad, verified="failed")], ada)
    )
    assert marked(store) == dict.fromkeys(("good", "bad", "other"), "claimed")
    assert marked(store, bob) == marked(store)
    assert marked(store, ada, bob) == {"good": "verified", "bad": "failed", "other": "claimed"}
    store.add_statements(stated([replace(good, verified="failed")], bob))
    assert marked(store, ada)["good"] == "verified"
    assert marked(store, ada, bob)["good"] == "failed"


def test_the_newest_statement_of_a_key_counts_and_covered_ones_are_dropped(store):
    one, two = make_result(id="1"), make_result(id="2")
    store.add([one, two])
    for verdicts in (("verified", "failed"), ("failed", "verified")):
        pairs = zip((one, two), verdicts, strict=True)
        store.add_statements(stated(replace(result, verified=mark) for result, mark in pairs))
    store.add_statements(store.statements())
    assert len(store.statements(run="first")) == 1
    assert marked(store, some_key()) == {"1": "failed", "2": "verified"}
    store.add_statements(stated([replace(one, verified="verified")]))
    assert len(store.statements()) == 2
    assert marked(store, some_key()) == {"1": "verified", "2": "verified"}


def test_a_statement_that_was_changed_is_refused(store):
    store.add([make_result()])
    (statement,) = stated([make_result(verified="failed")])
    lie = replace(statement, findings=(replace(statement.findings[0], verdict="verified"),))
    with pytest.raises(StoreError, match="was not signed by SHA256"):
        store.add_statements([lie])
    assert store.statements() == []


def test_rows_that_somebody_changed_are_not_verified_any_more(store):
    store.add([make_result()])
    store.add_statements(stated([make_result(verified="verified")]))
    assert marked(store, some_key()) == {"unit": "verified"}
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE ludus_results SET score = 500, best_score = 500")
    assert marked(store, some_key()) == {"unit": "claimed"}
    trusting = Store(store._database, [some_key().public])
    assert [(one.verified, one.total) for one in trusting.tallies()] == [("claimed", 500.0)]
    (board,) = trusting.leaderboard(verified_only=True)
    assert board.rows == ()


def test_what_is_no_statement_is_passed_over(store):
    store.add([make_result()])
    (statement,) = stated([make_result(verified="verified")])
    store.add_statements([statement])
    with store._database.writing() as connection:
        for number, content in enumerate((b"", b"{}", b"[" * 100_000, b"\xff")):
            row = {"digest": bytes([number]), "run": "first", "content": content}
            connection.execute(insert(statements), {**row, "public_key": statement.public_key})
    assert store.statements() == [statement]
    assert marked(store, some_key()) == {"unit": "verified"}


@pytest.mark.parametrize("field", ["run", "id", "agent", "env", "suite"])
def test_odd_names(store, field):
    given = [make_result(**{field: name}) for name in ODD_NAMES]
    if field != "run":
        given = [make_result(run=str(n), **{field: name}) for n, name in enumerate(ODD_NAMES)]
    assert store.add(given) == len(ODD_NAMES)
    assert store.add(given) == 0
    found = sorted(getattr(one, field) for one in store.results())
    assert found == sorted(ODD_NAMES)
    if field != "id":
        for name in ODD_NAMES:
            assert [getattr(one, field) for one in store.results(**{field: name})] == [name]


def test_runs_and_ids_are_ordered_by_code_point(store):
    names = ["b", "B", "a", "ä", "Z", "_", "🎲", "\uffff"]
    store.add(make_result(run=run, id=id) for run in names for id in names)
    pairs = [(one.run, one.id) for one in store.results()]
    assert pairs == sorted(pairs)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"run": "x" * 301}, "run .* has 301 characters"),
        ({"agent": "x" * 10_000}, "agent .* has 10000 characters"),
        ({"reason": "x" * (2 << 20), "outcome": "agent_fault"}, "reason"),
        ({"score": 1e101}, "beyond"),
        ({"cost": 1e200}, "beyond"),
        ({"extra": {"x": "y" * LARGEST_EXTRA}}, "keep large data in the run's record"),
    ],
)
def test_what_is_too_large(store, change, words):
    with pytest.raises(StoreError, match=words):
        store.add([make_result(**change)])
    assert list(store.results()) == []


def test_only_results_are_taken(store):
    for wrong in (None, {"id": "x"}, "result"):
        with pytest.raises(StoreError, match="A store holds results"):
            store.add([wrong])
    with pytest.raises(StoreError, match="at least one"):
        store.add([], batch=0)


def test_a_failing_source_leaves_whole_batches(store):
    def source():
        yield from make_many(range(25))
        raise KeyError("source")

    with pytest.raises(KeyError, match="source"):
        store.add(source(), batch=10)
    assert len(list(store.results())) == 20


def test_reading_sees_one_moment_and_does_not_hold_writers_up(store):
    store.add(make_many(range(2_000)))
    reading = store.results()
    next(reading)
    store.add(make_many(range(2_000, 2_100)))
    assert len(list(reading)) == 1_999
    assert len(list(store.results())) == 2_100


def test_reading_holds_little_in_memory(store):
    extra = {"text": "x" * 20_000}
    store.add(make_result(id=str(number), extra=extra) for number in range(600))
    tracemalloc.start()
    try:
        count = sum(1 for _ in store.results())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 600
    assert peak < 6e6  # the texts alone are 12 MB


def test_a_closed_store(store):
    store.close()
    store.close()
    for call in (lambda: store.add([make_result()]), lambda: list(store.results()), store.runs):
        with pytest.raises(StoreError, match="closed"):
            call()


def test_damaged_rows_are_told(store, url):
    store.add([make_result()])
    with store._database.writing() as connection:
        connection.exec_driver_sql("UPDATE ludus_results SET created = 'yesterday'")
    with pytest.raises(StoreError, match="result 'unit' of run 'first' is damaged"):
        list(store.results())


def test_the_database_checks_too(store):
    store.add([make_result()])
    for change in (
        "outcome = 'won'",
        "score = NULL",
        "verified = 'yes'",
        "run = 99",
        "series = 99",
    ):
        with (
            pytest.raises(StoreError) as caught,
            store._database.writing() as connection,
        ):
            connection.exec_driver_sql(f"UPDATE ludus_results SET {change}")
        assert isinstance(caught.value.__cause__, SQLAlchemyError)
    assert list(store.results()) == [make_result()]


def test_password_is_never_shown(store):
    assert "s3cret" not in f"{store!r} {store.name} {vars(store)}"


def test_floors_suites_and_copies(store):
    """A fault counts as the floor of the suite that is kept, a copy not at all."""
    row = {"id": "CartPole-v1", "reference": {"min": 20, "max": 500, "source": "x"}, "floor": -100}
    own = suite_from({"name": "mine", "budget": {"episodes": 1}, "environments": [row]}, "test")
    about = {"suite": "mine", "suite_digest": own.digest}
    rows = [
        make_result(id="a", score=-900.0, **about),
        make_result(id="b", score=300.0, **about),
        make_result(id="b", score=300.0, run="copy", **about),
        make_result(id="c", outcome="agent_fault", **about),
    ]
    store.add(rows)
    store.add_suite(own)
    store.add_suite(own)
    (board,) = store.leaderboard()
    (found,) = board.rows
    assert (found.scored, found.agent_faults) == (2, 1)
    assert found.scores[0].mean == pytest.approx((-100 + 300 - 100) / 3)
    assert found.value == pytest.approx((100 / 3 - 20) / 480)
