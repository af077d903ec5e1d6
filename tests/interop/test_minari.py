from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gymnasium
import h5py
import minari
import numpy as np
import pytest

import ludus
from ludus.core.vector_env import AutoresetMode
from ludus.errors import DependencyNotInstalled, RecordDamaged, RecordError, ReplayImpossible
from ludus.interop.minari import episode_file, export_minari, import_minari, spaces
from ludus.record import episodes, read_run, replay, verify
from ludus.spaces import Box, Dict, Discrete, Sequence
from ludus.wrappers import ClipReward
from tests.interop.recorded import (
    SPACES,
    at,
    record_single,
    record_vector,
    same,
    shown,
    shown_vector,
)

MODES = list(AutoresetMode)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "root"))
    return tmp_path / "root"


def export(run: Path, root: Path, name: str = "test-v0", **options: Any) -> minari.MinariDataset:
    found = export_minari(run, root / name, **options)
    dataset = minari.load_dataset(name)
    assert (found.episodes, found.steps) == (dataset.total_episodes, dataset.total_steps)
    return dataset


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def blocks_of(path: Path) -> dict[str, list[bytes]]:
    """Return every column of a run by its bytes, whatever the blocks."""
    found: dict[str, list[bytes]] = {}
    for block in read_run(path).blocks():
        for name in block:
            found.setdefault(name, []).append(block[name].astype(object).tolist())
    return found


@pytest.mark.filterwarnings("ignore:.*Casting input")  # Minari gives out numbers for arrays ()
@pytest.mark.parametrize("name", SPACES)
def test_what_was_seen_is_in_the_dataset(name: str, root: Path, tmp_path: Path) -> None:
    env = shown(SPACES[name], SPACES[name])
    traces = record_single(env, tmp_path / "run", 40, observations=True, block_rows=7)
    dataset = export(tmp_path / "run", root)
    found = list(dataset.iterate_episodes())
    assert len(found) == len(traces) > 5
    for episode, trace in zip(found, traces, strict=True):
        steps = len(trace.rewards)
        assert len(episode) == steps
        for step in range(steps + 1):
            assert same(at(episode.observations, step), trace.observations[step])
        for step in range(steps):
            assert same(at(episode.actions, step), trace.actions[step])
        assert same(episode.rewards, np.array(trace.rewards))
        assert same(episode.terminations, np.array([flag for flag, _ in trace.flags]))
        assert same(episode.truncations, np.array([flag for _, flag in trace.flags]))
    assert isinstance(dataset.observation_space, gymnasium.Space)
    assert all(at(each.observations, 0) in dataset.observation_space for each in found)
    assert repr(found[0])


@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1", "Blackjack-v1", "FrozenLake-v1"])
def test_observations_that_were_not_stored_are_recomputed(
    env_id: str, root: Path, tmp_path: Path
) -> None:
    traces = record_single(ludus.make(env_id), tmp_path / "run", 450, block_rows=100)
    found = list(export(tmp_path / "run", root))
    assert len(found) == len(traces) > 0
    for episode, trace in zip(found, traces, strict=True):
        for step, observation in enumerate(trace.observations):
            assert np.array_equal(at(episode.observations, step), observation)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backend", ["vector_entry_point", "sync"])
def test_episodes_of_a_batch_are_those_of_single_environments(
    backend: str, mode: AutoresetMode, stored: bool, root: Path, tmp_path: Path
) -> None:
    kwargs: dict[str, Any] = {"autoreset_mode": mode}
    if backend == "sync":
        kwargs = {"vectorization_mode": "sync", "vector_kwargs": kwargs}
    env = ludus.make_vec("CartPole-v1", 3, **kwargs)
    record_vector(env, tmp_path / "run", 120, observations=stored, block_rows=17)
    dataset = export(tmp_path / "run", root)
    listed = list(episodes(read_run(tmp_path / "run")))
    seeds = [each.get("seed") for each in metadata_of(dataset)]
    assert seeds == [each.seed for each in listed]
    for index in range(3):
        single = ludus.make("CartPole-v1")
        mine = [pair for pair in zip(dataset, listed, strict=True) if pair[1].env_index == index]
        assert len(mine) > 1
        for number, (episode, entry) in enumerate(mine):
            first, _ = single.reset(seed=5 + index if not number else None)
            assert len(episode) == entry.length
            assert same(episode.observations[0], first)
            for step, action in enumerate(episode.actions):
                observation, reward, terminated, truncated, _ = single.step(int(action))
                assert same(episode.observations[step + 1], observation)
                assert episode.rewards[step] == reward
                assert episode.terminations[step] == terminated
                assert episode.truncations[step] == truncated
            assert terminated or truncated


