from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ludus
from ludus.core.vector_env import AutoresetMode
from ludus.errors import DependencyNotInstalled, RecordDamaged, RecordError, ReplayImpossible
from ludus.interop.parquet import export_parquet, import_parquet, layout
from ludus.record import (
    RecordEpisodes,
    Run,
    RunReader,
    episodes,
    generate_key,
    load_signing_key,
    read_run,
    verify,
)
from ludus.record.format import canonical
from ludus.spaces import Box, Discrete, Graph, Sequence
from tests.interop.recorded import (
    SPACES,
    record_single,
    record_vector,
    same,
    shown,
    shown_vector,
)

MODES = list(AutoresetMode)
MORE = {
    **SPACES,
    "sequence": Sequence(Discrete(3)),
    "graph": Graph(Box(0, 1, (2,), np.float32), None),
    "nothing": Box(0, 1, (0, 2), np.float32),
}


def hashes(reader: RunReader) -> list[str]:
    """Return the hash of every block."""
    return [event.data["sha256"] for event in reader.events if event.kind == "block"]


def events(reader: RunReader) -> list[Any]:
    kept = [event for event in reader.events if event.kind in ("reset", "result")]
    return [(event.kind, canonical.dumps(event.data)) for event in kept]


def columns(reader: RunReader) -> list[dict[str, Any]]:
    return [{name: np.array(block[name]) for name in sorted(block)} for block in reader.blocks()]


def there_and_back(folder: Path, **options: Any) -> tuple[RunReader, RunReader]:
    export_parquet(folder / "run", folder / "run.parquet", **options)
    import_parquet(folder / "run.parquet", folder / "back")
    return read_run(folder / "run"), read_run(folder / "back")


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("name", MORE)
def test_rows_come_back_to_the_bit(name: str, stored: bool, tmp_path: Path) -> None:
    env = shown(MORE[name], MORE[name])
    record_single(env, tmp_path / "run", 40, observations=stored, block_rows=9)
    old, new = there_and_back(tmp_path)
    assert new.rows == 40
    assert same(columns(old), columns(new))
    assert events(old) == events(new)
    assert str(list(episodes(old))) == str(list(episodes(new)))
    assert old.manifest["subject"] == new.manifest["subject"]


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["box", "discrete", "dict", "text", "sequence"])
def test_batches_come_back_to_the_bit(
    name: str, mode: AutoresetMode, stored: bool, tmp_path: Path
) -> None:
    env = shown_vector(MORE[name], mode)
    record_vector(env, tmp_path / "run", 40, observations=stored, block_rows=9)
    old, new = there_and_back(tmp_path)
    assert same(columns(old), columns(new))
    assert events(old) == events(new)
    assert str(list(episodes(old))) == str(list(episodes(new)))


@pytest.mark.parametrize("mode", MODES)
def test_what_comes_back_can_be_verified(mode: AutoresetMode, tmp_path: Path) -> None:
    env = ludus.make_vec("CartPole-v1", 4, autoreset_mode=mode)
    record_vector(env, tmp_path / "run", 60, block_rows=17)
    old, new = there_and_back(tmp_path)
    assert hashes(old) == hashes(new)
    assert verify(tmp_path / "back").passed
    origin = new.manifest["imported"]["origin"]
    assert (origin["run"], origin["head"]) == (old.manifest["id"], old.head)
    assert new.manifest["provenance"] == old.manifest["provenance"]


def test_observations_can_be_recomputed_or_left_out(tmp_path: Path) -> None:
    env = ludus.make_vec("CartPole-v1", 3, autoreset_mode=AutoresetMode.SAME_STEP)
    record_vector(env, tmp_path / "run", 50, block_rows=17)
    env = ludus.make_vec("CartPole-v1", 3, autoreset_mode=AutoresetMode.SAME_STEP)
    record_vector(env, tmp_path / "full", 50, block_rows=17, observations=True)
    export_parquet(tmp_path / "run", tmp_path / "more.parquet", observations=True)
    import_parquet(tmp_path / "more.parquet", tmp_path / "more")
    assert same(columns(read_run(tmp_path / "more")), columns(read_run(tmp_path / "full")))
    assert verify(tmp_path / "more").passed
    export_parquet(tmp_path / "full", tmp_path / "less.parquet", observations=False)
    import_parquet(tmp_path / "less.parquet", tmp_path / "less")
    assert hashes(read_run(tmp_path / "less")) == hashes(read_run(tmp_path / "run"))
    assert verify(tmp_path / "less").passed


