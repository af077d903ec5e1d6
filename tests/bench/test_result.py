from __future__ import annotations

import json
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.bench.result import Result
from tests.bench.some_results import result

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@given(
    score=NUMBERS,
    seed=st.integers(0, 2**63 - 1),
    agent=TEXTS,
    extra=st.dictionaries(TEXTS, PLAIN, max_size=4),
)
def test_survives_json(score, seed, agent, extra):
    one = result(score=score, seed=seed, agent=agent, extra=extra)
    again = Result.from_dict(json.loads(json.dumps(one.to_dict())))
    assert (again, again.digest) == (replace(one, verified="claimed"), one.digest)


def test_no_file_makes_a_result_verified():
    one = result(verified="verified")
    assert "verified" not in one.to_dict()
    assert Result.from_dict({**one.to_dict(), "verified": "verified"}).verified == "claimed"


@pytest.mark.parametrize("name", [one.name for one in fields(Result) if one.name != "verified"])
def test_the_digest_covers_every_field(name):
    """Texts get longer, numbers larger; what is checked together is changed together."""
    one = result(source_hash="5" * 64, record="records/x", head="a" * 64)
    value = getattr(one, name)
    changes = {
        "outcome": {"outcome": "agent_fault", "score": None, "reason": "x"},
        "reason": {"outcome": "agent_fault", "score": None, "reason": "x"},
        "budget": {"budget": '{"episodes":11}'},
        "head": {"head": "b" * 64},
        "created": {"created": "2026-02-01T00:00:00Z"},
        "extra": {"extra": {"returns": [99.0, 101.5]}},
    }
    change = changes.get(name) or {name: value + (1 if isinstance(value, int | float) else "x")}
    assert replace(one, **change).digest != one.digest
    assert replace(one, verified="failed").digest == one.digest


def test_fields_are_in_order_and_plain():
    data = result().to_dict()
    assert list(data)[:4] == ["id", "run", "suite", "suite_digest"]
    assert data["extra"] == {"returns": [99.0, 101.0]}


def test_the_dict_is_a_copy():
    one = result(extra={"returns": [1.0]})
    one.to_dict()["extra"]["returns"].append(2.0)
    assert one.extra == {"returns": [1.0]}


def test_crosses_processes_and_is_hashable():
    one = result()
    assert pickle.loads(pickle.dumps(one)) == one
    assert len({one, result()}) == 1


def test_numpy_numbers_become_pythons():
    one = result(
        score=np.float32(0.5), seed=np.int64(3), extra={"a": np.int64(2), "b": (np.float64(1),)}
    )
    assert (type(one.score), type(one.seed)) == (float, int)
    assert json.dumps(one.extra) == '{"a": 2, "b": [1.0]}'


def test_equal_budgets_are_equal_texts():
    one = result(budget='{ "max_steps": null, "episodes": 10 }')
    assert one.budget == '{"episodes":10,"max_steps":null}'
    assert result(budget=one.budget).budget == one.budget


def test_any_reason_can_be_kept():
    one = result(outcome="agent_fault", reason="bad \x00 and \udc80")
    assert one.reason == "bad \ufffd and \ufffd"


def test_a_fault_may_keep_its_best_attempt():
    assert result(outcome="agent_fault", best_score=3.0).best_score == 3.0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("run", None),
        ("agent", "a\x00b"),
        ("env", "a\udc80"),
        ("seed", -1),
        ("seed", 2**63),
        ("seed", True),
        ("seed", 1.0),
        ("steps", "3"),
        ("episodes", None),
        ("outcome", "won"),
        ("outcome", ["scored"]),
        ("score", float("nan")),
        ("score", float("inf")),
        ("score", "1"),
        ("score", True),
        ("best_score", 10**400),
        ("seconds", -1.0),
        ("cost", float("inf")),
        ("budget", "{"),
        ("budget", "[]"),
        ("budget", "10"),
        ("budget", '{"a":NaN}'),
        ("budget", "[" * 100_000),
        ("source_hash", ""),
        ("record", "/etc/passwd"),
        ("record", "../other"),
        ("record", "a/../../b"),
        ("record", "a\\b"),
        ("head", "b" * 63),
        ("head", "B" * 64),
        ("created", "yesterday"),
        ("created", "2026-01-31T12:00:00"),
        ("created", "2026-01-31T12:00:00+01:00"),
        ("extra", [1]),
        ("extra", {"a": float("nan")}),
        ("extra", {"a": object()}),
        ("extra", {"a": {1: 2}}),
        ("extra", {"a": b"bytes"}),
    ],
)
def test_a_wrong_field_is_named(field, value):
    with pytest.raises(ValueError, match=f"result's {field} is wrong"):
        Result.from_dict({**result().to_dict(), field: value})


def test_deep_nesting_is_refused():
    deep: object = 0
    for _ in range(50):
        deep = [deep]
    with pytest.raises(ValueError, match="extra is wrong: it is nested deeper"):
        result(extra={"a": deep})


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"score": None, "best_score": 1.0}, "needs score"),
        ({"best_score": None}, "needs score and best_score"),
        ({"reason": "why"}, "has no reason"),
        ({"outcome": "agent_fault", "reason": None}, "needs a reason"),
        ({"outcome": "agent_fault", "reason": ""}, "needs a reason"),
        ({"outcome": "infrastructure_fault", "best_score": 1.0}, "infrastructure fault"),
    ],
)
def test_outcome_and_score_agree(changes, match):
    with pytest.raises(ValueError, match=match):
        result(**changes)


def test_a_fault_has_no_score():
    data = result(outcome="agent_fault").to_dict()
    with pytest.raises(ValueError, match="'agent_fault' has no score"):
        Result.from_dict({**data, "score": 0.0})


def test_missing_and_unknown_fields_are_named():
    data = result().to_dict()
    del data["seed"]
    with pytest.raises(ValueError, match=r"lacks the fields \['seed'\].*unknown ones \['sead'\]"):
        Result.from_dict({**data, "sead": 1})
    with pytest.raises(ValueError, match="JSON object"):
        Result.from_dict([])
