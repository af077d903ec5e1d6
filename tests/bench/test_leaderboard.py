"""Leaderboards: the order, what it rests on, and what is kept apart."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.bench.planning.suite import load_suite
from ludus.bench.store import open_store
from ludus.bench.store.board import BoardScale, tally_results
from ludus.bench.store.leaderboard import bundled_scale, make_boards
from ludus.errors import BenchError
from tests.bench.stating import some_key, stated
from tests.bench.store.support import make_many, make_result


def boards(*results, references=None, lower=(), floors=None, **options):
    scale = BoardScale(references or {}, lower, floors or {})
    rows = [replace(one, id=str(n)) for n, one in enumerate(results)]
    tallies = tally_results(rows, lambda *_: scale)
    return make_boards(tallies, scale=lambda *_: scale, **options)


def board(*results, **options):
    (only,) = boards(*results, **options)
    return only


def scored(agent, score, env="A-v0", **changes):
    return make_result(**{"agent": agent, "score": score, "env": env, "suite": "mine", **changes})


def fault(agent, env="A-v0", outcome="agent_fault", **changes):
    return make_result(
        **{"agent": agent, "env": env, "outcome": outcome, "suite": "mine", **changes}
    )


def order(found):
    return [(row.position, row.agent, row.value) for row in found.rows]


def test_mean_rank_is_not_the_mean_of_scores():
    found = board(
        scored("steady", 2.0),
        scored("steady", 2.0, "B-v0"),
        scored("lucky", 1.0),
        scored("lucky", 1_000.0, "B-v0"),
        scored("poor", 0.0),
        scored("poor", 1.0, "B-v0"),
    )
    assert found.ranked_by == "mean rank"
    assert order(found) == [(1, "lucky", 1.5), (1, "steady", 1.5), (3, "poor", 3.0)]


def test_equals_share_a_rank():
    found = board(scored("a", 1.0), scored("b", 1.0), scored("c", 2.0), scored("d", 0.0))
    assert order(found) == [(1, "c", 1.0), (2, "a", 2.5), (2, "b", 2.5), (4, "d", 4.0)]


def test_normalised_scores_decide_if_all_references_are_given():
    results = [
        scored("a", 5.0),
        scored("a", 90.0, "B-v0"),
        scored("b", 10.0),
        scored("b", 10.0, "B-v0"),
    ]
    found = board(*results, references={"A-v0": (0.0, 10.0), "B-v0": (0.0, 100.0)})
    assert found.ranked_by == "normalised score"
    assert order(found) == [(1, "a", pytest.approx(0.7)), (2, "b", pytest.approx(0.55))]
    found = board(*results, references={"A-v0": (0.0, 10.0)})
    assert found.ranked_by == "mean rank"
    assert "no reference for B-v0" in " ".join(found.notes)


@pytest.mark.parametrize(
    "options", [{"lower": ["A-v0"]}, {"references": {"A-v0": (10.0, 0.0)}}], ids=["rank", "scale"]
)
def test_lower_may_be_better(options):
    found = board(scored("slow", 9.0), scored("fast", 2.0), fault("fast"), **options)
    assert [row.agent for row in found.rows] == ["fast", "slow"]
    found = board(scored("slow", 9.0), scored("fast", 2.0), *[fault("fast")] * 99, **options)
    # Ranks: a fault is worth 9 there, the worst that was seen. Scale: it is worth 0.
    assert [row.agent for row in found.rows] == (
        ["fast", "slow"] if "lower" in options else ["slow", "fast"]
    )


def test_a_fault_of_the_agent_counts_as_the_worst_score():
    careful = [scored("careful", 5.0)] * 4
    quitter = [scored("quitter", 9.0), *[fault("quitter")] * 3]
    found = board(*careful, *quitter, scored("worst", 1.0))
    assert [row.agent for row in found.rows] == ["careful", "quitter", "worst"]
    row = found.rows[1]
    assert (row.results, row.scored, row.agent_faults) == (4, 1, 3)
    assert (row.scores[0].mean, row.scores[0].scored, row.scores[0].agent_faults) == (3.0, 1, 3)
    found = board(*careful, *quitter, references={"A-v0": (1.0, 9.0)})
    assert order(found) == [(1, "careful", 0.5), (2, "quitter", 0.25)]


def test_an_infrastructure_fault_says_nothing():
    unlucky = [scored("unlucky", 5.0), *[fault("unlucky", outcome="infrastructure_fault")] * 9]
    found = board(*unlucky, scored("other", 4.0), fault("ghost", outcome="infrastructure_fault"))
    assert order(found) == [(1, "unlucky", 1.0), (2, "other", 2.0), (3, "ghost", None)]
    assert (found.rows[0].scored, found.rows[0].infrastructure_faults) == (1, 9)
    assert found.rows[2].tasks == 0


def test_a_task_with_nothing_but_infrastructure_faults_is_none():
    found = board(scored("a", 1.0), fault("a", "B-v0", outcome="infrastructure_fault"))
    assert [task.env for task in found.tasks] == ["A-v0"]
    assert "B-v0" in " ".join(found.notes)


def test_only_faults():
    found = board(fault("a"), fault("b"), fault("b"))
    assert order(found) == [(1, "a", 1.5), (1, "b", 1.5)]
    assert found.rows[0].scores[0].mean is None
    json.dumps(found.to_dict(), allow_nan=False)


def test_who_lacks_a_task_stands_below():
    found = board(
        scored("picky", 100.0),
        scored("whole", 1.0),
        scored("whole", 1.0, "B-v0"),
        fault("bad", "B-v0"),
    )
    assert order(found) == [(1, "whole", 1.5), (2, "picky", 1.0), (3, "bad", 2.0)]
    assert [row.tasks for row in found.rows] == [2, 1, 1]
    assert found.rows[1].scores[1] is None


def test_budgets_do_not_meet():
    short, long = '{"episodes":1}', '{"episodes":9}'
    found = boards(scored("a", 1.0, budget=short), scored("b", 9.0, budget=long))
    assert [[row.agent for row in one.rows] for one in found] == [["a"], ["b"]]
    for one, budget in zip(found, (short, long), strict=True):
        assert {task.budget for task in one.tasks} == {budget}
        assert f"Budgets differ (A-v0), each has a board; this is {budget}." in one.notes


def test_a_budget_per_environment_is_one_board():
    found = board(
        scored("a", 1.0, budget='{"steps":1}'), scored("a", 1.0, "B-v0", budget='{"steps":2}')
    )
    assert [task.budget for task in found.tasks] == ['{"steps":1}', '{"steps":2}']
    assert found.notes == ()


def test_versions_do_not_meet():
    found = boards(scored("a", 1.0), scored("a", 2.0, suite_digest="e" * 64))
    assert len({one.suite_digest for one in found}) == len(found) == 2
    assert all("2 versions" in one.notes[0] for one in found)
    found = board(scored("a", 1.0), scored("a", 2.0, "A-v1"))
    assert [task.env for task in found.tasks] == ["A-v0", "A-v1"]
    assert "Versions differ" in found.notes[0]
    found = board(scored("a", 1.0), scored("a", 2.0, source_hash="6" * 64))
    assert found.tasks[0].sources == ("5" * 64, "6" * 64)
    assert "several sources" in found.notes[0]


def test_suites_have_their_boards():
    found = boards(scored("a", 1.0, suite="z"), scored("a", 1.0, suite="b"))
    assert [one.suite for one in found] == ["b", "z"]


def test_refuted_results_count_nowhere():
    found = board(
        scored("cheat", 1e6, verified="failed"),
        scored("cheat", 1.0),
        scored("honest", 2.0, verified="verified"),
        scored("liar", 5.0, verified="failed"),
    )
    assert order(found) == [(1, "honest", 1.0), (2, "cheat", 2.0), (3, "liar", None)]
    assert [(row.results, row.verified, row.refuted) for row in found.rows] == [
        (1, 1, 0),
        (1, 0, 1),
        (0, 0, 1),
    ]
    assert "2 results count nowhere" in " ".join(found.notes)


def test_verified_only():
    found = board(
        scored("a", 9.0),
        scored("a", 1.0, verified="verified"),
        scored("b", 5.0),
        verified_only=True,
    )
    assert [(row.agent, row.scores[0].mean) for row in found.rows] == [("a", 1.0)]
    assert "2 results are left out" in " ".join(found.notes)


def test_nothing_verified():
    found = board(scored("a", 9.0), verified_only=True)
    assert (found.rows, found.tasks, found.results) == ((), (), 0)


def test_limit_cuts_after_ranking():
    results = [scored(f"agent-{n}", float(n)) for n in range(10)]
    found = board(*results, limit=3)
    assert order(found) == [(1, "agent-9", 1.0), (2, "agent-8", 2.0), (3, "agent-7", 3.0)]
    assert (found.agents, found.results) == (10, 10)
    assert "3 of 10 agents are shown." in found.notes
    with pytest.raises(BenchError, match="at least one row"):
        board(*results, limit=0)


@pytest.mark.parametrize("pair", [(1.0, 1.0), (math.nan, 1.0), (0.0, math.inf), (0.0, 1e-200)])
def test_what_is_no_reference(pair):
    with pytest.raises(BenchError, match="of A-v0 is no scale"):
        board(scored("a", 1.0), references={"A-v0": pair})


def test_bundled_suites_bring_their_references():
    suite = load_suite("classic")
    scale = bundled_scale("classic", suite.digest)
    assert set(scale.references) == set(suite.references)
    assert bundled_scale("classic", "0" * 64) == bundled_scale("mine", suite.digest) == BoardScale()
    results = [
        make_result(suite="classic", suite_digest=suite.digest, env=env, id=env, score=one[1])
        for env, one in scale.references.items()
    ]
    (found,) = make_boards(tally_results(results))
    assert found.ranked_by == "normalised score"
    assert found.rows[0].value == pytest.approx(1.0)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 120), only=st.booleans())
def test_order_of_results_is_all_the_same(seed, count, only):
    results = list(make_many(range(seed, seed + count)))
    shuffled = random.Random(seed).sample(results, count)
    one, two = (
        make_boards(tally_results(some), verified_only=only) for some in (results, shuffled)
    )
    assert one == two
    for found in one:
        whole = [row for row in found.rows if row.tasks == len(found.tasks)]
        values = [row.value for row in whole if row.value is not None]
        assert values == sorted(values)
        assert found.results == sum(
            row.scored + row.agent_faults + row.infrastructure_faults for row in found.rows
        )


def test_a_store_gives_what_its_rows_give(tmp_path):
    """With duplicates, marks that change, faults that are made up for and batches refused."""
    rng = random.Random(1)
    keys = [some_key().public]
    with open_store(tmp_path / "a.sqlite", trusted_keys=keys) as store:
        given_ones = list(make_many(range(3_000)))
        store.add(given_ones)
        store.add(make_many(range(3_000, 4_000), run="never verified"))
        store.add(rng.sample(given_ones, 1_000))
        for _ in range(3):
            some = rng.sample(given_ones, 900)
            marks = (rng.choice(("verified", "failed")) for _ in some)
            store.add_statements(
                stated(replace(one, verified=mark) for one, mark in zip(some, marks, strict=True))
            )
        faults = [one for one in given_ones if one.outcome == "infrastructure_fault"]
        store.add(
            replace(one, outcome="scored", score=3.0, best_score=3.0, reason=None)
            for one in faults[:100]
        )
        with pytest.raises(BenchError):
            store.add([make_result(), replace(given_ones[0], steps=1, agent="agent-9")])
        for only in (False, True):
            (got,) = store.leaderboard(verified_only=only)
            (expected,) = make_boards(tally_results(store.results()), verified_only=only)
            assert [row.agent for row in got.rows] == [row.agent for row in expected.rows]
            for one, two in zip(got.rows, expected.rows, strict=True):
                assert one.scores == tuple(
                    replace(score, mean=pytest.approx(score.mean, rel=1e-12))
                    for score in two.scores
                )
                assert replace(one, scores=()) == replace(
                    two, scores=(), value=pytest.approx(two.value)
                )
            assert (got.tasks, got.results, got.notes) == (
                expected.tasks,
                expected.results,
                expected.notes,
            )
