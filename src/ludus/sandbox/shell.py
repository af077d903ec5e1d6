"""A persistent bash: commands one after the other, each with its own output, status and time.

How it works. bash reads from a pipe, as if a person typed, so that an interrupt brings it back to
its prompt with folder, variables and functions unchanged. Each command is sent as a line that runs
its text, with ``/dev/null`` as input, and reports the status together with a random token. The
status has its own channel, closed for the command, so that every byte of the output is the
command's. What a command does to its own descriptors (``exec >file``) ends with it.

Between commands the shell is stopped from outside its process namespace: a command can load a
library into it (``enable -f``) whose threads, timers and signal handlers would keep running. A
thread stops it a few milliseconds after a command, so that a round trip needs no signals; anything
else the host does with the sandbox, such as reading its files, stops it first. A command that keeps
its background processes keeps the shell running as well.

What is not promised. A command has the rights of the shell that runs it. It can find the channel
through ``/proc`` and forge its own status, or redefine what later commands use, just as it could
return another status or change ``PATH``. It cannot forge the status of a later command, cannot
delay the host beyond the command's time limit, and cannot reach anything outside the sandbox.
Anything on the channel but the expected line is ignored.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ludus.errors import SandboxClosed
from ludus.sandbox.process_handle import SandboxProcess
from ludus.sandbox.pump import Ending, Pump, discard
from ludus.sandbox.resting import resting
from ludus.sandbox.results import Completed, Usage

if TYPE_CHECKING:
    from ludus.sandbox.linux.freezer import Freezer

__all__ = ["SHELL_ARGV", "SHELL_ENVIRONMENT", "Shell"]

SHELL_ARGV = ("bash", "--norc", "--noprofile", "--noediting", "-i")
SHELL_ENVIRONMENT = {"PS1": "", "PS2": "", "PS4": "+ ", "HISTFILE": ""}

# Job control would report background jobs in the command's errors. SIGUSR1 interrupts bash even
# where SIGINT alone would be ignored because a child died of something else. The guards make sure
# that kill(-1) is never sent outside a process namespace of the shell's own, nor by root. The
# function uses no variable that a command could have made read-only.
_SETUP = """\
set +m +H +o history; unset HISTFILE PS4; PS1=; PS2=; \
exec 96>&2 98>&1 99{target} >/dev/null 2>&1; \
trap 'builtin kill -INT $$' USR1; \
__ludus() {{ \
[[ $$ == 1 && $EUID != 0 && $3 == alone ]] && builtin kill -KILL -1; \
builtin printf '%s %d\\n' "$2" "$1" >&99; \
builtin unset PROMPT_COMMAND PS0; PS1=; PS2=; }}; readonly -f __ludus
"""
# The text is sourced, not evaluated: bash then treats it as a script, not as typed. An error that
# drops the rest of a line drops the first report with it, so there is a second one; the host
# ignores the one it does not wait for. The backslash keeps aliases out, the empty line
# whatever was left of a line that a command slipped in.
_REPORT = '\\__ludus "$?" {token} {mode}\n'
_RUN = "\n. /dev/fd/97 97<<<{text} </dev/null >&98 2>&96 96>&- 98>&- 99>&-; " + _REPORT + _REPORT
_KILLED = 137
_START_TIME = 10.0
_PATIENCE = (0.05, 0.1, 0.2, 0.5)
_LOST = "its folder, variables and functions are lost; the next command starts a fresh one."
_REPLACED = (
    "What an earlier command had left running could only be ended with its shell: the folder, "
    "variables and functions are lost; this command ran in a fresh one."
)


class Shell:
    """A bash that keeps its folder, variables and functions between commands.

    Made by ``Sandbox.shell()``. One command runs at a time; :meth:`interrupt` and :meth:`close`
    may be called from other threads.

    Args:
        start: starts a shell's process in the sandbox.
        usage: returns the sandbox's usage, with the given seconds as ``wall_seconds``.
        oom_kills: returns how many processes of the sandbox were killed for lack of memory.
        output: bytes kept of each stream of a command.
        idle: default number of seconds a command may be silent.
        deadline: point of the monotonic clock at which the sandbox ends.
    """

    def __init__(
        self,
        start: Callable[[], SandboxProcess],
        *,
        usage: Callable[[float], Usage],
        oom_kills: Callable[[], int],
        output: int,
        idle: float | None = None,
        deadline: float | None = None,
    ) -> None:
        self._start, self._usage, self._oom_kills = start, usage, oom_kills
        self._output, self._idle, self._deadline = output, idle, deadline
        self._lock = threading.Lock()
        self._job: SandboxProcess | None = None
        self._closed = self._interrupted = self._at_work = False
        self._stopped = self._may_rest = False
        self._ended = 0.0
        self._note = ""
        self._resting = resting()
        self._job = self._fresh()
        self._resting.open(self)

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more commands."""
        return self._closed

    def run(
        self,
        command: str,
        *,
        timeout: float | None = None,
        idle: float | None = None,
        keep_background: bool = False,
        on_output: Callable[[bytes], None] | None = None,
    ) -> Completed:
        """Run ``command`` and return its output and status.

        Args:
            command: any number of lines of bash.
            timeout: seconds after which it is killed, with everything it started.
            idle: seconds without output after which it is killed; the policy's by default.
            keep_background: whether processes may outlive the command.
            on_output: called with each piece of output or errors as it arrives, of which the result
                keeps a part; it must be quick, and raise nothing.

        Raises:
            SandboxClosed: shell or sandbox are closed.
            SandboxError: what the command started was killed and does not end.
            ValueError: the command holds a NUL character.
        """
        if "\0" in command:
            raise ValueError("The command holds a NUL character; write such bytes to a file.")
        with self._lock:
            if self._closed:
                raise SandboxClosed("This shell was closed; open another with Sandbox.shell().")
            mode = "keep" if keep_background else "alone"
            return self._run(command, timeout, idle, mode, on_output)

    def interrupt(self) -> None:
        """Kill the running command and all it started; the shell stays as it is."""
        self._interrupted = True
        job = self._job
        # A shell that is stopped would take the signal for its next command.
        if job is not None and self._at_work:
            job.abort_command()

    def sweep(self) -> None:
        """Kill what commands left running, and stop the shell until its next command.

        The shell does this itself after each command, but a hostile command can change how. This is
        done from outside, and is over when what was killed has ended. A shell that cannot be kept
        from running is killed too; the result of the next command says so.

        Raises:
            SandboxError: something still runs, or may: it was killed and does not end.
        """
        with self._lock:
            if self._job is not None:
                self._stopped = True
                self._sweep(self._job)

    def join(self, freezer: Freezer) -> None:
        """Put the shell, which is at rest, into a control group.

        Raises:
            SandboxError: the kernel refuses it.
        """
        with self._lock:
            if self._job is not None:
                self._job.join(freezer)

    def rest(self, since: float | None = None) -> None:
        """Stop the shell until its next command, unless one runs or kept its background processes.

        Args:
            since: only if no command ended after this point of the monotonic clock.
        """
        if self._stopped or not self._may_rest or not self._lock.acquire(blocking=False):
            return
        try:
            idle = since is None or self._ended <= since
            if idle and self._may_rest and not self._stopped and self._job is not None:
                self._stopped = True
                self._job.pause()
        finally:
            self._lock.release()

    def close(self) -> None:
        """End the shell and all it started; closing twice is harmless."""
        self._closed = True
        job, self._job = self._job, None
        if job is not None:
            job.kill()
            with self._lock:
                job.close()
        self._resting.close(self)

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _fresh(self) -> SandboxProcess:
        job = self._start()
        # The setup answers like a command: a shell that is given out has proved that it runs.
        token = secrets.token_hex(16)
        lines = _SETUP.format(target=job.status_target) + _REPORT.format(token=token, mode="keep")
        pump = Pump(job, 4096, lines.encode(), token)
        if pump.run(time.monotonic() + _START_TIME) is not Ending.STATUS:
            job.close()
            said = pump.err.value().decode("utf-8", "backslashreplace").strip() or "it said nothing"
            raise SandboxClosed(f"No shell starts in this sandbox: {said!r}.")
        return job

    def _run(
        self,
        command: str,
        timeout: float | None,
        idle: float | None,
        mode: str,
        on_output: Callable[[bytes], None] | None,
    ) -> Completed:
        job = self._job = self._job or self._fresh()
        self._interrupted = False
        began, kills = time.monotonic(), self._oom_kills()
        limits = [began + timeout] if timeout is not None else []
        if self._deadline is not None:
            limits.append(self._deadline)
        deadline = min(limits, default=None)
        token = secrets.token_hex(16)
        discard(job)
        if self._stopped:
            self._stopped = False
            job.resume()
        self._at_work = True
        lines = _RUN.format(text=_quoted(command), token=token, mode=mode)
        data = lines.encode("utf-8", "surrogateescape")
        pump = Pump(job, self._output, data, token, on_output)
        ending = pump.run(deadline, self._idle if idle is None else idle)
        # Before looking for an interrupt: from here on none reaches the shell unnoticed.
        self._at_work = False
        late = ending in (Ending.TIMEOUT, Ending.IDLE)
        status, cut_off = pump.status, False
        note, self._note = self._note, ""
        if late or self._interrupted:
            status, note = _KILLED, self._recover(job, pump, ending) or note
        elif ending is Ending.EXIT:
            status, cut_off = job.wait(1.0), job.was_cut_off and self._oom_kills() == kills
            who = "A process outside the sandbox" if cut_off else "The command"
            note = f"{who} ended the shell itself: {_LOST}"
            self._drop(job)
        elif mode == "alone" and not job.alone:
            self._sweep(job)
        self._ended, self._may_rest = time.monotonic(), mode == "alone"
        if self._may_rest:
            self._resting.after_command(self)
        return Completed(
            stdout=pump.out.value(),
            stderr=pump.err.value(),
            returncode=_KILLED if status is None else status,
            timed_out=late,
            oom_killed=self._oom_kills() > kills,
            usage=self._usage(self._ended - began),
            stdout_cut=pump.out.cut,
            stderr_cut=pump.err.cut,
            note=note,
            cut_off=cut_off,
        )

    def _sweep(self, job: SandboxProcess) -> None:
        """Kill what commands left running, and drop a shell that had to be killed as well."""
        try:
            killed = job.sweep_background()
        except BaseException:
            # Whatever went wrong: what may still run must not run beside the next command.
            self._drop(job)
            raise
        if killed:
            self._drop(job)
            self._note = _REPLACED

    def _recover(self, job: SandboxProcess, pump: Pump, ending: Ending) -> str:
        """Bring the shell back to its prompt; say what was lost where that fails."""
        for patience in _PATIENCE:
            if ending in (Ending.STATUS, Ending.EXIT):
                break
            job.abort_command()
            ending = pump.run(time.monotonic() + patience)
        if ending is not Ending.EXIT and self._in_step(job):
            self._stopped = True
            self._sweep(job)  # whether all of it has ended is only certain now
            return ""
        self._drop(job)
        return f"The shell did not survive the kill of its command: {_LOST}"

    def _in_step(self, job: SandboxProcess) -> bool:
        """Return whether the shell answers, once every interrupt on its way has arrived."""
        for _ in range(2):
            token = secrets.token_hex(16)
            pump = Pump(job, 1024, _REPORT.format(token=token, mode="keep").encode(), token)
            if pump.run(time.monotonic() + 0.5) is Ending.STATUS:
                return True
        return False

    def _drop(self, job: SandboxProcess) -> None:
        self._job = None
        with suppress(OSError):
            job.close()


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
