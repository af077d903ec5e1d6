"""Background jobs: programs that run on between an agent's commands, because it asked for them.

A job has a process namespace of its own, below the limits of the agent's sandbox, and is in a
control group that is frozen while anything is graded or stored: the workspace is then at rest.
Where there is no such group, there are no jobs. Jobs are killed before the test and at the end.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ludus.errors import SandboxClosed, SandboxError
from ludus.research.tools.jobs import JobCall
from ludus.sandbox import Sandbox, SandboxProcess
from ludus.sandbox.linux.freezer import Freezer
from ludus.sandbox.process_handle import LocalJob

__all__ = ["MOST_JOBS", "MOST_RUNNING", "Jobs"]

MOST_RUNNING, MOST_JOBS = 4, 64
"""Jobs at a time, and in an episode."""
KEPT = 1 << 18
"""Bytes of a job's output that are kept: its end."""
MOST_WRITTEN = 1 << 26
"""Bytes that a job may write; the host reads them all."""
_SHOWN = 1 << 13
_TOLD = 200
_PATIENCE = 5.0
_CHUNK = 1 << 16
_LAST_READS = (1 << 20) // _CHUNK  # a pipe holds at most 1 MiB
# It waits until the host has put it into its control group, and reads nothing else of its input.
_START = 'printf . && read -r _ && exec bash -c "$0" </dev/null 2>&1'
_GONE = "gone: the episode was resumed"


