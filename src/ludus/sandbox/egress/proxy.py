"""The proxy of one sandbox: accepts connections and serves each in a thread of its own."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from ludus.sandbox.egress.exchange import Exchange, Resolve, answer, resolve_by_host
from ludus.sandbox.egress.journal import EgressEntry, EgressLog
from ludus.sandbox.egress.limits import EgressLimits
from ludus.sandbox.egress.relay import Budget
from ludus.sandbox.egress.rules import EgressRule

__all__ = ["PORT", "EgressProxy", "proxy_environment"]

PORT = 3128
"""Where the proxy listens, on the loopback of the sandbox."""

_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_PATIENCE, _PAUSE = 5.0, 0.02


class EgressProxy:
    """Serves a listening socket until it is closed.

    Args:
        listener: the socket, which the proxy owns from then on.
        rules: what is allowed.
        limits: of all connections together and of each.
        resolve: finds the addresses of names.

    Attributes:
        log: what was passed and refused.
        environment: variables by which programs find the proxy.
    """

    def __init__(
        self,
        listener: socket.socket,
        rules: Sequence[EgressRule],
        limits: EgressLimits | None = None,
        *,
        resolve: Resolve = resolve_by_host,
    ) -> None:
        self._listener, self._rules, self._resolve = listener, tuple(rules), resolve
        self._limits = limits or EgressLimits()
        self._budget = Budget(self._limits)
        self.environment = proxy_environment(self._rules)
        self.log = EgressLog()
        self._guard = threading.Lock()
        self._open: dict[Exchange, threading.Thread] = {}
        self._count, self._is_closed = 0, False
        self._thread = threading.Thread(target=self._accept, name="ludus-egress", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Accept no more, cut off all connections, and wait for their ends."""
        with self._guard:
            self._is_closed = True
            exchanges = dict(self._open)
        # Wakes the thread that accepts, and ends copies in forked processes as well.
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + _PATIENCE
        for exchange in exchanges:
            exchange.cut_off()
        for thread in (self._thread, *exchanges.values()):
            thread.join(max(0.0, until - time.monotonic()))
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                if self._is_closed or self._listener.fileno() < 0:
                    return
                time.sleep(0.05)  # the host has no descriptor left
                continue
            if reason := self._why_full():
                self._turn_away(client, reason)
                # Connections are had for nothing; they must not keep this process busy.
                time.sleep(_PAUSE)
                continue
            exchange = Exchange(client, self._rules, self._limits, self._budget, self._resolve)
            thread = threading.Thread(
                target=self._serve, args=[exchange], name="ludus-egress-connection", daemon=True
            )
            with self._guard:
                if self._is_closed:
                    client.close()
                    return
                self._open[exchange] = thread
            try:
                thread.start()
            except RuntimeError:  # the host starts no more threads
                self._open.pop(exchange)
                self._turn_away(client, "the host is busy")

    def _why_full(self) -> str:
        self._count += 1
        if self._count > self._limits.requests:
            return "the limit of requests is reached"
        if len(self._open) >= self._limits.connections:
            return "too many connections are open"
        return ""

    def _turn_away(self, client: socket.socket, reason: str) -> None:
        self.log.add(EgressEntry(reason=reason, time=time.time()))
        with suppress(OSError):
            client.setblocking(False)
            client.send(answer(503, reason))
        client.close()

    def _serve(self, exchange: Exchange) -> None:
        try:
            self.log.add(exchange.run())
        finally:
            with self._guard:
                self._open.pop(exchange, None)


def proxy_environment(rules: Sequence[EgressRule]) -> dict[str, str]:
    """Return the variables by which programs in a sandbox find the proxy.

    The loopback is the sandbox's own, and is reached without the proxy, unless a rule names it.
    """
    url = f"http://127.0.0.1:{PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    made = {spelt: url for name in names for spelt in (name, name.lower())}
    if not {rule.host for rule in rules} & {*_LOCAL}:
        local = "localhost,127.0.0.1,::1"
        made |= {"NO_PROXY": local, "no_proxy": local}
    return made
