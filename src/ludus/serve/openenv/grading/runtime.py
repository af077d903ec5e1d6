"""Checks of the running server: seeds, determinism, isolation, declarations, containment."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from openenv.validation.types import ProviderCapability

from ludus.atomic import write_whole
from ludus.serve.openenv.grading.check import Check, Found, Level, NotChecked
from ludus.serve.openenv.grading.episodes import asked, plan_of, play, play_side_by_side, seen

__all__ = [
    "EPISODE_DETERMINISM",
    "EPISODE_ISOLATION",
    "HOST_CONTAINMENT",
    "ORACLE_CONTAINMENT",
    "RESOURCE_BOUNDS",
    "REWARD_ATTRIBUTION",
    "SEED_CONTROL",
    "TASK_DECLARATION_ACCURACY",
    "TOOL_DECLARATION_ACCURACY",
    "TRAJECTORY_RECORD",
]

_STARTED = ("runtime.startup",)
_SEEDS = 4
_COMMAND_SECONDS = 30.0


def _seed_control(subject: Any) -> Found:
    plan = replace(plan_of(subject), actions=())
    seed = int(plan.reset.get("seed") or 0)
    first, again = (seen(play(subject, plan, seed=seed)) for _ in range(2))
    others = [seen(play(subject, plan, seed=seed + n)) for n in range(1, _SEEDS)]
    distinct = len({json.dumps(one, sort_keys=True) for one in (first, *others)})
    found = Found(measured={"seeds": _SEEDS, "distinct_first_observations": distinct})
    found.expect(first == again, "two resets with one seed gave different observations")
    return found


def _episode_determinism(subject: Any) -> Found:
    plan, found = plan_of(subject), Found()
    first, again = (seen(play(subject, plan)) for _ in range(2))
    found.expect(len(first) == len(again), "the same episode had another length")
    for number, (one, other) in enumerate(zip(first, again, strict=False)):
        found.expect(one == other, f"answer {number} of the same episode was another")
    found.measured["steps"] = len(first) - 1
    return found


def _episode_isolation(subject: Any) -> Found:
    plan = plan_of(subject)
    other = replace(plan, reset={**plan.reset, "seed": int(plan.reset.get("seed") or 0) + 1})
    alone = [seen(play(subject, one)) for one in (plan, other)]
    together = [seen(answers) for answers in play_side_by_side(subject, (plan, other))]
    return Found([] if alone == together else ["sessions side by side had other results"])


def _reward_attribution(subject: Any) -> Found:
    found, is_over = Found(), False
    for number, answer in enumerate(play(subject, plan_of(subject))[1:]):
        reward = answer.get("reward")
        told = isinstance(reward, int | float) and not isinstance(reward, bool)
        found.expect(told, f"step {number} has no reward of its own")
        found.expect(not is_over, f"step {number} came after the end")
        is_over = bool(answer.get("done"))
    return found


def _trajectory_record(subject: Any) -> Found:
    plan = plan_of(subject)
    steps = [
        {"request": json.loads(row.request_json), "response": json.loads(row.response_json)}
        for row in subject.runtime_evidence.exchanges
    ]
    file = subject.outputs_dir / "trajectory.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"reset": plan.reset, "steps": steps}).encode()
    write_whole(file, content)
    return Found(measured={"exchanges": len(steps), "bytes": len(content)})


def _tool_declaration_accuracy(subject: Any) -> Found:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    try:
        told = asked(subject, "/mcp", request)
        tools = {tool["name"] for tool in told["result"]["tools"]}
    except (OSError, ValueError, KeyError, TypeError) as problem:
        return Found([f"tools cannot be listed: {type(problem).__name__}"])
    declared = set(subject.manifest.capabilities.declared_tools)
    found = Found(measured={"tools": sorted(tools)[:50]})
    for name in sorted(declared ^ tools):
        what = "declared and not there" if name in declared else "there and not declared"
        found.problems.append(f"the tool {name!r:.80} is {what}")
    return found


def _task_declaration_accuracy(subject: Any) -> Found:
    found = Found()
    try:
        name = asked(subject, "/list_environments")[0]
        for split, declared in subject.manifest.capabilities.declared_task_count.items():
            count = asked(subject, f"/{name}/num_tasks", {"split": split})["num_tasks"]
            found.measured[split] = count
            found.expect(count == declared, f"{split} has {count} tasks, not {declared}")
    except (OSError, ValueError, KeyError, IndexError, TypeError) as problem:
        found.problems.append(f"tasks cannot be counted: {type(problem).__name__}")
    return found


def _output(subject: Any, *command: str) -> str:
    if subject.running is None:
        raise NotChecked("there is no running server")
    done = subject.running.exec(list(command), _COMMAND_SECONDS)
    return str(done.stdout).strip() if done.exit_code == 0 else ""


def _host_containment(subject: Any) -> Found:
    found = Found(measured={"uid": _output(subject, "id", "-u")})
    found.expect(found.measured["uid"] not in ("", "0"), "the server runs as root")
    for path in ("/var/run/docker.sock", "/run/containerd/containerd.sock"):
        there = _output(subject, "ls", path)
        found.expect(not there, f"{path} is in the container")
    rights = _output(subject, "sh", "-c", "grep CapEff /proc/1/status").rpartition("\t")[2]
    found.expect(not rights or int(rights, 16) == 0, f"the server has capabilities: {rights}")
    return found


def _resource_bounds(subject: Any) -> Found:
    peak = _output(subject, "cat", "/sys/fs/cgroup/memory.peak")
    if not peak.isdigit():
        raise NotChecked("the container does not tell how much memory it has used")
    used, declared = int(peak) >> 20, subject.manifest.resources.memory_mb
    found = Found(measured={"memory_mb": used, "declared_memory_mb": declared})
    found.expect(used <= declared, f"{used} MiB were used, more than {declared}")
    return found


def _oracle_containment(subject: Any) -> Found:
    name = subject.manifest.capabilities.oracle.location.rpartition("/")[2]
    where = _output(subject, "find", "/", "-xdev", "-name", name)
    return Found([f"the oracle is in the container: {where.splitlines()[0]}"] if where else [])


_EXEC = frozenset({ProviderCapability.EXEC})
SEED_CONTROL = Check(
    "runtime.seed_control",
    Level.RUNTIME,
    _seed_control,
    "Draw all random numbers from the seed of the reset.",
    depends_on=_STARTED,
)
EPISODE_DETERMINISM = Check(
    "runtime.episode_determinism",
    Level.RUNTIME,
    _episode_determinism,
    "Draw all random numbers from the seed of the reset.",
    depends_on=("runtime.seed_control",),
)
EPISODE_ISOLATION = Check(
    "runtime.episode_isolation",
    Level.RUNTIME,
    _episode_isolation,
    "Keep the state of an episode in its session.",
    depends_on=("runtime.episode_determinism",),
)
REWARD_ATTRIBUTION = Check(
    "runtime.reward_attribution",
    Level.RUNTIME,
    _reward_attribution,
    "Give each step a reward, and none after the end.",
    depends_on=_STARTED,
)
TRAJECTORY_RECORD = Check(
    "runtime.trajectory_record",
    Level.RUNTIME,
    _trajectory_record,
    "Answer every message with JSON.",
    depends_on=_STARTED,
)
TOOL_DECLARATION_ACCURACY = Check(
    "runtime.tool_declaration_accuracy",
    Level.RUNTIME,
    _tool_declaration_accuracy,
    "Declare the tools that the server lists.",
    requires_capabilities=frozenset({"declared_tools"}),
    depends_on=_STARTED,
)
TASK_DECLARATION_ACCURACY = Check(
    "runtime.task_declaration_accuracy",
    Level.RUNTIME,
    _task_declaration_accuracy,
    "Declare the number of tasks that the server has.",
    requires_capabilities=frozenset({"task_api", "declared_task_count"}),
    depends_on=_STARTED,
)
HOST_CONTAINMENT = Check(
    "runtime.host_containment",
    Level.RUNTIME,
    _host_containment,
    "Run the server as a user without capabilities.",
    requires_provider=_EXEC,
    depends_on=_STARTED,
)
RESOURCE_BOUNDS = Check(
    "runtime.resource_bounds",
    Level.RUNTIME,
    _resource_bounds,
    "Declare as much memory as is used.",
    requires_provider=_EXEC,
    depends_on=_STARTED,
)
ORACLE_CONTAINMENT = Check(
    "runtime.oracle_containment",
    Level.RUNTIME,
    _oracle_containment,
    "Leave the oracle out of the image.",
    requires_capabilities=frozenset({"oracle"}),
    requires_provider=_EXEC,
    depends_on=_STARTED,
)
