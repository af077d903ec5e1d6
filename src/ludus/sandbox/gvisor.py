"""gVisor as podman's runtime: known by name, and refused with the reason.

Its programs run on a kernel of its own, inside one process of the host, and are in none of the
host's namespaces and groups. The launcher cannot enter there, and what an engine's ``exec`` starts
there cannot be killed whole. A box that cannot end a command does not keep the contract.
"""

from __future__ import annotations

from shutil import which

from ludus.sandbox.containers import why_not_here
from ludus.sandbox.podman import Podman, reclaim

__all__ = ["Gvisor", "reclaim"]


class Gvisor(Podman):
    """A box on gVisor's kernel; there is no machine yet on which it opens."""

    backend = "gvisor"

    @classmethod
    def unavailable(cls) -> str | None:
        """Return why no box can be made."""
        if (reason := why_not_here()) is not None:
            return reason
        if which("runsc") is None:
            return "Found no runsc on PATH; required is gVisor's runtime. Use podman or bubblewrap."
        return (
            "Found runsc; commands of a running box cannot be killed whole on gVisor's kernel, "
            "since nothing outside can enter it. Use podman or bubblewrap."
        )
