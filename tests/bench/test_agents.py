from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import ludus
from ludus.bench.agents import AgentSpec, load_agent, parse_agent, reference_agent, reference_ids
from ludus.bench.agents.loading import AgentUnusable
from ludus.bench.planning.plan import make_plan
from ludus.bench.planning.suite import load_suite
from ludus.bench.running.play import UnitTally, action_reader, play
from ludus.errors import AgentFailed, BenchError
from ludus.spaces import Box, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from tests.bench import players

ROWS = [
    (name, row.id)
    for name in ("classic", "toy", "algorithmic", "grid")
    for row in load_suite(name).environments
]


@pytest.mark.parametrize(("name", "env_id"), ROWS, ids=lambda value: value)
def test_reference_agents_are_far_better_than_random(name, env_id):
    """Halfway from the random agent to the best that is known, in a few episodes."""
    suite = load_suite(name)
    row = next(row for row in suite.environments if row.id == env_id)
    # Luck at cards needs many hands to even out, and lessons on a tape begin with short ones.
    episodes = {"Blackjack-v1": 1000, "FrozenLake-v1": 20}.get(env_id, 3)
    small = suite.changed(seeds=1, episodes=100 if name == "algorithmic" else episodes)
    units = make_plan(
        small.model_copy(update={"environments": (row,)}), ["random", "heuristic"]
    ).units
    scores = []
    for unit in units:
        tally = UnitTally()
        with unit.make_env() as env:
            play(unit, env, tally)
        scores.append(np.mean(tally.returns))
    low, high = (float(x) for x in suite.references[env_id].scale(scores))
    assert high > low + 0.4
    assert high > 0.45


def test_every_reference_agent_plays():
    """Also those that no suite asks for, and older versions."""
    in_suites = {env_id for _, env_id in ROWS}
    for env_id in ("Roulette-v0", "tabular/Blackjack-v0", "tabular/CliffWalking-v0", "Taxi-v3",
                   "FourRoomsVisual-v0", "phys2d/CartPole-v1", "MinAtar/Breakout-v0"):  # fmt: skip
        assert env_id not in in_suites
        with ludus.make(env_id, disable_env_checker=True) as env:
            agent = reference_agent(env)
            observation, _ = env.reset(seed=1)
            read = action_reader(env.action_space)
            for _ in range(5):
                observation, _, over, _, _ = env.step(read(agent.act(observation)))
                if over:
                    break
    assert len(reference_ids()) > 30
    with (
        ludus.make("KellyCoinflipGeneralized-v0") as env,
        pytest.raises(BenchError, match="no ref"),
    ):
        reference_agent(env)


@pytest.fixture
def env():
    with ludus.make("CartPole-v1") as env:
        yield env


@pytest.mark.parametrize(
    "use",
    [
        "random",
        "constant:1",
        "heuristic",
        "tests.bench.players:policy",
        "tests.bench.players:make_policy",
        "tests.bench.players:Pusher",
        players.policy,
        players.Pusher,
        players.make_policy,
        lambda observation: 1,
        {"use": "tests.bench.players:Pusher", "options": {"price": 2.0}},
    ],
)
def test_agents_are_anything(use, env):
    agent = load_agent(parse_agent(use), env, seed=3)
    observation, _ = env.reset(seed=0)
    assert action_reader(env.action_space)(agent.act(observation)) in (0, 1)


def test_a_file_is_loaded(env, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    def act(self, observation): return 1\n")
    assert load_agent(parse_agent(f"{path}:Mine"), env, 0).act(None) == 1
    spec = parse_agent(f"mine={path}:Mine")
    assert (spec.name, spec.use, len(spec.digest)) == ("mine", f"{path}:Mine", 64)


def test_batches(env):
    for use in ("batch:3:tests.bench.players:batch_policy", "batch:3:random"):
        spec = parse_agent(use)
        assert spec.num_envs == 3
        with ludus.make_vec("CartPole-v1", num_envs=3) as envs:
            observations, _ = envs.reset(seed=0)
            actions = load_agent(spec, envs, 0).act_batch(observations)
            assert action_reader(envs.action_space)(actions).shape == (3,)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("tests.bench.players:nothing", "has no 'nothing'"),
        ("tests.bench.no_such_module:act", "no module 'tests.bench.no_such_module'"),
        ("tests.bench.players:is_none", "A int is no agent"),
    ],
)
def test_unusable_agents(use, words, env):
    with pytest.raises(AgentUnusable, match=words):
        load_agent(AgentSpec("it", use), env, 0)