def metadata_of(dataset: Any) -> list[dict[str, Any]]:
    return list(dataset.storage.get_episode_metadata(dataset.episode_indices))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["dict", "tuple", "text", "dict with text", "discrete"])
def test_batches_of_every_structure(
    name: str, mode: AutoresetMode, root: Path, tmp_path: Path
) -> None:
    env = shown_vector(SPACES[name], mode)
    record_vector(env, tmp_path / "run", 40, observations=True, block_rows=7)
    found = list(export(tmp_path / "run", root))
    for index in range(3):
        single = shown(SPACES[name])
        pairs = zip(found, episodes(read_run(tmp_path / "run")), strict=True)
        mine = [episode for episode, entry in pairs if entry.env_index == index]
        for number, episode in enumerate(mine):
            first, _ = single.reset(seed=5 + index if not number else None)
            assert same(at(episode.observations, 0), first)
            for step in range(len(episode)):
                assert same(at(episode.observations, step + 1), single.step(0)[0])


def test_episodes_too_long_for_memory_are_the_same(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = ludus.make_vec("CartPole-v1", 3, autoreset_mode=AutoresetMode.SAME_STEP)
    record_vector(env, tmp_path / "run", 120, block_rows=5)
    whole = list(export(tmp_path / "run", root))
    monkeypatch.setattr(episode_file, "_HELD_BYTES", 100)
    pieces = list(export(tmp_path / "run", root, "pieces-v0"))
    assert len(whole) == len(pieces)
    for one, other in zip(whole, pieces, strict=True):
        for name in ("observations", "actions", "rewards", "terminations", "truncations"):
            assert same(getattr(one, name), getattr(other, name))


def test_unfinished_episodes_are_left_out_unless_asked_for(root: Path, tmp_path: Path) -> None:
    with ludus.record.RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        for _ in range(2):
            env.reset(seed=1)
            for _ in range(3):
                env.step(0)
    found = export_minari(tmp_path / "run", root / "none-v0")
    assert (found.episodes, found.left_out) == (0, 2)
    dataset = export(tmp_path / "run", root, unfinished=True)
    assert [len(each) for each in dataset] == [3, 3]
    assert not any(each.terminations.any() or each.truncations.any() for each in dataset)


def test_minari_builds_the_environment_again(root: Path, tmp_path: Path) -> None:
    made = {
        "cartpole-v0": ludus.make("CartPole-v1"),
        "lake-v0": ludus.make("FrozenLake-v1", is_slippery=False, max_episode_steps=9),
        "copy-v0": ludus.make("Copy-v0"),
    }
    for name, env in made.items():
        record_single(env, tmp_path / name, 30)
        theirs = export(tmp_path / name, root, name).recover_environment()
        assert theirs.spec.max_episode_steps == env.spec.max_episode_steps
        assert theirs.reset(seed=2)[0] in theirs.observation_space
    assert type(theirs.unwrapped).__module__.startswith("ludus.")
    lake = minari.load_dataset("lake-v0").recover_environment()
    assert type(lake.unwrapped).__module__.startswith("gymnasium.")
    assert lake.spec.kwargs["is_slippery"] is False


def test_no_environment_is_named_if_another_would_come_out(root: Path, tmp_path: Path) -> None:
    env = ClipReward(ludus.make("CartPole-v1"), 0, 0.5)
    record_single(env, tmp_path / "run", 100)
    dataset = export(tmp_path / "run", root)
    assert dataset[0].rewards.max() == 0.5
    with pytest.raises(ValueError, match="env_spec is None"):
        dataset.recover_environment()


def test_namespace_and_authors(root: Path, tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 30)
    path, name = root / "mine" / "cartpole" / "random-v3", "mine/cartpole/random-v3"
    export_minari(tmp_path / "run", path, dataset_id=name, about={"author": ["me"]})
    assert list(minari.list_local_datasets()) == [name]
    assert minari.load_dataset(name).storage.metadata["author"] == {"me"}


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("test", {}, "not a Minari dataset id"),
        ("te st-v0", {}, "not a Minari dataset id"),
        ("test-v0", {"dataset_id": "../test-v0"}, "not a Minari dataset id"),
        ("test-v0", {"dataset_id": "mine/test-v0"}, "must end in"),
        ("test-v0", {"about": {"colour": "red"}}, "colour"),
        ("taken-v0", {}, "exists already"),
    ],
)
def test_what_cannot_be_written_leaves_nothing(
    name: str, options: dict[str, Any], words: str, root: Path, tmp_path: Path
) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 30)
    (root / "taken-v0").mkdir(parents=True)
    with pytest.raises(RecordError, match=words):
        export_minari(tmp_path / "run", root / name, **options)
    assert names(root) == ["taken-v0"]


