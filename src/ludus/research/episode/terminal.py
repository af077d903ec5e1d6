"""The agent's persistent shell, the files its tools leave for the host, and a transcript."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ludus.errors import SandboxClosed, SandboxError
from ludus.research.episode.observation import output_text
from ludus.sandbox import Completed, Sandbox, Shell, Usage
from ludus.terminal_text import escaped

__all__ = ["Said", "Terminal", "Transcript"]

HOME = "/workspace"
STATE = "/tmp/.ludus"  # noqa: S108 - inside a sandbox
_SMALL = 1 << 13
_MOMENT = 2.0
_STATE_TIMEOUT = 20.0  # for a busy host: a shell that was not saved in time is lost
_WHERE = 'builtin printf %s "$PWD"'
# Prints the state of a shell as commands that restore it, without the variables that bash sets
# itself or that are read-only: one error would stop all that follows.
_OWN = "BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HIST*|LINENO|PIPESTATUS|PPID|RANDOM|"
_OWN += "SECONDS|SHELLOPTS|SRANDOM|UID|_"
_SHELL = f"""\
(builtin shopt -s extglob; builtin set -- $(builtin compgen -A variable -X '@({_OWN})')
builtin declare -p "$@")
(builtin set -- $(builtin compgen -A function -X __ludus)
(( $# )) && builtin declare -f "$@")
builtin alias -p; builtin shopt -p; builtin set +o; builtin :
"""
_REQUESTS = ("validate", "submit")
# What errors say is where a person would see it: among the rest. Not a line of its own, so that
# the numbers of lines in messages are right.
_TOGETHER = "exec 2>&1; "


@dataclass(frozen=True, slots=True)
class Said:
    """The result of a command; ``usage`` is the sandbox's."""

    output: str
    exit_code: int
    seconds: float = 0.0
    timed_out: bool = False
    usage: Usage = field(default_factory=Usage)


class Terminal:
    """A shell in an agent's sandbox, which the caller closes.

    Nothing it says is trusted: the folder, the open file and requests are read as texts of limited
    length.

    Raises:
        SandboxError: No shell starts.

    Attributes:
        sandbox: The agent's.
        cwd: The shell's folder.
        served: Tokens of requests that were served.
        on_output: Called with what commands print, as it arrives; see :meth:`Shell.run`.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.cwd = HOME
        self.served: dict[str, str] = {}
        self.on_output: Callable[[bytes], None] | None = None
        self._is_cut_off = False
        self._shell: Shell = sandbox.shell()

    def run(self, text: str, timeout: float) -> Said:
        """Run a command; everything that it started ends with it.

        Raises:
            SandboxError: The sandbox is gone, was ended from outside, or starts no shell any more.
        """
        try:
            done = self._run(text, timeout)
        except SandboxClosed:
            if not self.is_sandbox_alive():
                raise
            # The command was not even begun where no shell started in time; once more, then.
            done = self._run(text, timeout)
        if done.cut_off:
            self._is_cut_off = True
            raise SandboxError(f"A command was ended from outside of sandbox {self.sandbox.name}.")
        self._look_around()
        return Said(
            output_text(done, self.sandbox.policy.output),
            done.returncode,
            done.usage.wall_seconds or 0.0,
            done.timed_out,
            done.usage,
        )

    def _run(self, text: str, timeout: float) -> Completed:
        return self._shell.run(_TOGETHER + text, timeout=timeout, on_output=self.on_output)

    def is_sandbox_alive(self) -> bool:
        """Whether the sandbox still answers, and was not interfered with from outside."""
        if self._is_cut_off:
            return False
        try:
            self.sandbox.usage()
        except SandboxError:
            return False
        return True

    def end(self) -> None:
        """Kill the shell and all that it has started."""
        self._shell.close()

    def open_file(self) -> str:
        """Return the path of the file that the tools have open, if any."""
        try:
            found = json.loads(self._read("open.json"))
            path = found["file"]
        except (SandboxError, ValueError, KeyError, TypeError, RecursionError):
            return ""
        # Half of a surrogate pair can be written in JSON, and in no record or request.
        return path.encode("utf-8", "replace").decode() if isinstance(path, str) else ""

    def requests(self) -> frozenset[str]:
        """Return new requests: ``validate``, ``submit``."""
        asked = set()
        for name in _REQUESTS:
            token = self._read(f"requests/{name}")
            if token and token != self.served.get(name):
                self.served[name] = token
                asked.add(name)
        return frozenset(asked)

    def save(self) -> dict[str, object]:
        """Return folder, variables, functions and the tools' files as plain data."""
        try:
            shell = self._shell.run(_SHELL, timeout=_STATE_TIMEOUT)
        finally:
            self._shell.sweep()
        whole = shell.returncode == 0 and not shell.stdout_cut
        return {
            "cwd": self.cwd,
            "shell": shell.text if whole else "",
            "served": dict(self.served),
            "open": self._read("open.json"),
            "notes": self._read("memory.jsonl", 1 << 20),
        }

    def load(self, saved: dict[str, object]) -> None:
        """Restore :meth:`save`'s data in a fresh sandbox."""
        self.served = dict(saved["served"])  # type: ignore[call-overload]
        for name, key in (("open.json", "open"), ("memory.jsonl", "notes")):
            if text := str(saved[key]):
                self.sandbox.write_bytes(f"{STATE}/{name}", text.encode("utf-8", "surrogateescape"))
        # As it was: the token of a request that was served is still there.
        for name, token in self.served.items():
            self.sandbox.write_bytes(f"{STATE}/requests/{name}", token.encode())
        self._shell.run(f"{{ {saved['shell']}\n}} >/dev/null 2>&1", timeout=_STATE_TIMEOUT)
        quoted = str(saved["cwd"]).replace("'", "'\\''")
        self._shell.run(f"builtin cd -- '{quoted}'", timeout=_STATE_TIMEOUT)
        self._look_around()

    def _look_around(self) -> None:
        """Ask the shell for its folder, and kill everything that it has started.

        The killing is done from outside, since the agent controls what its shell does after a
        command, even after one of the host's.
        """
        try:
            with suppress(SandboxClosed):
                where = self._shell.run(_WHERE, timeout=_MOMENT)
                if where.returncode == 0 and where.stdout.startswith(b"/"):
                    self.cwd = where.text
        finally:
            self._shell.sweep()

    def _read(self, name: str, limit: int = _SMALL) -> str:
        try:
            return self.sandbox.read_bytes(f"{STATE}/{name}", limit).decode("utf-8", "replace")
        except SandboxClosed:
            raise
        except (SandboxError, OSError):  # such as a folder that the agent has closed to everybody
            return ""


_LONGEST = 1 << 18


class Transcript:
    """The last part of what was typed and printed, starting with ``text`` in the folder ``cwd``."""

    def __init__(self, text: str = "", cwd: str = "/workspace") -> None:
        self._text, self._cwd = text, cwd

    def add(self, action: object, observation: Any) -> str:
        """Take one step and return its text; an observation of another form is left out."""
        typed = action if isinstance(action, str) else json.dumps(action, default=str)
        seen = observation if isinstance(observation, Mapping) else {}
        output = str(seen.get("output", ""))
        end = "" if not output or output.endswith("\n") else "\n"
        prompt = f"{self._cwd} $ {typed}\n" if typed else ""
        self._cwd = str(seen.get("cwd", self._cwd))
        added = escaped(f"{prompt}{output}{end}")
        self._text = (self._text + added)[-_LONGEST:]
        return added

    def text(self) -> str:
        """Return all of it."""
        return self._text
