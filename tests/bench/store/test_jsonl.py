"""Results as lines of JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ludus.bench.store import open_store
from ludus.bench.store.jsonl import LONGEST_LINE, read_file
from ludus.bench.store.rows import OWN_FIELDS, prepare, restore
from ludus.errors import StoreError
from tests.bench.stating import some_key, stated
from tests.bench.store.support import make_many, make_result


@pytest.fixture
def store(url):
    with open_store(url) as opened:
        yield opened


def line(**changes):
    return json.dumps({**make_result().to_dict(), **changes})


def test_out_and_in_again(store, tmp_path):
    given = [*make_many(range(500)), make_result(agent="ü\n'\"", reason=None)]
    store.add(given)
    store.add_statements(stated([replace(given[-1], verified="verified")]))
    path = tmp_path / "out.jsonl"
    assert store.export_jsonl(path) == 501
    with open_store(tmp_path / "other.sqlite") as other:
        assert other.import_jsonl(path) == 501
        assert list(other.results()) == list(store.results())
        assert other.statements() == store.statements()
        assert other.import_jsonl(path) == 0
        assert other.export_jsonl(tmp_path / "again.jsonl") == 501
    assert (tmp_path / "again.jsonl").read_bytes() == path.read_bytes()
    assert {one.name for one in tmp_path.glob(".*")} == set()


def test_a_file_cannot_verify_anything(store, tmp_path):
    path = tmp_path / "in.jsonl"
    lines = (line(id=mark, verified=mark) for mark in ("verified", "unverified", "failed"))
    path.write_text("\n".join(lines))
    assert store.import_jsonl(path) == 3
    assert {one.verified for one in store.results()} == {"claimed"}


def test_a_statement_in_a_file_counts_for_those_who_trust_its_key(url, tmp_path):
    one = make_result(verified="verified")
    path = tmp_path / "in.jsonl"
    (statement,) = stated([one])
    path.write_text(f"{line()}\n{statement.to_bytes().decode()}")
    for key, mark in (("bob", "claimed"), ("ada", "verified")):
        with open_store(url, trusted_keys=[some_key(key).public]) as store:
            store.import_jsonl(path)
            assert [found.verified for found in store.results()] == [mark]


def test_some_are_exported(store, tmp_path):
    store.add(make_many(range(100)))
    count = store.export_jsonl(tmp_path / "out", agent="agent-1", outcome="scored")
    rows = [json.loads(text) for text in (tmp_path / "out").read_text().splitlines()]
    assert len(rows) == count > 0
    assert {(row["agent"], row["outcome"]) for row in rows} == {("agent-1", "scored")}


def test_an_export_is_whole_or_not_there(store, tmp_path, monkeypatch):
    store.add(make_many(range(10)))
    path = tmp_path / "out.jsonl"
    path.write_text("precious")

    def torn(**_):
        yield from make_many(range(5))
        raise StoreError("the server is gone")

    monkeypatch.setattr(store, "results", torn)
    with pytest.raises(StoreError, match="gone"):
        store.export_jsonl(path)
    assert path.read_text() == "precious"
    assert [one.name for one in tmp_path.iterdir() if "sqlite" not in one.name] == ["out.jsonl"]


def test_an_export_that_cannot_be_written(store, tmp_path):
    with pytest.raises(StoreError, match="cannot be written"):
        store.export_jsonl(tmp_path / "missing" / "out.jsonl")


HOSTILE = {
    "not JSON": ("{", "no JSON, at character 2"),
    "not an object": ("[1, 2]", "a result is a JSON object"),
    "nothing": ("null", "a result is a JSON object"),
    "NaN": (line(score=float("nan")), "NaN is no JSON"),
    "infinite": (line().replace("21.5", "1e999"), "finite"),
    "infinite inside": (line().replace("20.0", "-1e999"), "finite"),
    "a text for a score": (line(score="21.5"), "score"),
    "true for a seed": (line(seed=True), "seed"),
    "a seed that is too large": (line(seed=2**63), "seed"),
    "a number of very many digits": (line().replace("21.5", "9" * 5_000), "digits"),
    "deep": (
        line().replace('"curve"', '"a": ' + "[" * 100_000 + "]" * 100_000 + ', "curve"'),
        "deep",
    ),
    "deeper than a result": (line(extra=json.loads("[" * 40 + "]" * 40)), "extra"),
    "an unknown field": (line(more=1), "unknown"),
    "a missing field": (json.dumps({"id": "x"}), "lacks"),
    "NUL": (line(agent="a\0b"), "NUL"),
    "half a character": (line(agent="\ud800"), "surrogate"),
    "no UTF-8": (b'{"id": "\xff"}', "utf-8"),
    "a name that is too long": (line(run="x" * 301), "301 characters"),
    "a path outside": (line(record="../../etc/passwd"), "record"),
    "an unknown outcome": (line(outcome="won"), "outcome"),
    "a list for a name": (line(agent=["x"]), "agent"),
    "a list for an outcome": (line(outcome=["scored"]), "outcome"),
    "a statement of another form": (line(findings=[]), "JSON object with the fields"),
    "a line without end": ("x" * (LONGEST_LINE + 10), "longer than"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_lines(case, tmp_path):
    text, words = HOSTILE[case]
    path = tmp_path / "in.jsonl"
    hostile = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    path.write_bytes(line(id="good").encode() + b"\n\n" + hostile + b"\n" + line(id="x").encode())
    with (
        open_store(tmp_path / "a.sqlite") as store,
        pytest.raises(StoreError, match=f"(?i)in.jsonl, line 3: .*{words}") as caught,
    ):
        store.import_jsonl(path)
    assert len(str(caught.value)) < 1_000
    with open_store(tmp_path / "a.sqlite") as store:
        assert list(store.results()) == []


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(field=st.sampled_from(sorted(make_result().to_dict())), junk=JUNK)
def test_whatever_is_in_a_field_is_taken_or_refused(field, junk, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    path.write_text(line(**{field: junk}))
    try:
        (found,) = read_file(path)
    except StoreError as problem:
        message = str(problem)
    else:
        row = prepare(found)
        assert restore(row.run, row.series, [row.row[name] for name in OWN_FIELDS]) == found
        return
    assert "fuzz.jsonl, line 1: " in message


def test_a_key_twice_in_a_line(store, tmp_path):
    """Other readers of JSON take the first of the two."""
    path = tmp_path / "in.jsonl"
    path.write_text(line().replace("{", '{"score": 500.0, ', 1))
    with pytest.raises(StoreError, match="line 1: the key 'score' occurs twice in an object"):
        store.import_jsonl(path)


def test_an_import_that_is_interrupted_goes_on(store, tmp_path):
    given = list(make_many(range(30)))
    path = tmp_path / "in.jsonl"
    store.add([replace(given[25], steps=1)])
    path.write_text("\n".join(json.dumps(one.to_dict()) for one in given))
    with pytest.raises(StoreError, match="other content"):
        store.import_jsonl(path)
    path.write_text("\n".join(json.dumps(one.to_dict()) for one in given if one is not given[25]))
    assert store.import_jsonl(path) == 29


def test_no_file(store, tmp_path):
    with pytest.raises(StoreError, match="cannot be read"):
        store.import_jsonl(tmp_path / "missing")
    with pytest.raises(StoreError, match="cannot be read"):
        store.import_jsonl(tmp_path)
