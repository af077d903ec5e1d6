"""A socket that listens on the loopback of a sandbox's network, for a proxy outside of it.

A socket belongs to the network in which it was made, whoever holds it. So nothing of the proxy is
in the sandbox: no program that could be killed, and no path to the host's network.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Sequence

from ludus.errors import SandboxError
from ludus.sandbox.egress.proxy import PORT

__all__ = ["listen_here", "listen_with"]

_WAITING = 64
# What a connection may keep in the kernel for each direction, which is charged to the host.
_BUFFER = 128 << 10
_PATIENCE = 10.0
_SCRIPT = f"""\
import array, socket, sys
made = socket.socket()
made.bind(("127.0.0.1", {PORT}))
made.listen({_WAITING})
out = socket.socket(fileno=int(sys.argv[1]))
out.sendmsg([b"1"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [made.fileno()]))])
"""


def listen_here() -> socket.socket:
    """Listen in the network of the calling thread.

    Raises:
        OSError: the port is taken, or the loopback is down.
    """
    made = socket.socket()
    try:
        made.bind(("127.0.0.1", PORT))
        made.listen(_WAITING)
        return _bounded(made)
    except BaseException:
        made.close()
        raise


def listen_with(prefix: Sequence[str]) -> socket.socket:
    """Listen in the network that a command enters, by way of a program that it starts.

    Args:
        prefix: the beginning of a command line that runs the rest in that network.

    Raises:
        SandboxError: it fails.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        number = theirs.fileno()
        argv = [*prefix, sys.executable, "-I", "-S", "-c", _SCRIPT, str(number)]
        done = subprocess.run(  # noqa: S603 - our own arguments
            argv,
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
        theirs.close()
        ours.settimeout(_PATIENCE)
        _, found, _, _ = socket.recv_fds(ours, 1, 1)
        if not found:
            said = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise SandboxError(f"The proxy cannot listen in the sandbox: {said!r}.")
        return _bounded(socket.socket(fileno=found[0]))


def _bounded(listener: socket.socket) -> socket.socket:
    for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
        listener.setsockopt(socket.SOL_SOCKET, option, _BUFFER)
    return listener