def test_the_table_says_what_happened(tmp_path: Path) -> None:
    env = ludus.make_vec("CartPole-v1", 2, autoreset_mode=AutoresetMode.NEXT_STEP)
    record_vector(env, tmp_path / "run", 60, observations=True, block_rows=17)
    found = export_parquet(tmp_path / "run", tmp_path / "run.parquet")
    table = pq.read_table(tmp_path / "run.parquet")
    assert found.steps == table.num_rows == 120
    assert table.schema.field("observation").type == pa.list_(pa.float32(), 4)
    assert table.schema.metadata[b"ludus.head"].decode() == read_run(tmp_path / "run").head
    manifest = (tmp_path / "run" / "manifest.json").read_bytes()
    assert table.schema.metadata[b"ludus.manifest"] == manifest
    assert pq.ParquetFile(tmp_path / "run.parquet").metadata.row_group(0).column(0).compression == (
        "ZSTD"
    )
    rows = table.to_pylist()
    for episode in episodes(read_run(tmp_path / "run"), unfinished=True):
        key = (episode.env_index, episode.number)
        mine = [row for row in rows if (row["env"], row["episode"]) == key]
        assert [row["step"] for row in mine] == list(range(episode.length))
        assert [row["row"] for row in mine] == [episode.first_row + i for i in range(len(mine))]
        assert {row["seed"] for row in mine} == {episode.seed}
        assert sum(row["reward"] for row in mine) == episode.total_reward
        assert mine[-1]["terminated"] == episode.terminated
    idle = [row for row in rows if row["episode"] is None]
    assert len(idle) == len(list(episodes(read_run(tmp_path / "run"))))


def test_actions_keep_the_dtype_they_were_given_in(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("Pendulum-v1"), tmp_path / "run") as env:
        env.reset(seed=1)
        for dtype in ("f4", "f8", "f4"):
            for value in (0.1, -0.7):
                env.step(np.array([value], dtype))
    old, new = there_and_back(tmp_path)
    assert len({block["action"].dtype for block in old.blocks()}) == 2
    assert hashes(old) == hashes(new)
    assert verify(tmp_path / "back").passed


def test_results_and_the_outcome_come_back(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        for seed in (2**70, 3):
            env.reset(seed=seed)
            while not any(env.step(0)[2:4]):
                pass
        env.add_result("mean_return", 1e6)
        env.reset(options={"low": -0.01})
    old, new = there_and_back(tmp_path)
    assert sorted(events(old)) == sorted(events(new))
    assert verify(tmp_path / "back")["results"].status == "failed"
    seeds = pq.read_table(tmp_path / "run.parquet").column("seed").to_pylist()
    assert set(seeds) == {None, 3}
    cut = RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "cut")
    cut.reset(seed=1)
    cut.step(0)
    cut.__exit__(ZeroDivisionError, None, None)
    export_parquet(tmp_path / "cut", tmp_path / "cut.parquet")
    import_parquet(tmp_path / "cut.parquet", tmp_path / "cut back")
    assert read_run(tmp_path / "cut back").outcome == "interrupted"


def test_no_rows_at_all(tmp_path: Path) -> None:
    with RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        env.reset(seed=1)
    old, new = there_and_back(tmp_path)
    assert new.rows == 0
    assert events(old) == events(new)


def test_a_signature_does_not_come_along(tmp_path: Path) -> None:
    generate_key(tmp_path / "key")
    key = load_signing_key(tmp_path / "key")
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 30, key=key)
    there_and_back(tmp_path)
    assert verify(tmp_path / "run", require_signature=True).passed
    assert verify(tmp_path / "back", require_signature=True)["signature"].status == "failed"


def test_blocks_pass_one_at_a_time(tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 1000, block_rows=100)
    seen: list[tuple[int, int]] = []
    export_parquet(
        tmp_path / "run", tmp_path / "run.parquet", progress=lambda *pair: seen.append(pair)
    )
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) == pq.ParquetFile(tmp_path / "run.parquet").metadata.num_row_groups >= 10
    assert seen[-1] == (1000, 1000)


