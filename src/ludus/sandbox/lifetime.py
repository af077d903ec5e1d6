"""The life of a sandbox, from opening to closing, and what a backend implements for it."""

from __future__ import annotations

import atexit
import os
import threading
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

from ludus import logger
from ludus.errors import PolicyNotEnforceable, SandboxClosed, SandboxError
from ludus.sandbox.image_names import check_image_name
from ludus.sandbox.leases import Lease
from ludus.sandbox.policy import Policy
from ludus.sandbox.process_handle import SandboxCommand, SandboxProcess
from ludus.sandbox.results import Enforcement, Usage
from ludus.sandbox.shell import Shell
from ludus.sandbox.transfer.files import Files

if TYPE_CHECKING:
    import socket

    from ludus.sandbox.egress.proxy import EgressProxy
    from ludus.sandbox.linux.freezer import Freezer

__all__ = ["OpenSandbox"]

_PATIENCE = 10.0
_ENDING = 5.0
"""Seconds in which a killed job should have ended."""


class OpenSandbox(Files):
    """A sandbox with its processes: opened by the constructor, ended by its owner or its deadline.

    :class:`~ludus.sandbox.contract.Sandbox` adds what users call.
    """

    backend: ClassVar[str]
    takes_image: ClassVar[bool] = False
    has_egress: ClassVar[bool] = False
    has_gpus: ClassVar[bool] = False
    _proxy: EgressProxy | None = None
    _freezer: Freezer | None = None

    def __init__(
        self,
        policy: Policy,
        *,
        workspace: str | os.PathLike[str] | None = None,
        label: str | None = None,
        image: str | None = None,
    ) -> None:
        if image is not None and not self.takes_image:
            raise ValueError(
                f"image is {image!r}, and the {self.backend} backend has no images: its root is "
                "made of the host's own folders. Use the podman or docker backend."
            )
        if image is not None:
            check_image_name(image)
        self.policy, self.image = policy, image
        self.gpus: tuple[str, ...] = ()
        self.workspace = None if workspace is None else Path(workspace).resolve(strict=True)
        self._began = time.monotonic()
        self._deadline: float | None = None
        self._jobs: set[SandboxProcess] = set()
        self._shells: set[Shell] = set()
        self._guard = threading.RLock()
        self._callers = _Callers(self._guard)
        self._closed = ""
        self._given_back = threading.Event()
        self._owner_pid = os.getpid()
        self._timer: threading.Timer | None = None
        if policy.egress and not self.has_egress:
            raise PolicyNotEnforceable(
                f"The {self.backend} backend has no egress by allow-list, and the policy asks for "
                f"{', '.join(policy.egress)}. Use the bubblewrap backend.",
                reasons={"egress": "this backend has no proxy"},
            )
        if policy.gpus and not self.has_gpus:
            raise PolicyNotEnforceable(
                f"The {self.backend} backend passes no GPUs through, and the policy asks for "
                f"{policy.gpus}. Use the podman or docker backend.",
                reasons={"gpus": "this backend passes no GPUs through"},
            )
        self.enforcement().require(policy, self.backend, host_folder=workspace is not None)
        self._lease = Lease.take(self.backend, label=label, deadline=policy.wall)
        self.name = self._lease.name
        # A sandbox that was not closed is closed when the interpreter ends.
        atexit.register(self.close)
        try:
            self._open()
            if policy.egress:
                self._open_egress()
        except BaseException:
            self.close("it could not be opened")
            raise
        # Its life begins now: how long an engine takes to open it is not the sandbox's time.
        self._began = time.monotonic()
        if policy.wall is not None:
            self._deadline = self._began + policy.wall
            self._timer = threading.Timer(policy.wall, self._close_when_over)
            self._timer.daemon = True
            self._timer.start()

    # What a backend does ------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def unavailable(cls) -> str | None:
        """Return why the backend cannot run here, with the next step; ``None`` if it can."""

    @classmethod
    def get_ready(cls) -> None:
        """Start what takes a while and will be needed, before a sandbox opens."""

    @classmethod
    @abstractmethod
    def enforcement(cls) -> Enforcement:
        """Return what the backend can hold a sandbox to on this machine."""

    @classmethod
    def default_policy(cls) -> Policy:
        """Return the policy of a sandbox that was opened without one."""
        return Policy()

    @abstractmethod
    def _open(self) -> None:
        """Acquire what the sandbox needs; ``_close`` is called even if this fails half-way."""

    @abstractmethod
    def _spawn(self, command: SandboxCommand) -> SandboxProcess:
        """Start a process in the sandbox."""

    @abstractmethod
    def _usage(self, wall_seconds: float) -> Usage:
        """Return what the sandbox used; a closed one may have forgotten."""

    @abstractmethod
    def _close(self) -> None:
        """Release everything; called once."""

    def freezer(self) -> Freezer:
        """Return the control group for processes that are to be frozen.

        Raises:
            SandboxError: the backend has none.
        """
        raise SandboxError(f"The {self.backend} backend cannot freeze processes; use bubblewrap.")

    def _listen(self) -> socket.socket:
        """Listen on the loopback of the sandbox, for its proxy; where ``has_egress`` is true."""
        raise NotImplementedError

    def _oom_kills(self) -> int:
        return 0

    def _forget_cache(self) -> None:
        """Have the end of the sandbox drop what it was the first to read of the host's files."""

    def _was_cut_off(self, job: SandboxProcess) -> bool:
        """Return whether a job, or the whole sandbox, was ended from outside."""
        return bool(self._closed) or job.was_cut_off

    # From opening to closing ---------------------------------------------------------------

    def close(self, reason: str = "it was closed") -> None:
        """Kill everything in the sandbox and release its resources; closing twice is harmless."""
        if os.getpid() != self._owner_pid:
            return  # a forked child does not own its parent's sandbox
        self._end_life(reason)
        # Its time may have ended just now, in another thread that is not done yet.
        self._given_back.wait(_PATIENCE)
        # Nobody uses the jobs of a sandbox that its owner has closed, whether or not they were
        # closed.
        with self._guard:
            jobs, self._jobs = self._jobs, set()
        for job in jobs:
            job.close()

    def _end_life(self, reason: str) -> None:
        with self._guard:
            if self._closed:
                return
            self._closed = reason
            jobs, shells = [*self._jobs], [*self._shells]
        atexit.unregister(self.close)
        if self._timer is not None:
            self._timer.cancel()
        for job in jobs:
            with suppress(OSError):
                job.kill()
        if self._freezer is not None:
            self._freezer.thaw()  # frozen, they would not end
        for shell in shells:
            shell.close()
        for job in jobs:
            with suppress(OSError):
                job.wait(_ENDING)
        self.end_egress()
        self._callers.wait_for_others(_PATIENCE)
        try:
            self._close()
            self._lease.release()
        except OSError as problem:
            # All of its processes are killed, but the kernel may take a while for that: whoever
            # runs in a sandbox can see to it. That is no reason to lose what the sandbox was for.
            self._lease.leave()
            logger.warn(
                f"Sandbox {self.name} is closed, but its resources cannot be released yet: "
                f"{problem}. The next sandbox that opens tries again, and so does "
                "`ludus sandbox sweep`."
            )
        finally:
            self._given_back.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = f"closed: {self._closed}" if self._closed else "open"
        return f"<{type(self).__name__} {self.name} ({state})>"

    def end_egress(self) -> None:
        """Cut off all connections of the sandbox's egress, which has none from then on.

        Its journal is complete: it tells those that were still open too.
        """
        if self._proxy is not None:
            self._proxy.close()

    def _open_egress(self) -> None:
        # It takes a while to import, and few sandboxes have egress.
        from ludus.sandbox.egress.proxy import EgressProxy
        from ludus.sandbox.egress.rules import parse_rules

        rules = parse_rules(self.policy.egress)
        self._proxy = EgressProxy(self._listen(), rules, self.policy.egress_limits)

    def _close_when_over(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline:
            # The pipes of a job may be in use: they stay open until the owner closes the sandbox.
            self._end_life(f"its time was over (policy.wall is {self.policy.wall} s)")

    @contextmanager
    def _in_use(self) -> Iterator[None]:
        """Delay closing until the block ends, and stop shells that run no command.

        Nothing that was loaded into such a shell runs meanwhile.
        """
        self._close_when_over()
        with self._guard:
            self._refuse_if_closed()
            self._callers.enter()
        try:
            for shell in self._shells:
                shell.rest()
            yield
        finally:
            self._callers.leave()

    def _alive(self) -> None:
        self._close_when_over()
        self._refuse_if_closed()

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise SandboxClosed(f"Sandbox {self.name} is closed: {self._closed}. Open another one.")

    def _start(self, command: SandboxCommand) -> SandboxProcess:
        self._alive()
        job = self._spawn(command)
        with self._guard:
            self._jobs = {other for other in self._jobs if not other.is_closed} | {job}
            gone = bool(self._closed)
        if gone:
            self._end(job)
            self._alive()
        return job

    def _end(self, job: SandboxProcess) -> None:
        job.close()
        with self._guard:
            self._jobs.discard(job)

    def _base_environment(self) -> dict[str, str]:
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return {
            "PATH": path,
            "HOME": self._home(),
            "LANG": "C.UTF-8",
            "TMPDIR": "/tmp",  # noqa: S108 - the sandbox's own
        }


class _Callers:
    """Calls in progress, by thread, so that closing can wait for them.

    ``guard`` is the lock under which calls begin.
    """

    def __init__(self, guard: threading.RLock) -> None:
        self._changed = threading.Condition(guard)
        self._inside: Counter[int] = Counter()

    def enter(self) -> None:
        """Begin a call of this thread."""
        with self._changed:
            self._inside[threading.get_ident()] += 1

    def leave(self) -> None:
        """End it."""
        caller = threading.get_ident()
        with self._changed:
            self._inside[caller] -= 1
            if not self._inside[caller]:
                del self._inside[caller]
            self._changed.notify_all()

    def wait_for_others(self, seconds: float) -> None:
        """Wait until no other thread is in a call; this one may be, that of closing."""
        own = {threading.get_ident()}
        with self._changed:
            self._changed.wait_for(lambda: not self._inside.keys() - own, timeout=seconds)