@pytest.mark.parametrize(
    "space", [Sequence(Discrete(2)), Dict({"a/b": Discrete(2)}), Dict({"a": Sequence(Discrete(3))})]
)
def test_spaces_that_minari_does_not_know(space: Any, root: Path, tmp_path: Path) -> None:
    record_single(shown(space), tmp_path / "run", 20, observations=True)
    with pytest.raises(RecordError, match="Minari"):
        export_minari(tmp_path / "run", root / "test-v0")
    assert not root.exists() or not names(root)


def test_an_interrupted_export_leaves_nothing(root: Path, tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 30, block_rows=4)

    def stop(done: int, total: int) -> None:
        assert 0 < done <= total == 30
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_minari(tmp_path / "run", root / "test-v0", progress=stop)
    assert not names(root)


def test_observations_that_cannot_be_recomputed(root: Path, tmp_path: Path) -> None:
    record_single(shown(Discrete(3)), tmp_path / "run", 20)
    with pytest.raises(ReplayImpossible, match="no spec"):
        export_minari(tmp_path / "run", root / "test-v0")


def test_an_environment_that_does_something_else_now(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 60)
    cls = type(ludus.make("CartPole-v1").unwrapped)
    steps: list[int] = []

    def other(self: Any, action: Any, real: Any = cls.step) -> Any:
        steps.append(1)
        observation, *rest = real(self, action)
        return (observation + np.float32(len(steps) == 40), *rest)

    monkeypatch.setattr(cls, "step", other)
    with pytest.raises(ReplayImpossible, match="row 39 differs .*observation_check"):
        export_minari(tmp_path / "run", root / "test-v0")


