"""The graders of OpenEnv's validation, by its own registry, collector and parser."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from openenv.validation.graders import GraderRegistry, Subject
from openenv.validation.graders.runtime.basic import (
    ObservationSchemaGrader,
    RewardWellFormedGrader,
    StateContractGrader,
)
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.policy import load_policy
from openenv.validation.runtime.collector import collect_runtime_evidence
from openenv.validation.runtime.contracts import load_runtime_plan

ORACLE = {"form": "injected_state", "location": "oracle.txt"}


@pytest.fixture(scope="module")
def registry() -> GraderRegistry:
    found = GraderRegistry()
    assert found.load_entry_points() == 25
    return found


@pytest.fixture(scope="module")
def subject(server: str, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    root = tmp_path_factory.mktemp("package")
    order = [sys.executable, "-m", "ludus", "serve", "CartPole-v1", "--manifest", str(root)]
    subprocess.run(order, check=True, capture_output=True, timeout=120)
    manifest = OpenEnvYamlParser().parse(root)
    plan = load_runtime_plan(root, manifest.execution)
    evidence = collect_runtime_evidence(server, plan, episode_timeout_s=120)
    assert evidence.failure_reason is None, evidence
    return Subject(
        root=root,
        manifest=manifest,
        image_ref=None,
        running=SimpleNamespace(base_url=server),
        outputs_dir=root / "outputs",
        runtime_evidence=evidence,
    )


def status(registry: GraderRegistry, check_id: str, subject: Subject) -> str:
    grader = registry.get(check_id)
    assert grader is not None
    result = grader.run(subject)
    assert result.check_id == check_id
    return result.status.value


def changed(subject: Subject, **parts: Any) -> Subject:
    return replace(subject, manifest=subject.manifest.model_copy(update=parts))


def with_capabilities(subject: Subject, **parts: Any) -> Subject:
    told = subject.manifest.capabilities.model_dump() | parts
    return changed(subject, capabilities=type(subject.manifest.capabilities)(**told))


def test_every_grader_has_an_id_of_the_policy(registry: GraderRegistry, subject: Subject) -> None:
    known = {entry.check_id: entry.level for entry in load_policy("v2").entries}
    for grader in registry._graders.values():
        assert known[grader.check_id] == grader.level


@pytest.mark.parametrize(
    "grader", [ObservationSchemaGrader, RewardWellFormedGrader, StateContractGrader]
)
def test_openenvs_own_graders_pass(subject: Subject, grader: Any) -> None:
    result = grader().run(subject)
    assert result.status.value == "pass", result


@pytest.mark.parametrize(
    "check_id",
    [
        "static.layout",
        "static.image_hygiene",
        "static.oci_labels",
        "static.resource_declaration",
        "static.timeout_ceiling",
        "static.dependency_pinning",
        "static.task_distribution_pinning",
        "runtime.seed_control",
        "runtime.episode_determinism",
        "runtime.episode_isolation",
        "runtime.reward_attribution",
        "runtime.trajectory_record",
        "runtime.tool_declaration_accuracy",
        "runtime.task_declaration_accuracy",
        "semantic.floor_gap",
        "semantic.verifier_determinism",
        "semantic.replayability",
        "semantic.resource_envelope",
    ],
)
def test_what_ludus_serves_passes(
    registry: GraderRegistry, subject: Subject, check_id: str
) -> None:
    result = registry.get(check_id).run(subject)
    assert result.status.value == "pass", result


def test_wrong_declarations_fail(registry: GraderRegistry, subject: Subject) -> None:
    tools = with_capabilities(subject, declared_tools=["act", "fly"])
    assert status(registry, "runtime.tool_declaration_accuracy", tools) == "fail"
    tasks = with_capabilities(subject, declared_task_count={"train": 3})
    assert status(registry, "runtime.task_declaration_accuracy", tasks) == "fail"
    pins = changed(subject, task_distribution=None)
    assert status(registry, "static.task_distribution_pinning", pins) == "fail"
    reward = subject.manifest.reward.model_copy(update={"range": (0.0, 5.0)})
    assert status(registry, "semantic.floor_gap", changed(subject, reward=reward)) == "fail"
    slow = subject.manifest.resources.model_copy(update={"episode_timeout_s": 4000.0})
    assert status(registry, "static.timeout_ceiling", changed(subject, resources=slow)) == "fail"


def test_wrong_packages_fail(registry: GraderRegistry, subject: Subject, tmp_path: Path) -> None:
    wrong = replace(subject, root=tmp_path)
    for check_id in ("static.layout", "static.image_hygiene", "static.oci_labels", "static.sbom"):
        assert status(registry, check_id, wrong) == "fail"
    (tmp_path / "Dockerfile").write_text("FROM python\nENV API_KEY=abc\nRUN pip install numpy\n")
    told = registry.get("static.image_hygiene").run(wrong).evidence
    assert len(told) == 3
    assert status(registry, "static.dependency_pinning", wrong) == "fail"
    (tmp_path / "sbom.cdx.json").write_text('{"bomFormat": "CycloneDX", "components": [{}]}')
    assert status(registry, "static.sbom", wrong) == "pass"


def test_a_recorded_episode_that_differs_fails(registry: GraderRegistry, subject: Subject) -> None:
    rows = list(subject.runtime_evidence.exchanges)
    number = next(n for n, row in enumerate(rows) if row.operation == "step")
    told = json.loads(rows[number].response_json)
    told["data"]["reward"] = 7.0
    rows[number] = replace(rows[number], response_json=json.dumps(told))
    other = replace(subject.runtime_evidence, exchanges=tuple(rows))
    changed_one = replace(subject, runtime_evidence=other)
    assert status(registry, "semantic.replayability", changed_one) == "fail"


def test_oracles_and_canaries(registry: GraderRegistry, subject: Subject) -> None:
    from openenv import GenericEnvClient

    with GenericEnvClient(base_url=subject.running.base_url).sync() as env:
        env.reset(seed=5)
        (subject.root / "oracle.txt").write_text(env.state()["injected_state"])
    known = with_capabilities(subject, oracle=ORACLE, canaries="canaries")
    (subject.root / "canaries").mkdir()
    canary = {"actions": [{"action": 0}] * 3}
    (subject.root / "canaries" / "one.json").write_text(json.dumps(canary))
    reward = subject.manifest.reward.model_copy(update={"range": (0.0, 5.0)})
    best = changed(known, reward=reward)
    assert status(registry, "semantic.oracle_max", best) == "pass"
    assert status(registry, "semantic.oracle_max", known) == "fail"
    assert status(registry, "semantic.no_solution_leakage", known) == "pass"
    assert status(registry, "semantic.canary_floor", best) == "pass"
    low = subject.manifest.reward.model_copy(update={"range": (0.0, 3.0)})
    assert status(registry, "semantic.canary_floor", changed(known, reward=low)) == "fail"


def test_without_a_running_server_checks_are_skipped(
    registry: GraderRegistry, subject: Subject
) -> None:
    for check_id in ("runtime.seed_control", "semantic.replayability"):
        assert status(registry, check_id, replace(subject, running=None)) == "skip"
    gone = replace(subject, running=SimpleNamespace(base_url="http://127.0.0.1:9"))
    assert status(registry, "runtime.seed_control", gone) == "skip"
