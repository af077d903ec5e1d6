"""What Inspect's self-check does not check of the provider."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import inspect_ai
import pytest
from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
)
from inspect_ai.util._sandbox.limits import override_max_exec_output_size
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv
from pydantic import ValidationError

from ludus.interop.inspect import LudusSandbox, LudusSandboxConfig
from tests.research.env_support import LOOSE

pytestmark = pytest.mark.anyio
CONFIG = LudusSandboxConfig(backend="bubblewrap", policy={**LOOSE, "disk": "16M", "tmp": "1M"})


@pytest.fixture
async def sandbox(anyio_backend):
    """Open a small sandbox."""
    opened = await LudusSandbox.sample_init("a task/with: signs", CONFIG, {})
    yield opened["default"]
    await LudusSandbox.sample_cleanup("a task", CONFIG, opened, interrupted=True)


def test_inspect_finds_the_provider():
    assert registry_find_sandboxenv("ludus") is LudusSandbox


async def test_output_beyond_the_limit_is_an_error(sandbox):
    with override_max_exec_output_size(4096), pytest.raises(OutputLimitExceededError) as raised:
        await sandbox.exec(["head", "-c", "5000", "/dev/zero"])
    assert len(raised.value.truncated_output) == 4096
    with override_max_exec_output_size(5000):
        assert len((await sandbox.exec(["head", "-c", "5000", "/dev/zero"])).stdout) == 5000


async def test_endless_files_and_pipes_do_not_hold_the_host(sandbox, monkeypatch):
    monkeypatch.setattr("ludus.interop.inspect.sandbox._FILE_SECONDS", 1)
    await sandbox.exec(["mkfifo", "pipe"])
    with pytest.raises(TimeoutError):
        await sandbox.read_file("pipe")
    await sandbox.exec(["ln", "-s", "/dev/zero", "zero"])
    with (
        override_max_exec_output_size(1024),
        pytest.raises((OutputLimitExceededError, TimeoutError)),
    ):
        await sandbox.read_file("zero")


async def test_links_do_not_lead_to_the_host(sandbox, tmp_path):
    (tmp_path / "secret").write_text("the host's")
    await sandbox.exec(["ln", "-s", str(tmp_path / "secret"), "link"])
    with pytest.raises(FileNotFoundError):
        await sandbox.read_file("link")
    with pytest.raises(OSError, match="link"):
        await sandbox.write_file("link", "changed")
    assert (tmp_path / "secret").read_text() == "the host's"


async def test_a_full_disk_is_an_error(sandbox):
    with pytest.raises(OSError, match="space|quota"):
        await sandbox.write_file("large", b"x" * (32 << 20))


@pytest.mark.parametrize("name", ["-n", "--help", "a b", "$(touch gone)", "ü\n\t'\"", "deep/er/-x"])
async def test_names_are_never_parts_of_a_program(sandbox, name):
    await sandbox.write_file(name, "kept")
    assert await sandbox.read_file(name) == "kept"
    assert not (await sandbox.exec(["test", "-e", "gone"])).success


async def test_words_are_never_parts_of_a_program(sandbox):
    words = ["-n", "$HOME", "`id`", "'", '"', ";", ""]
    done = await sandbox.exec(["printf", "%s\\n", *words])
    assert done.stdout.splitlines() == words


async def test_packages_of_the_evaluation_are_hidden(sandbox):
    """A package of tasks may hold their answers, and its user's environment has it."""
    find = ["find", "/", "-xdev", "-name", "inspect_ai", "-not", "-path", "/proc/*"]
    assert (await sandbox.exec(find)).stdout == ""
    here = Path(inspect_ai.__file__).parent
    assert not (await sandbox.exec(["test", "-e", str(here)])).success


async def test_users(sandbox):
    own = (await sandbox.exec(["id", "-u"])).stdout.strip()
    assert own != "0"
    assert (await sandbox.exec(["id", "-u"], user=own)).stdout.strip() == own
    for other in ("root", "0", "nobody", "", "-u"):
        with pytest.raises(SandboxUserUnsupportedError, match="runs commands as"):
            await sandbox.exec(["id"], user=other)


async def test_a_missing_program_is_an_ordinary_failure(sandbox):
    done = await sandbox.exec(["no-such-program"])
    assert (done.success, done.returncode) == (False, 127)
    assert "no-such-program" in done.stderr


async def test_a_closed_sandbox_is_unavailable(sandbox):
    sandbox.sandbox.close()
    with pytest.raises(SandboxUnavailableError):
        await sandbox.exec(["true"])
    with pytest.raises(SandboxUnavailableError):
        await sandbox.read_file("x")


async def test_a_cancelled_command_does_not_hold_the_sample(sandbox):
    began = time.monotonic()
    with anyio.move_on_after(0.5):
        await sandbox.exec(["sleep", "60"])
    await LudusSandbox.sample_cleanup("a task", CONFIG, {"default": sandbox}, interrupted=True)
    assert time.monotonic() - began < 30


async def test_many_commands_at_once(sandbox):
    told = {}

    async def one(number):
        told[number] = (await sandbox.exec(["echo", str(number)])).stdout

    async with anyio.create_task_group() as group:
        for number in range(12):
            group.start_soon(one, number)
    assert told == {number: f"{number}\n" for number in range(12)}


async def test_a_file_is_a_configuration(tmp_path):
    file = tmp_path / "ludus-sandbox.yaml"
    file.write_text("backend: bubblewrap\npolicy: {disk: 8M, memory: null, cpus: null}\n")
    opened = await LudusSandbox.sample_init("task", str(file), {})
    try:
        assert opened["default"].sandbox.policy.disk == 8 << 20
    finally:
        await LudusSandbox.sample_cleanup("task", str(file), opened, interrupted=False)


@pytest.mark.parametrize(
    "fields",
    [
        {"backend": "process"},
        {"policy": {"memory": "much"}},
        {"policy": {"no_such": 1}},
        {"other": 1},
    ],
)
def test_wrong_configurations(fields):
    with pytest.raises(ValidationError):
        LudusSandbox.config_deserialize(fields)


def test_a_configuration_comes_back_from_a_log():
    kept = CONFIG.model_dump(mode="json")
    assert LudusSandbox.config_deserialize(kept) == CONFIG