def test_without_h5py(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(DependencyNotInstalled, match="minari"):
        spaces.load_h5py()


@pytest.mark.parametrize("name", SPACES)
def test_import_gives_back_the_rows(name: str, root: Path, tmp_path: Path) -> None:
    record_single(shown(SPACES[name], SPACES[name]), tmp_path / "run", 40, observations=True)
    export_minari(tmp_path / "run", root / "test-v0", unfinished=True)
    found = import_minari(root / "test-v0", tmp_path / "back")
    assert found.steps == 40
    assert "no spec" in (found.unreplayable or "")
    assert str(blocks_of(tmp_path / "run")) == str(blocks_of(tmp_path / "back"))
    one, other = (list(episodes(read_run(tmp_path / each))) for each in ("run", "back"))
    assert str(one) == str(other)


def test_import_of_an_own_recording_can_be_replayed(root: Path, tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 100)
    export_minari(tmp_path / "run", root / "test-v0")
    found = import_minari(root / "test-v0", tmp_path / "back")
    assert found.unreplayable is None
    assert verify(tmp_path / "back").passed
    manifest = read_run(tmp_path / "back").manifest
    assert manifest["kind"] == "episodes"
    assert manifest["imported"]["origin"]["head"] == read_run(tmp_path / "run").head


def test_import_after_a_cut_episode_needs_seeds(root: Path, tmp_path: Path) -> None:
    with ludus.record.RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        env.reset(seed=1)
        env.step(0)
        for _ in range(2):
            env.reset()
            while not any(env.step(0)[2:4]):
                pass
    export_minari(tmp_path / "run", root / "test-v0")
    found = import_minari(root / "test-v0", tmp_path / "back")
    assert "seeds" in (found.unreplayable or "")


def test_import_after_resets_with_options(root: Path, tmp_path: Path) -> None:
    with ludus.record.RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        for seed in range(2):
            env.reset(seed=seed, options={"low": -0.1, "high": 0.1})
            while not any(env.step(0)[2:4]):
                pass
    assert replay(tmp_path / "run").is_equal
    export_minari(tmp_path / "run", root / "test-v0")
    found = import_minari(root / "test-v0", tmp_path / "back")
    assert "options" in (found.unreplayable or "")
    checks = {check.name: check for check in verify(tmp_path / "back").checks}
    assert checks["replay"].status == "skipped"
    assert "options of its resets" in checks["replay"].detail


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of Minari's temporary folder
@pytest.mark.parametrize("seeded", [True, False])
def test_import_with_the_environment(seeded: bool, root: Path, tmp_path: Path) -> None:
    """What Minari itself has collected, from an environment of Ludus."""
    env = ludus.interop.gymnasium.to_gymnasium(ludus.make("CartPole-v1"))
    collector = minari.DataCollector(env)
    for seed in range(3):
        collector.reset(seed=seed)
        while not any(collector.step(seed % 2)[2:4]):
            pass
    with pytest.warns(UserWarning, match="is set to None"):
        collector.create_dataset("test-v0")
    if not seeded:
        with h5py.File(root / "test-v0" / "data" / "main_data.hdf5", "a") as file:
            del file["episode_1"].attrs["seed"]
    found = import_minari(root / "test-v0", tmp_path / "run", env=ludus.make("CartPole-v1"))
    assert found.episodes == 3
    manifest = read_run(tmp_path / "run").manifest
    assert manifest["imported"]["metadata"]["dataset_id"] == "test-v0"
    if seeded:
        assert found.unreplayable is None
        assert replay(tmp_path / "run").is_equal
    else:
        assert manifest["kind"] == "imported"
        assert verify(tmp_path / "run").verdict == "unchecked"
        with pytest.raises(ReplayImpossible):
            replay(tmp_path / "run")
    with pytest.raises(RecordError, match="another environment"):
        import_minari(root / "test-v0", tmp_path / "other", env=ludus.make("Acrobot-v1"))
    assert not (tmp_path / "other").exists()


def test_import_never_overwrites(root: Path, tmp_path: Path) -> None:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 30)
    export_minari(tmp_path / "run", root / "test-v0")
    with pytest.raises(RecordError, match="exists already"):
        import_minari(root / "test-v0", tmp_path / "run")
    with pytest.raises(RecordError, match="not a Minari dataset"):
        import_minari(root, tmp_path / "other")


def test_long_seeds(root: Path, tmp_path: Path) -> None:
    seeds = [2**70, 2**63, 0]
    with ludus.record.RecordEpisodes(ludus.make("CartPole-v1"), tmp_path / "run") as env:
        for seed in seeds:
            env.reset(seed=seed)
            while not any(env.step(0)[2:4]):
                pass
    assert [each["seed"] for each in metadata_of(export(tmp_path / "run", root))] == seeds
    assert import_minari(root / "test-v0", tmp_path / "back").unreplayable is None
    assert verify(tmp_path / "back").passed


# What an enemy may do to a dataset.


def _relinked(make: Any) -> Any:
    def change(file: Any, outside: Path) -> None:
        del file["episode_0/rewards"]
        file["episode_0/rewards"] = make(outside)

    return change


def _replaced(**options: Any) -> Any:
    def change(file: Any, outside: Path) -> None:
        steps = file["episode_0/rewards"].shape[0]
        chosen = {"shape": (steps,), "dtype": "f8", **options}
        del file["episode_0/rewards"]
        if "external" in chosen:
            chosen["external"] = [(str(outside), 0, 8 * steps)]
        file["episode_0"].create_dataset("rewards", **chosen)

    return change


