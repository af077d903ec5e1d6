"""Ludus's sandboxes as a provider for Inspect: ``sandbox="ludus"``.

Commands, and reads and writes of files, are done by programs inside, with the rights that the
model's own commands have. No path of the host is ever opened for a file of the sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Literal, NoReturn, overload

from ludus import optional
from ludus.errors import SandboxClosed, SandboxError
from ludus.interop.inspect.config import CONFIG_FILE, LudusSandboxConfig, read_config
from ludus.interop.inspect.threads import in_thread
from ludus.sandbox import Completed, Sandbox, open_sandbox, sweep

try:
    import anyio
    from inspect_ai.util import (
        ExecResult,
        OutputLimitExceededError,
        SandboxEnvironment,
        SandboxEnvironmentLimits,
        SandboxUnavailableError,
        SandboxUserUnsupportedError,
        concurrency,
        sandboxenv,
    )
except ImportError as problem:
    raise optional.missing("inspect_ai", extra="inspect") from problem

__all__ = ["LudusSandbox"]

HOME = "/workspace"
_FILE_SECONDS = 180
_SHELL = "/bin/sh"
# By absolute path, since the command's own PATH may hold anything. It says whether a program may
# not be run (126) or is not there (127), whatever the backend would say.
_RUN = 'exec "$@"'
_CANNOT_RUN = 126
_MISSING, _FOLDER, _FORBIDDEN = 64, 65, 66
_READ = f"""
if [ -d "$1" ]; then exit {_FOLDER}; fi
if [ ! -e "$1" ]; then exit {_MISSING}; fi
if [ ! -r "$1" ]; then exit {_FORBIDDEN}; fi
exec head -c "$2" -- "$1"
"""
_WRITE = f"""
if [ -d "$1" ]; then exit {_FOLDER}; fi
if [ -e "$1" ] && [ ! -w "$1" ]; then exit {_FORBIDDEN}; fi
mkdir -p -- "${{1%/*}}/" && cat > "$1"
"""
_DENIED = ("Permission denied", "Read-only file system")


@sandboxenv(name="ludus")
class LudusSandbox(SandboxEnvironment):  # type: ignore[misc]
    """A sandbox of one sample.

    Every command has a process namespace of its own and ends with everything that it started, so
    what needs a server inside (``exec_remote``, ``bash_session``, ``web_browser``) does not work.
    Commands run as the sandbox's only user; any other raises ``SandboxUserUnsupportedError``.

    Args:
        sandbox: The open sandbox, which this object closes.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__()
        self.sandbox = sandbox
        self._users: tuple[str, ...] | None = None

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command in ``/workspace`` or in ``cwd``; it is not repeated after a time-out.

        Raises:
            TimeoutError: It did not end in time, and was killed with all that it started.
            PermissionError: The program may not be run.
            OutputLimitExceededError: It wrote more than Inspect's limit to one of its streams.
            SandboxUserUnsupportedError: The sandbox has no such user.
            SandboxUnavailableError: The sandbox is closed.
        """
        if user is not None and user not in await self._known_users():
            raise SandboxUserUnsupportedError(
                f"This sandbox runs commands as {' or '.join(self._users or ())} only, and "
                f"{user!r} was asked for. It has no other users, and no root."
            )
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        done = await self._run(
            _RUN, cmd, input=input, cwd=cwd, env=env, timeout=timeout, limit=limit, slot=concurrency
        )
        if done.stdout_cut or done.stderr_cut:
            raise OutputLimitExceededError(
                SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, done.text or done.error_text
            )
        if done.returncode == _CANNOT_RUN and _DENIED[0] in done.error_text:
            raise PermissionError(done.error_text.strip())
        return ExecResult(done.returncode == 0, done.returncode, done.text, done.error_text)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file; folders above it are made.

        Raises:
            TimeoutError: It took too long.
            PermissionError: The sandbox's user may not write it.
            IsADirectoryError: There is a folder of that name.
            OSError: It cannot be written, for instance because the disk is full.
        """
        path = _absolute(file)
        done = await self._run(_WRITE, [path], input=contents, timeout=_FILE_SECONDS)
        _raise_for(done, file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Return the contents of a file.

        Raises:
            TimeoutError: It took too long; so does a pipe that nobody writes to.
            FileNotFoundError: There is no such file.
            PermissionError: The sandbox's user may not read it.
            IsADirectoryError: It is a folder.
            OutputLimitExceededError: It is larger than Inspect's limit.
            UnicodeDecodeError: It is wanted as text and is not UTF-8.
        """
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        words = [_absolute(file), str(limit + 1)]
        done = await self._run(_READ, words, timeout=_FILE_SECONDS, limit=limit + 1)
        _raise_for(done, file)
        if len(done.stdout) > limit:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        return done.stdout.decode() if text else done.stdout

    def default_polling_interval(self) -> float:
        """Return the seconds between requests of Inspect's services; commands are quick here."""
        return 0.2

    @classmethod
    def default_concurrency(cls) -> int | None:
        """Return how many sandboxes are open at a time, unless the user says otherwise."""
        return 2 * (os.cpu_count() or 1)

    @classmethod
    async def task_init(cls, task_name: str, config: Any) -> None:
        """Check the configuration before the first sample.

        Raises:
            ValueError: The configuration is wrong.
        """
        read_config(config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Any, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Open the sandbox of a sample.

        Raises:
            ValueError: The configuration is wrong.
            SandboxUnavailable: No backend works here; the message says what to install.
            PolicyNotEnforceable: A limit cannot be enforced here.
        """
        found = read_config(config)
        opened = partial(
            open_sandbox,
            # Of this Python's packages none is shown: one of them may hold answers of the task.
            found.limits(packages=()),
            backend=found.backend,
            image=found.image,
            label=_label(task_name),
        )
        return {"default": cls(await in_thread(opened))}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: Any,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Close the sandbox, with everything that runs in it, also after an interruption."""
        with anyio.CancelScope(shield=True):
            for environment in environments.values():
                await in_thread(environment.as_type(LudusSandbox).sandbox.close)

    @classmethod
    async def cli_cleanup(cls, id: str | None) -> None:
        """Remove what sandboxes of dead processes left behind."""
        await in_thread(sweep)

    @classmethod
    def config_files(cls) -> list[str]:
        """Return the file beside a task that Inspect takes for the configuration."""
        return [CONFIG_FILE]

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> LudusSandboxConfig:
        """Return the configuration that a log has."""
        return LudusSandboxConfig.model_validate(config)

    async def _known_users(self) -> tuple[str, ...]:
        """Return the name and the number of the sandbox's user."""
        if self._users is None:
            done = await self._run("id -un 2>/dev/null; id -u", [], timeout=_FILE_SECONDS)
            self._users = tuple(done.text.split())
        return self._users

    async def _run(
        self,
        script: str,
        words: Sequence[str],
        *,
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,
        limit: int | None = None,
        slot: bool = False,
    ) -> Completed:
        """Run a script of the shell with arguments."""
        given = input.encode() if isinstance(input, str) else input or b""
        call = partial(
            self.sandbox.run,
            [_SHELL, "-c", script, "sh", *words],
            input=given,
            cwd=None if cwd is None else _absolute(cwd),
            env=env,
            timeout=timeout,
            output=limit,
        )
        busy = concurrency("ludus-commands", 2 * (os.cpu_count() or 1)) if slot else nullcontext()
        try:
            async with busy:
                done = await in_thread(call)
        except SandboxClosed as closed:
            raise SandboxUnavailableError(str(closed)) from closed
        except SandboxError as failed:
            raise SandboxUnavailableError(f"The command could not be run. {failed}") from failed
        if done.timed_out:
            raise TimeoutError(f"The command did not end within {timeout} seconds.")
        return done


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{HOME}/{path}"


def _label(task_name: str) -> str:
    kept = "".join(letter if letter.isalnum() else "-" for letter in task_name)
    return kept.strip("-")[:24] or "inspect"


def _raise_for(done: Completed, file: str) -> None:
    """Raise what Inspect expects for the status of a script about a file."""
    kind = _PROBLEMS.get(done.returncode)
    if kind is not None:
        error, why = kind
        raise error(f"{file!r}: {why}")
    if done.returncode != 0:
        _raise_other(done, file)


def _raise_other(done: Completed, file: str) -> NoReturn:
    said = done.error_text.strip()[-500:] or f"status {done.returncode}"
    denied = any(word in said for word in _DENIED)
    raise (PermissionError if denied else OSError)(f"{file!r}: {said}")


_PROBLEMS: dict[int, tuple[type[OSError], str]] = {
    _MISSING: (FileNotFoundError, "there is no such file"),
    _FOLDER: (IsADirectoryError, "it is a directory"),
    _FORBIDDEN: (PermissionError, "the sandbox's user has no permission"),
}