class Job:
    """One job: its process, and the end of what it has written."""

    def __init__(self, number: int, command: str, process: SandboxProcess, until: float) -> None:
        self.number, self.command, self._process, self._until = number, command, process, until
        self._guard = threading.Lock()
        self._kept, self._total = bytearray(), 0
        self._began, self._ended = time.monotonic(), 0.0
        self.state = "running"
        self._thread = threading.Thread(target=self._watch, name="ludus-job", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.state == "running"

    @property
    def is_alive(self) -> bool:
        """Whether any of its processes may still be there."""
        return self._thread.is_alive()

    def stop(self, state: str) -> None:
        """Kill it, with all that it started."""
        with self._guard:
            if not self.is_running:
                return
            self.state = state
        self._process.kill()

    def join(self, seconds: float) -> None:
        """Wait until it has ended."""
        self._thread.join(seconds)

    def output(self, offset: int | None) -> str:
        """Return a part of its output, and which part that is."""
        with self._guard:
            kept, total = bytes(self._kept), self._total
        first = total - len(kept)
        begin = max(first, total - _SHOWN if offset is None else min(offset, total))
        part = kept[begin - first :][:_SHOWN]
        end = begin + len(part)
        lost = f"; the first {first:,} are lost" if first else ""
        head = f"Bytes {begin} to {end} of {total}{lost}. {self.line()}\n"
        return head + part.decode("utf-8", "replace")

    def line(self) -> str:
        """Return what ``jobs list`` says about it."""
        row = self.plain()
        return f"Job {self.number}: {row['state']}, {row['seconds']:.0f} s, {row['bytes']:,} bytes."

    def plain(self) -> dict[str, Any]:
        """Return it as plain data, for the record."""
        return {
            "job": self.number,
            "command": self.command[:_TOLD],
            "state": self.state,
            "seconds": round((self._ended or time.monotonic()) - self._began, 3),
            "bytes": self._total,
        }

    def _watch(self) -> None:
        """Read what it writes until it ends or its time is over, then release it."""
        process = self._process
        poller = select.poll()
        poller.register(process.pipes.stdout, select.POLLIN)
        poller.register(process.exit_fd, select.POLLIN)
        try:
            while process.poll() is None:
                left = self._until - time.monotonic()
                if left <= 0 or self._total > MOST_WRITTEN:
                    wrote = f"it wrote more than {MOST_WRITTEN:,} bytes"
                    self.stop(f"killed: {'its time was over' if left <= 0 else wrote}")
                    process.wait(_PATIENCE)
                    break
                poller.poll(min(left, 0.5) * 1000)
                if not self._read():
                    process.wait(min(left, 0.05))
            # What is in the pipe; another job may hold its end, and write on and on.
            for _ in range(_LAST_READS):
                if not self._read():
                    break
        except (OSError, ValueError, SandboxError):
            pass  # the sandbox is gone
        finally:
            status = process.poll()
            with self._guard, suppress(OSError):
                if self.is_running:
                    self.state = "lost" if status is None else f"ended with status {status}"
                self._ended = time.monotonic()
            with suppress(OSError, SandboxError):
                process.close()

    def _read(self) -> int:
        try:
            data = os.read(self._process.pipes.stdout, _CHUNK)
        except BlockingIOError:
            return 0
        with self._guard:
            self._total += len(data)
            self._kept += data
            if len(self._kept) > KEPT:
                del self._kept[: len(self._kept) - KEPT]
        return len(data)


class Jobs:
    """The jobs of an episode in its sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._jobs: list[Job] = []
        self._before: list[dict[str, Any]] = []
        self.notice = ""
        """What the agent is told with its next action."""

    def call(self, call: JobCall, cwd: str, seconds: float) -> tuple[str, int]:
        """Carry out a call; return what the agent is told, and a status.

        Args:
            call: What it asks for.
            cwd: Folder in which a job starts.
            seconds: What is left of the episode.

        Raises:
            SandboxError: The sandbox is gone.
        """
        if call.action == "start":
            return self._start(call, cwd, seconds)
        if call.action == "list":
            lines = [f"Job {row['job']}: {row['state']}." for row in self._before]
            lines += [job.line() for job in self._jobs]
            return "\n".join(lines or ["There are no jobs."]) + "\n", 0
        job = next((job for job in self._jobs if job.number == call.job), None)
        if job is None:
            gone = any(row["job"] == call.job for row in self._before)
            why = f"Job {call.job} is {_GONE}." if gone else f"There is no job {call.job}."
            return f"{why}\n", 1
        if call.action == "output":
            return job.output(call.offset), 0
        job.stop("stopped")
        job.join(_PATIENCE)
        return f"{job.line()}\n", 0

    def _start(self, call: JobCall, cwd: str, seconds: float) -> tuple[str, int]:
        running = sum(job.is_running for job in self._jobs)
        number = len(self._before) + len(self._jobs) + 1
        if running >= MOST_RUNNING:
            return f"{running} jobs run, as many as may at a time. Stop one first.\n", 1
        if number > MOST_JOBS:
            return f"All {MOST_JOBS} jobs of the episode are used up.\n", 1
        left = seconds if call.seconds is None else min(seconds, call.seconds)
        try:
            freezer = self._sandbox.freezer()
        except SandboxError as problem:
            return f"There are no background jobs here. {problem}\n", 1
        try:
            process = self._sandbox.spawn(["bash", "-c", _START, call.command], cwd=cwd)
        except SandboxClosed:
            raise
        except SandboxError as problem:  # such as a command that is too long
            return f"The job cannot be started: {problem}\n", 1
        try:
            if not isinstance(process, LocalJob):
                raise SandboxError("Only processes of this machine can be frozen.")
            _wait_until_ready(process)
            freezer.add_tree(process.child.pid)
            os.write(process.pipes.stdin, b"\n")
        except (SandboxError, OSError) as problem:
            process.close()
            return f"The job cannot be started: {problem}\n", 1
        self._jobs.append(Job(number, call.command, process, time.monotonic() + left))
        return f"Job {number} has started; it may run for {left:.0f} s.\n", 0

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Keep all jobs, and the shell, from running in the block.

        Jobs that cannot be stopped are killed.
        """
        with self._sandbox.frozen() as done:
            if not done:
                self.stop_all("killed: it could not be stopped for a while")
            yield

    def stop_all(self, state: str = "stopped: the episode is over") -> None:
        """Kill all jobs, and wait for their ends."""
        alive = [job for job in self._jobs if job.is_alive]
        if not alive:
            return
        freezer = self._sandbox.freezer()
        for job in alive:
            job.stop(state)
        with suppress(OSError):
            freezer.thaw()  # frozen, they would not end
        for job in alive:
            job.join(_PATIENCE)
        if any(job.is_alive for job in alive):
            _has_frozen(freezer)  # the kernel takes long to end them; closing the sandbox thaws

    def plain(self) -> list[dict[str, Any]]:
        """Return all jobs as plain data."""
        return [*self._before, *(job.plain() for job in self._jobs)]

    def resume(self, rows: list[Mapping[str, Any]]) -> None:
        """Remember the jobs of a stored episode, whose processes are gone."""
        self._before = []
        for row in rows:
            state = _GONE if row["state"] == "running" else str(row["state"])
            self._before.append({**row, "job": int(row["job"]), "state": state})
        gone = [str(row["job"]) for row in self._before if row["state"] == _GONE]
        if gone:
            which = f"Job {gone[0]} is" if len(gone) == 1 else f"Jobs {', '.join(gone)} are"
            self.notice = f"{which} {_GONE}. Start again what you need.\n"


def _has_frozen(freezer: Freezer) -> bool:
    try:
        return freezer.freeze()
    except OSError:
        return False  # the sandbox was closed meanwhile


def _wait_until_ready(process: LocalJob) -> None:
    """Wait until the program in the sandbox runs, so that all processes above it are there."""
    poller = select.poll()
    poller.register(process.pipes.stdout, select.POLLIN)
    poller.register(process.exit_fd, select.POLLIN)
    poller.poll(_PATIENCE * 1000)
    with suppress(BlockingIOError):
        if os.read(process.pipes.stdout, 1) == b".":
            return
    said = b""
    with suppress(BlockingIOError):
        said = os.read(process.pipes.stderr, 400)
    raise SandboxError(f"no shell starts for it: {said.decode('utf-8', 'replace').strip()!r}.")