def _virtual(file: Any, outside: Path) -> None:
    steps = file["episode_0/rewards"].shape
    layout = h5py.VirtualLayout(steps, "f8")
    layout[:] = h5py.VirtualSource(str(outside), "secret", steps)
    del file["episode_0/rewards"]
    file["episode_0"].create_virtual_dataset("rewards", layout)


def _vast(file: Any, outside: Path) -> None:
    for name, shape in {
        "rewards": (10**9,),
        "terminations": (10**9,),
        "truncations": (10**9,),
    }.items():
        del file[f"episode_0/{name}"]
        kind = "f8" if name == "rewards" else "?"
        file["episode_0"].create_dataset(name, shape, kind, chunks=(1000,))
    for name, shape in {"actions": (10**9,), "observations": (10**9 + 1, 4)}.items():
        del file[f"episode_0/{name}"]
        kind = "i8" if name == "actions" else "f4"
        file["episode_0"].create_dataset(name, shape, kind, chunks=(1000, *shape[1:]))


def _wide_chunks(file: Any, outside: Path) -> None:
    steps = file["episode_0/rewards"].shape[0]
    del file["episode_0/rewards"]
    file["episode_0"].create_dataset(
        "rewards", (steps,), "f8", chunks=(2**27,), maxshape=(None,), compression="gzip"
    )


def _seeded(seed: Any) -> Any:
    return lambda file, outside: file["episode_0"].attrs.create("seed", seed)


ATTACKS: dict[str, tuple[Any, str]] = {
    "soft link": (_relinked(lambda _: h5py.SoftLink("/episode_1/rewards")), "link"),
    "external link": (_relinked(lambda path: h5py.ExternalLink(str(path), "secret")), "link"),
    "external data": (_replaced(external=True), "another file"),
    "virtual": (_virtual, "another file"),
    "objects": (_replaced(dtype=h5py.special_dtype(vlen=np.float64)), "dtype"),
    "references": (_replaced(dtype=h5py.ref_dtype), "dtype"),
    "strings": (_replaced(dtype="S8"), "dtype"),
    "structures": (_replaced(dtype=[("a", "f8")]), "dtype"),
    "complex": (_replaced(dtype="c16"), "dtype"),
    "no rows": (_replaced(shape=(0,)), "shape"),
    "two axes": (_replaced(shape=(3, 3)), "shape"),
    "no axes": (_replaced(shape=()), "shape"),
    "fewer rows": (_replaced(shape=(2,)), "shape"),
    "vast": (_vast, "most_bytes"),
    "wide chunks": (_wide_chunks, "chunks"),
    "seed": (_seeded("x7"), "seed"),
    "seeds": (_seeded([1, 2]), "seed"),
    "missing": (lambda file, _: file.__delitem__("episode_1"), "no 'episode_1'"),
    "group": (lambda file, _: file.move("episode_0/infos", "episode_1/rewards2"), ""),
}


@pytest.fixture
def dataset(root: Path, tmp_path: Path) -> Path:
    record_single(ludus.make("CartPole-v1"), tmp_path / "run", 60)
    export_minari(tmp_path / "run", root / "test-v0")
    return root / "test-v0"


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_file_is_refused(name: str, dataset: Path, tmp_path: Path) -> None:
    change, words = ATTACKS[name]
    outside = tmp_path / "outside.h5"
    with h5py.File(outside, "w") as file:
        file["secret"] = np.ones(100)
    with h5py.File(dataset / "data" / "main_data.hdf5", "a") as file:
        change(file, outside)
    if not words:
        assert import_minari(dataset, tmp_path / "back").episodes
        return
    with pytest.raises(RecordError, match=words):
        import_minari(dataset, tmp_path / "back")
    assert names(tmp_path) == ["outside.h5", "root", "run"]


def test_an_unknown_filter_is_never_loaded(dataset: Path, tmp_path: Path) -> None:
    with h5py.File(dataset / "data" / "main_data.hdf5", "a") as file:
        steps = file["episode_0/rewards"].shape
        del file["episode_0/rewards"]
        settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        settings.set_chunk(steps)
        settings.set_filter(31999, h5py.h5z.FLAG_OPTIONAL, ())
        space = h5py.h5s.create_simple(steps)
        group = file["episode_0"].id
        h5py.h5d.create(group, b"rewards", h5py.h5t.NATIVE_DOUBLE, space, settings)
    with pytest.raises(RecordDamaged, match="filter 31999"):
        import_minari(dataset, tmp_path / "back")


