"""A task's resources hold for all that runs in the agent's box; what is not there is refused."""

from __future__ import annotations

import json

import pytest

import ludus
from ludus.errors import PolicyNotEnforceable
from ludus.research import ResearchEnv, load_task, register_task
from ludus.research.episode.agent_sandbox import agent_policy
from tests.research.env_support import FakeGrade, write_task
from tests.research.support import DOCUMENTED
from tests.sandbox.support import needs, why_not

pytestmark = needs("bubblewrap", root=True)

# Several processes at once: each alone would stay below the limit.
SPIN = """
import json, os, resource, time
began = time.monotonic()
for _ in range(3):
    if os.fork() == 0:
        while time.monotonic() < began + 1.0:
            pass
        os._exit(0)
for _ in range(3):
    os.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([used.ru_utime + used.ru_stime, time.monotonic() - began]))
"""
EAT = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        kept = os.urandom(1 << 20) * 96
        time.sleep(1.0)
        os._exit(0)
print([os.wait()[1] for _ in range(4)])
"""


@pytest.fixture(params=["bubblewrap", "podman", "docker"])
def env(request, tmp_path, monkeypatch):
    if reason := why_not(request.param):
        pytest.skip(f"{request.param}: {reason}")
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    folder = write_task(tmp_path / "answers")
    text = (folder / "task.yaml").read_text()
    (folder / "task.yaml").write_text(text.replace("cpu: 1", "cpu: 0.5"))
    with ResearchEnv(folder, backend=request.param, grade=FakeGrade()) as env:
        env.reset(seed=0)
        yield env


def test_processors_are_held_to_the_tasks(env):
    env.sandbox.write_bytes("spin.py", SPIN.encode())
    used, took = json.loads(env.step("python spin.py")[0]["output"])
    assert took >= 1.0
    # Half a processor; what a period of 0.1 s begins with may be used at once.
    assert used <= 0.5 * took + 0.15


def test_memory_is_held_to_the_tasks_for_all_processes_together(env):
    env.sandbox.write_bytes("eat.py", EAT.encode())
    observation, *_, info = env.step("python eat.py")
    # Four times 96 MiB do not fit into 256.
    assert "memory was full" in observation["output"]
    assert "[0, 0, 0, 0]" not in observation["output"]
    assert info["usage"]["memory_peak"] <= 256 << 20
    assert info["outcome"] == "running"
    assert env.step("echo still")[0]["output"] == "still\n"


def test_what_the_file_says_is_what_the_box_gets(tmp_path):
    policy = agent_policy(load_task(write_task(tmp_path / "answers")))
    assert (policy.memory, policy.cpus, policy.disk) == (256 << 20, 1.0, 16 << 20)
    assert policy.network == "none"
    assert policy.environment["OMP_NUM_THREADS"] == "1"


def test_a_graphics_processor_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("LUDUS_CACHE", str(tmp_path / "cache"))
    folder = write_task(tmp_path / "gpu", gpu=1)
    register_task("wantsGpu", None, folder=folder)
    try:
        for make in (
            lambda: ResearchEnv(folder),
            lambda: ludus.make("mlgym/wantsGpu-v0"),
        ):
            with pytest.raises(
                PolicyNotEnforceable, match=r"asks for 1 GPU.*resources\.gpu"
            ) as caught:
                make()
            assert caught.value.reasons.keys() == {"gpu"}
        with ludus.make("mlgym/wantsGpu-v0", gpus=0, grade=FakeGrade()) as env:
            env.reset(seed=0)
            assert env.step("ls /dev/nvidia* /dev/dri")[0]["exit_code"] != 0
    finally:
        ludus.registry.pop("mlgym/wantsGpu-v0", None)


def test_the_documented_example_asks_for_a_gpu_and_is_refused_for_it(tmp_path):
    (tmp_path / "task.yaml").write_text(DOCUMENTED)
    with pytest.raises(PolicyNotEnforceable, match="gpus=0"):
        ResearchEnv(tmp_path)
