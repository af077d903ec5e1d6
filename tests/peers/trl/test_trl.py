"""TRL's trainer plays Ludus's environments and research tasks, and learns from their rewards."""

from __future__ import annotations

import math

import pytest
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

import ludus
from ludus.interop.trl import LudusSpec
from tests.peers.trl.tiny_model import tiny_model, tiny_tokenizer, tool_call
from tests.research.env_support import LOOSE, answer, write_task

RIGHT, DOWN = 2, 1
TO_THE_GOAL = [DOWN, DOWN, RIGHT, RIGHT, DOWN, RIGHT]
DRY = {"is_slippery": False}
# In Blackjack with this seed whoever takes a card loses, and whoever takes none wins.
SEED, STICK, HIT, WON, LOST = 1, 0, 1, 1.0, -1.0


def train(spec, replies, folder, *, generations=2):
    """Make one update with TRL's trainer; return it and what it logged."""
    texts = [str(spec.train_dataset[0]), str(replies)]
    tokenizer = tiny_tokenizer(texts)
    trainer = GRPOTrainer(
        model=tiny_model(tokenizer, replies),
        processing_class=tokenizer,
        args=GRPOConfig(
            output_dir=str(folder),
            per_device_train_batch_size=generations,
            num_generations=generations,
            max_completion_length=3000,
            max_tool_calling_iterations=10,
            max_steps=1,
            learning_rate=1e-2,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            bf16=False,
            activation_checkpointing=False,
            temperature=1.0,
            disable_tqdm=True,
        ),
        train_dataset=spec.train_dataset,
        environment_factory=spec.environment_factory,
        reward_funcs=spec.reward_funcs,
    )
    trainer.train()
    return trainer, trainer.state.log_history[0]


def test_an_episode_is_played_to_the_goal(tmp_path):
    spec = LudusSpec("FrozenLake-v1", num_episodes=2, arguments=DRY)
    replies = [tool_call("act", action=one) for one in TO_THE_GOAL]
    trainer, logged = train(spec, replies, tmp_path)
    assert logged["reward"] == 1.0
    assert logged["tools/call_frequency"] == len(TO_THE_GOAL)
    assert logged["tools/failure_frequency"] == 0.0
    for environment in trainer.environments:
        assert environment._episode.steps == len(TO_THE_GOAL)
        assert environment._episode.is_over


def test_the_model_is_told_what_it_did_wrong_and_nothing_is_done(tmp_path):
    spec = LudusSpec("FrozenLake-v1", num_episodes=2, arguments=DRY)
    replies = [tool_call("act", action=9), tool_call("reset"), tool_call("get_reward")]
    trainer, logged = train(spec, replies, tmp_path)
    assert logged["tools/failure_frequency"] == 1.0
    assert logged["reward"] == 0.0
    assert {environment._episode.steps for environment in trainer.environments} == {0}


def test_a_research_task_is_worked_on_and_graded(tmp_path):
    task = write_task(tmp_path / "answers")
    ludus.research.register_task("answersForTrl", folder=task)
    options = {"backend": "bubblewrap", "policy": LOOSE}
    spec = LudusSpec("mlgym/answersForTrl-v0", num_episodes=1, arguments=options)
    replies = [
        tool_call("shell", command=answer(0.75)),
        tool_call("validate"),
        tool_call("submit"),
    ]
    trainer, logged = train(spec, replies, tmp_path / "out")
    # On the scale of the task: 0 is its baseline, 0.5, and 1 its threshold, 1.
    assert logged["reward"] == pytest.approx(0.5)
    for environment in trainer.environments:
        assert environment._episode.info["outcome"] == "scored"


def test_work_is_graded_when_the_model_stops_without_handing_it_in(tmp_path):
    task = write_task(tmp_path / "answers")
    ludus.research.register_task("answersForTrl2", folder=task)
    spec = LudusSpec(
        "mlgym/answersForTrl2-v0",
        num_episodes=1,
        arguments={"backend": "bubblewrap", "policy": LOOSE},
    )
    _, logged = train(spec, [tool_call("shell", command=answer(1.0))], tmp_path / "out")
    assert logged["reward"] == pytest.approx(1.0)


@pytest.mark.parametrize("env", ["FrozenLake-v1", "Copy-v0", "Pendulum-v1", "mlgym/blotto-v0"])
def test_the_models_schema_of_each_tool_is_that_of_ludus(env):
    spec = LudusSpec(env)
    made = spec.environment_factory()
    for tool in made._episode.tools.values():
        told = get_json_schema(getattr(made, tool.name))["function"]
        assert told["name"] == tool.name
        assert told["description"] == tool.about
        shown = told["parameters"]
        assert shown["properties"].keys() == tool.schema["properties"].keys()
        assert sorted(shown.get("required", [])) == sorted(tool.schema["required"])
        for name, field in tool.schema["properties"].items():
            assert shown["properties"][name]["type"] == field["type"]
            assert shown["properties"][name]["description"] == field["description"]


def test_it_learns_from_rewards_that_differ(tmp_path):
    """Rollouts of a group have one seed; some take a card and lose, and TRL's update tells them."""
    spec = LudusSpec("Blackjack-v1", num_episodes=1, seed=SEED)
    either = [tool_call("act", action=action) for action in (STICK, HIT)]
    trainer, logged = train(spec, [either], tmp_path, generations=6)
    rewards = [environment._episode.reward for environment in trainer.environments]
    assert set(rewards) == {WON, LOST}
    assert logged["reward"] == pytest.approx(sum(rewards) / 6)
    assert logged["reward_std"] > 0
    assert 0 < logged["grad_norm"] < math.inf