def test_how_much_is_unpacked_is_bounded(dataset: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="most_bytes"):
        import_minari(dataset, tmp_path / "back", most_bytes=500)


def test_texts_that_share_their_bytes_are_counted(root: Path, tmp_path: Path) -> None:
    record_single(shown(SPACES["text"]), tmp_path / "run", 20, observations=True)
    export_minari(tmp_path / "run", root / "test-v0")
    with h5py.File(root / "test-v0" / "data" / "main_data.hdf5", "a") as file:
        texts = file["episode_0/observations"]
        texts[:] = ["x" * 10_000] * len(texts)
    with pytest.raises(RecordError, match="most_bytes"):
        import_minari(root / "test-v0", tmp_path / "back", most_bytes=15_000)


@pytest.mark.parametrize("cut", [0, 10, 500, 3000])
def test_a_cut_file_is_refused(cut: int, dataset: Path, tmp_path: Path) -> None:
    path = dataset / "data" / "main_data.hdf5"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(RecordError):
        import_minari(dataset, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("name", ["main_data.hdf5", "metadata.json"])
def test_links_to_elsewhere_are_not_followed(name: str, dataset: Path, tmp_path: Path) -> None:
    (dataset / "data" / name).rename(tmp_path / name)
    (dataset / "data" / name).symlink_to(tmp_path / name)
    with pytest.raises(RecordDamaged, match="symbolic"):
        import_minari(dataset, tmp_path / "back")


@pytest.mark.parametrize(
    "changes",
    [
        {"total_episodes": -1},
        {"total_episodes": 10**12},
        {"total_episodes": "2"},
        {"data_format": "arrow"},
        {"data_format": ["hdf5"]},
        {"action_space": None},
        {"action_space": "{"},
        {"action_space": "[" * 100_000},
        {"action_space": '{"type": "Graph"}'},
        {"action_space": '{"type": "Discrete", "n": 5}'},
        {"action_space": '{"type": "Discrete", "n": 1e400, "start": 0, "dtype": "int64"}'},
        {"observation_space": '{"type": "Box", "shape": [1000000000], "dtype": "O", "low": 0}'},
        {"observation_space": json.dumps({"type": "MultiBinary", "n": 10**12})},
        {"observation_space": json.dumps({"type": "Dict", "subspaces": {"../x": 1}})},
    ],
)
def test_hostile_metadata_is_refused(changes: Any, dataset: Path, tmp_path: Path) -> None:
    path = dataset / "data" / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(RecordError):
        import_minari(dataset, tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "nan", "[" * 10**6, "\ud800".encode("utf-8", "surrogatepass")]
)
def test_metadata_that_is_none(text: Any, dataset: Path, tmp_path: Path) -> None:
    path = dataset / "data" / "metadata.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(RecordError):
        import_minari(dataset, tmp_path / "back")


def test_a_forged_origin_is_only_a_claim(dataset: Path, tmp_path: Path) -> None:
    """Whoever writes a dataset may say where it comes from; the replay tells."""
    with h5py.File(dataset / "data" / "main_data.hdf5", "a") as file:
        file["episode_0/rewards"][0] = 100.0
    assert import_minari(dataset, tmp_path / "back").unreplayable is None
    checks = verify(tmp_path / "back")
    assert checks["replay"].status == "failed"
    path = dataset / "data" / "metadata.json"
    metadata = json.loads(path.read_text())
    path.write_text(json.dumps({**metadata, "ludus": '{"run":1}'}))
    found = import_minari(dataset, tmp_path / "other")
    assert "is not known" in (found.unreplayable or "")


def test_lossy_images_are_refused(root: Path, tmp_path: Path) -> None:
    record_single(shown(Box(0, 255, (40, 40), np.uint8)), tmp_path / "run", 9, observations=True)
    export_minari(tmp_path / "run", root / "test-v0")
    path = root / "test-v0" / "data" / "metadata.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "jpeg_encoding": True}))
    with pytest.raises(RecordError, match="JPEG"):
        import_minari(root / "test-v0", tmp_path / "back")