class FakeModel:
    """A model with memory, as Stable-Baselines3's recurrent ones: it counts its calls."""

    policy = None

    @classmethod
    def load(cls, path, device):
        return cls()

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        assert deterministic
        count = 0 if state is None else state
        assert episode_start is None or bool(episode_start[0]) == (count == 0)
        return np.array(count % 2), count + 1


def test_models_are_only_loaded_when_trusted(env, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", SimpleNamespace(PPO=FakeModel))
    path = tmp_path / "model.zip"
    path.write_bytes(b"")
    with pytest.raises(BenchError, match="unpickles"):
        parse_agent(f"sb3:PPO:{path}")
    with pytest.raises(AgentUnusable, match="trusted"):
        load_agent(AgentSpec("it", f"sb3:PPO:{path}"), env, 0)
    for spec in (parse_agent(f"sb3:PPO:{path}", trust=True), AgentSpec("it", FakeModel())):
        agent = load_agent(spec, env, 0)
        assert [int(agent.act(None)) for _ in range(3)] == [0, 1, 0]
        agent.reset(0, env)
        assert agent.act(None) == 0
    with pytest.raises(AgentUnusable, match="no algorithm 'NOPE'"):
        load_agent(AgentSpec("it", f"sb3:NOPE:{path}", trust=True), env, 0)


@pytest.mark.slow
def test_a_real_model_of_stable_baselines_plays(env, tmp_path):
    sb3 = pytest.importorskip("stable_baselines3")
    gymnasium = pytest.importorskip("gymnasium")
    model = sb3.PPO(
        "MlpPolicy", gymnasium.make("CartPole-v1"), n_steps=8, batch_size=8, device="cpu"
    )
    path = tmp_path / "model.zip"
    model.save(path)
    agents = [
        load_agent(parse_agent(f"sb3:PPO:{path}", trust=True), env, 0),
        load_agent(AgentSpec("it", model), env, 0),
    ]
    observation, _ = env.reset(seed=0)
    first, second = (action_reader(env.action_space)(agent.act(observation)) for agent in agents)
    assert first == second
    assert first in (0, 1)


@pytest.mark.parametrize(
    ("space", "answer", "action"),
    [
        (Discrete(3), np.array([2]), 2),
        (Discrete(3), np.array(2), 2),
        (Discrete(3), np.int64(1), 1),
        (Box(-1, 1, (2,)), [0.5, -0.5], np.array([0.5, -0.5], np.float32)),
        (Box(-1, 1, (1,)), np.array([1]), np.array([1], np.float32)),
        (Box(0, 9, (1,), np.uint8), [9], np.array([9], np.uint8)),
        (MultiBinary(2), [1, 0], np.array([1, 0], np.int8)),
        (MultiDiscrete([3, 3]), (2, 1), np.array([2, 1])),
        (Tuple((Discrete(2), Discrete(3))), [np.array([1]), 2], (1, 2)),
        (Text(3), "abc", "abc"),
    ],
)
def test_answers_become_actions(space, answer, action):
    found = action_reader(space)(answer)
    assert space.contains(found)
    np.testing.assert_array_equal(found, action)


@pytest.mark.parametrize(
    ("space", "answer"),
    [
        (Discrete(3), 3),
        (Discrete(3), 1.0),
        (Discrete(3), None),
        (Discrete(3), np.array([1, 2])),
        (Box(-1, 1, (2,)), [0.5]),
        (Box(-1, 1, (2,)), [0.5, 1.5]),
        (Box(-1, 1, (1,)), [np.nan]),
        (Box(0, 9, (1,), np.uint8), [256]),
        (Box(0, 9, (1,), np.uint8), [0.7]),
        (Box(-1, 1, (1,)), ["a"]),
        (Tuple((Discrete(2), Discrete(3))), [1]),
        (Tuple((Discrete(2), Discrete(3))), 5),
    ],
)
def test_answers_that_are_no_actions_are_the_agents_fault(space, answer):
    with pytest.raises(AgentFailed, match="invalid action"):
        action_reader(space)(answer)
