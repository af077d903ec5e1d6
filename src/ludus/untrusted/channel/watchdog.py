"""A thread per sandbox that reads what the sandbox prints and enforces time limits.

The host itself waits in a blocking read, which is the fastest way. When a call takes too long the
keeper kills the sandbox, which ends the read.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress

from ludus.sandbox.process_handle import SandboxProcess
from ludus.sandbox.pump import Output

__all__ = ["Keeper"]

_KEPT = 16 << 10
_CHUNK = 1 << 16


class Keeper:
    """Keeps the end of what a job prints to its standard error, and its time.

    Attributes:
        waiting: set by the host to something new before each call, and to 0 after it.
        late: whether the sandbox was killed because of the time.
    """

    def __init__(self, job: SandboxProcess, timeout: float) -> None:
        self.waiting = 0
        self.late = False
        self.said = Output(_KEPT)
        self._job = job
        self._timeout = timeout
        self._stop, self._stopper = os.pipe()
        self._thread = threading.Thread(target=self._run, name="sandbox keeper", daemon=True)
        self._thread.start()

    def set_timeout(self, seconds: float) -> None:
        """Set the time limit of later calls."""
        self._timeout = seconds
        # The thread sleeps by the old time; this wakes it.
        os.write(self._stopper, b".")

    def stop(self) -> None:
        """End the thread; what the sandbox printed up to now has been read."""
        if self._stopper >= 0:
            os.close(self._stopper)
            self._stopper = -1
            self._thread.join()
            os.close(self._stop)

    def _run(self) -> None:
        poller = select.poll()
        poller.register(self._stop, select.POLLIN)
        poller.register(self._job.pipes.stderr, select.POLLIN)
        call, since = 0, time.monotonic()
        while True:
            patience = min(max(self._timeout / 5, 0.01), 0.5)
            ready = {descriptor for descriptor, _ in poller.poll(patience * 1000)}
            if self._job.pipes.stderr in ready and not self._listen():
                poller.unregister(self._job.pipes.stderr)
            if self._stop in ready and not os.read(self._stop, 64):
                self._listen()
                return
            now, current = time.monotonic(), self.waiting
            if current != call or not current:
                call, since = current, now
            elif now - since >= self._timeout and not self.late:
                self.late = True
                with suppress(OSError):
                    self._job.kill()

    def _listen(self) -> bool:
        """Read what is available; return whether there may be more."""
        try:
            chunk = os.read(self._job.pipes.stderr, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self.said.write(chunk)
        return bool(chunk)
