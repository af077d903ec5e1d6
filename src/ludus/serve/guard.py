"""The outermost layer of the server: who may ask, how often and how much."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ludus.serve.limits import Rates
from ludus.serve.logs import log_refusal
from ludus.serve.service import Service
from ludus.web_guard import body_length, is_own_host, is_same_origin, is_same_secret, limited

__all__ = ["Guard"]

_LONGEST_PATH, _LONGEST_QUERY = 1024, 4096
_OPEN = frozenset({"/health"})
"""Paths without a token, for probes."""
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


class Guard:
    """Refuses requests before any route sees them, and counts answers."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        self._settings, self._metrics = service.settings, service.metrics
        self._rates = Rates(service.settings.rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await self._refuse(scope, receive, send, *refusal)
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._app(
                scope, limited(receive, self._settings.message_bytes), self._counted(send)
            )

    def _counted(self, send: Send) -> Send:
        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.requests[message["status"]] += 1
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        return send_counted

    def _refusal(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return status, reason and text for a request that is not served."""
        settings, headers = self._settings, Headers(scope=scope)
        if len(scope["path"]) > _LONGEST_PATH or len(scope["query_string"]) > _LONGEST_QUERY:
            return 414, "address", "The address is too long."
        names = (*settings.names, settings.host)
        token = settings.token
        if not is_own_host(headers.getlist("host"), names, any_address=token is not None):
            return (
                421,
                "host",
                "The server does not answer under this host name; allow it with --allow-host.",
            )
        origin = headers.get("origin")
        if origin is not None and not (
            origin in settings.origins
            or is_same_origin(origin, scope["scheme"], headers.get("host"))
        ):
            return 403, "origin", "Requests from pages of other sites are refused."
        if not self._rates.admits(self._service.owner(scope)):
            return 429, "rate", f"More than {settings.rate:g} requests per second; wait a little."
        if token is not None and scope["path"] not in _OPEN and not _shows(headers, token):
            return 401, "token", "Send the server's token as 'Authorization: Bearer TOKEN'."
        if body_length(headers.get("content-length"), settings.message_bytes) > (
            settings.message_bytes
        ):
            return 413, "size", f"At most {settings.message_bytes} bytes are taken."
        if headers.get("content-encoding", "identity") != "identity":
            return 415, "encoding", "Bodies are not decompressed; send the data as it is."
        return None

    async def _refuse(
        self, scope: Scope, receive: Receive, send: Send, status: int, reason: str, text: str
    ) -> None:
        self._metrics.refused[reason] += 1
        log_refusal(reason, self._service.owner(scope), scope["path"])
        kind = "http"
        if scope["type"] == "websocket":
            if "websocket.http.response" not in scope.get("extensions", {}):
                await send({"type": "websocket.close", "code": 1008})
                return
            await receive()
            kind = "websocket.http"
        body = b'{"detail":"' + text.replace('"', "'").encode() + b'"}'
        headers: list[tuple[bytes, Any]] = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *_HEADERS,
        ]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        if status in (413, 415):
            headers.append((b"connection", b"close"))
        if kind == "http":
            self._metrics.requests[status] += 1
        await send({"type": f"{kind}.response.start", "status": status, "headers": headers})
        await send({"type": f"{kind}.response.body", "body": body})


def _shows(headers: Headers, token: str) -> bool:
    """Whether a request has the token."""
    shown = headers.getlist("authorization")
    kind, _, secret = shown[0].partition(" ") if len(shown) == 1 else ("", "", "")
    return kind.lower() == "bearer" and is_same_secret(secret.strip(), token)
