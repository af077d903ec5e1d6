"""A box without any defence: what the attacks must break to be worth anything.

It offers the calls of `ludus.sandbox.Sandbox` and does each in the obvious way: a child process
that inherits everything, a shell steered by a fixed marker, copies that follow links.
"""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["NaiveBox"]

BOUND = 1 << 26
"""Keeps the proofs with endless files harmless to the machine that shows them."""


@dataclass(frozen=True, slots=True)
class NaiveCompleted:
    stdout: bytes
    stderr: bytes
    returncode: int
    timed_out: bool = False
    oom_killed: bool = False
    stdout_cut: int = 0
    stderr_cut: int = 0

    def check(self) -> None:
        if self.returncode:
            raise RuntimeError(f"command failed: {self.stdout!s} {self.stderr.decode('latin1')}")


class NaiveBox:
    def __init__(self, workspace: Path) -> None:
        workspace.mkdir(parents=True, exist_ok=True)
        self.workspace = workspace

    def run(
        self,
        argv: list[str],
        *,
        input: bytes = b"",
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout: float | None = None,
        idle: float | None = None,
    ) -> NaiveCompleted:
        pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        environment = {**os.environ, "HOME": str(self.workspace), **(env or {})}
        child = subprocess.Popen(
            argv, cwd=cwd or self.workspace, env=environment, close_fds=False, **pipes
        )
        try:
            out, err = child.communicate(input, timeout)
            return NaiveCompleted(out, err, child.returncode)
        except subprocess.TimeoutExpired as late:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe:
                    pipe.close()
            return NaiveCompleted(late.stdout or b"", late.stderr or b"", -9, timed_out=True)

    def spawn(self, argv: list[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(argv, cwd=self.workspace, stdin=subprocess.DEVNULL)

    def shell(self) -> NaiveShell:
        return NaiveShell(self.workspace)

    def put(self, source: str | Path, target: str) -> None:
        _copy(source, target)

    def get(self, source: str, target: str | Path) -> None:
        _copy(source, target)

    def read_bytes(self, path: str, limit: int | None = None) -> bytes:
        with Path(path).open("rb") as file:
            return file.read(BOUND)

    def write_bytes(self, path: str, data: bytes) -> None:
        Path(path).write_bytes(data)

    def snapshot(self) -> Path:
        kept = self.workspace.with_name(f"{self.workspace.name}-kept")
        shutil.copytree(self.workspace, kept, dirs_exist_ok=True)
        return kept

    def restore(self, snapshot: Path) -> None:
        shutil.copytree(snapshot, self.workspace, dirs_exist_ok=True)

    def close(self) -> None:
        """Nothing is held, so nothing is ended."""


class NaiveShell:
    """bash over pipes; a fixed marker says that a command is over."""

    def __init__(self, workspace: Path) -> None:
        self.child = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=workspace,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(
        self, command: str, *, timeout: float = 2.0, keep_background: bool = False
    ) -> NaiveCompleted:
        assert self.child.stdin
        assert self.child.stdout
        try:
            self.child.stdin.write(command.encode() + b"\necho __DONE__ $?\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            return NaiveCompleted(b"", b"the shell has ended", -1)
        out, deadline = b"", time.monotonic() + timeout
        while not (end := re.search(rb"__DONE__ (\d+)\n", out)):
            ready, _, _ = select.select([self.child.stdout], [], [], deadline - time.monotonic())
            chunk = os.read(self.child.stdout.fileno(), 65536) if ready else b""
            if not chunk:
                return NaiveCompleted(out, b"", -1, timed_out=not ready)
            out += chunk
        return NaiveCompleted(out[: end.start()], self._errors(), int(end.group(1)))

    def _errors(self) -> bytes:
        assert self.child.stderr
        ready, _, _ = select.select([self.child.stderr], [], [], 0.02)
        return os.read(self.child.stderr.fileno(), 65536) if ready else b""

    def __enter__(self) -> NaiveShell:
        return self

    def __exit__(self, *exception: object) -> None:
        self.child.kill()
        self.child.wait()
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            assert pipe
            try:
                pipe.close()
            except BrokenPipeError:
                continue


def _copy(source: str | Path, target: str | Path) -> None:
    if Path(source).is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, copy_function=_copy_file)
    else:
        _copy_file(source, target)


def _copy_file(source: str | Path, target: str | Path) -> None:
    with Path(source).open("rb") as read, Path(target).open("wb") as write:
        write.write(read.read(BOUND))
    shutil.copymode(source, target)