def test_nothing_is_overwritten_nor_left_half_done(tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 60, block_rows=10)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "taken").write_text("mine")
    with pytest.raises(RecordError, match="exists already"):
        export_parquet(tmp_path / "run", tmp_path / "out" / "taken")

    def stop(done: int, total: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_parquet(tmp_path / "run", tmp_path / "out" / "new", progress=stop)
    export_parquet(tmp_path / "run", tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        import_parquet(tmp_path / "whole", tmp_path / "out" / "run", progress=stop)
    with pytest.raises(RecordError, match="exists already"):
        import_parquet(tmp_path / "whole", tmp_path / "run")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["taken"]
    assert (tmp_path / "out" / "taken").read_text() == "mine"


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with Run.create(tmp_path / "note", kind="note", subject={}):
        pass
    with pytest.raises(RecordError, match="not a recording"):
        export_parquet(tmp_path / "note", tmp_path / "out")
    record_single(shown(Discrete(3)), tmp_path / "run", 20)
    with pytest.raises(ReplayImpossible):
        export_parquet(tmp_path / "run", tmp_path / "out", observations=True)
    assert not (tmp_path / "out").exists()


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DependencyNotInstalled, match="parquet"):
        layout.load_pyarrow()


# What an enemy, or a careless hand, may do to a file.


def _without_metadata(table: Any) -> Any:
    return table.replace_schema_metadata({})


def _with(key: bytes, value: bytes) -> Any:
    return lambda table: table.replace_schema_metadata({**table.schema.metadata, key: value})


def _saying(**changes: Any) -> Any:
    def change(table: Any) -> Any:
        told = canonical.loads(table.schema.metadata[b"ludus.recording"])
        return _with(b"ludus.recording", canonical.dumps({**told, **changes}))(table)

    return change


def _subject(**changes: Any) -> Any:
    def change(table: Any) -> Any:
        manifest = canonical.loads(table.schema.metadata[b"ludus.manifest"][:-1])
        manifest["subject"] |= changes
        return _with(b"ludus.manifest", canonical.dumps(manifest) + b"\n")(table)

    return change


def _column(name: str, values: Any) -> Any:
    def change(table: Any) -> Any:
        index = table.schema.get_field_index(name)
        field = table.schema.field(name)
        found = values(table.column(name).to_pylist())
        return table.set_column(index, field, pa.array(found, field.type))

    return change


def _resets(text: bytes) -> Any:
    return _column("reset", lambda values: [text, *values[1:]])


HOSTILE: dict[str, Any] = {
    "no metadata": _without_metadata,
    "no manifest": _with(b"ludus.manifest", b"{}\n"),
    "no recording": _with(b"ludus.recording", b"[]"),
    "broken recording": _with(b"ludus.recording", b"{"),
    "another version": _saying(version=2),
    "another count": _saying(rows=59),
    "rows as text": _saying(rows="60"),
    "observations": _saying(observations=True),
    "dtypes": _saying(dtypes={"action": [[0, "O"]]}),
    "results": _saying(results=[1]),
    "resets": _saying(resets=[{"seed": 1}]),
    "another kind of dtypes": _saying(dtypes={"action": 1}),
    "fewer rows": lambda table: table.slice(0, 59),
    "sorted rows": lambda table: table.sort_by([("row", "descending")]),
    "one column less": lambda table: table.drop_columns(["reward"]),
    "one column more": lambda table: table.append_column("x", table.column("row")),
    "another dtype": lambda table: table.set_column(
        table.schema.get_field_index("reward"), "reward", table.column("reward").cast(pa.float32())
    ),
    "nulls": _column("reward", lambda values: [None, *values[1:]]),
    "reset that is none": _resets(b"{"),
    "reset without fields": _resets(b'[{"seed":1}]'),
    "reset with a bad seed": _resets(b'[{"check":1,"options":null,"seed":"x"}]'),
    "many environments": _subject(num_envs=2**23, autoreset_mode="NextStep", columns=[]),
    "too many environments": _subject(num_envs=2**62, autoreset_mode="NextStep"),
    "wide columns": _subject(columns=[{"name": "action", "dtype": "<i8", "shape": [2**40]}]),
    "odd columns": _subject(columns=[{"name": "reward", "dtype": "<i8", "shape": []}]),
    "columns twice": _subject(columns=[{"name": "action", "dtype": "<i8", "shape": []}] * 2),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused(name: str, tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 60)
    export_parquet(tmp_path / "run", tmp_path / "good")
    pq.write_table(HOSTILE[name](pq.read_table(tmp_path / "good")), tmp_path / "bad")
    with pytest.raises(RecordError):
        import_parquet(tmp_path / "bad", tmp_path / "back")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "good", "run"]


def test_repeated_texts_do_not_fill_the_memory(tmp_path: Path) -> None:
    record_single(shown(SPACES["text"]), tmp_path / "run", 60, observations=True)
    export_parquet(tmp_path / "run", tmp_path / "good")
    table = pq.read_table(tmp_path / "good")
    place = table.schema.get_field_index("observation")
    indices = pa.array(np.zeros(60, np.int32))
    texts = pa.DictionaryArray.from_arrays(indices, pa.array([bytes(2**23)]))
    table = table.set_column(place, "observation", texts)
    with pq.ParquetWriter(
        tmp_path / "bad", table.schema, compression="zstd", store_schema=False
    ) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(table.schema.metadata)
    assert (tmp_path / "bad").stat().st_size < 10**6
    with pytest.raises(RecordDamaged, match="too long"):
        import_parquet(tmp_path / "bad", tmp_path / "back")


@pytest.mark.parametrize("cut", [0, 4, 100, -10, -1])
def test_a_cut_file_is_refused(cut: int, tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 60)
    export_parquet(tmp_path / "run", tmp_path / "good")
    (tmp_path / "bad").write_bytes((tmp_path / "good").read_bytes()[:cut])
    with pytest.raises(RecordDamaged):
        import_parquet(tmp_path / "bad", tmp_path / "back")
    with pytest.raises(RecordError, match="cannot be read"):
        import_parquet(tmp_path / "none", tmp_path / "back")


def test_flipped_bytes_are_found_or_harmless(tmp_path: Path) -> None:
    """Either the file is refused, or what comes out of it is a whole run, which can be checked."""
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 60)
    export_parquet(tmp_path / "run", tmp_path / "good")
    good, generator = (tmp_path / "good").read_bytes(), np.random.default_rng(0)
    for number in range(60):
        data = bytearray(good)
        data[int(generator.integers(len(data)))] ^= 1 << int(generator.integers(8))
        (tmp_path / "bad").write_bytes(data)
        try:
            import_parquet(tmp_path / "bad", tmp_path / f"back{number}")
        except RecordError:
            continue
        assert read_run(tmp_path / f"back{number}").closed
