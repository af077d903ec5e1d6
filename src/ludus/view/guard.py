"""The outermost layer of the application: who may ask, how much, and what a page may load.

A page of another site can send requests to this machine, and with DNS rebinding it can read the
answers. So the ``Host`` of every request, WebSockets included, must be an address of this machine
or a configured name, and an ``Origin`` must be the same as the host; see :mod:`ludus.web_guard`.
"""

from __future__ import annotations

import secrets
from html import escape
from urllib.parse import parse_qs, quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ludus.view.settings import ViewSettings
from ludus.web_guard import body_length, is_own_host, is_same_origin, is_same_secret, limited

__all__ = ["CSP", "HEADERS", "Guard"]

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # Not no-referrer: forms would then have the Origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_LONGEST_PATH, _LONGEST_QUERY, _LONGEST_COOKIE = 1024, 4096, 65536
_MOST_COOKIES = 20
_LARGEST_BODY = 1 << 20
_SAFE = frozenset({"GET", "HEAD"})
_ALLOWED = frozenset({"GET", "HEAD", "POST"})


class Guard:
    """Refuses requests before any page sees them, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, settings: ViewSettings) -> None:
        self._app, self._settings = app, settings
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            app = self._app
        elif scope["type"] == "websocket":
            # Closing before accepting is answered with status 403.
            await send({"type": "websocket.close", "code": 1008})
            return
        else:
            app = refusal

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await app(scope, limited(receive, _LARGEST_BODY), send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not served."""
        headers = Headers(scope=scope)
        if len(scope["path"]) > _LONGEST_PATH or len(scope["query_string"]) > _LONGEST_QUERY:
            return _said("The address is too long.", 414)
        if not self._is_known(headers.getlist("host")):
            return _said(
                "The viewer is not served under this host name. Open it as 127.0.0.1, or allow the "
                "name with --allow-host.",
                421,
            )
        if not _may_ask(scope, headers):
            return _said("Requests from pages of other sites are refused.", 403)
        if scope["type"] == "http" and scope["method"] not in _ALLOWED:
            return _said("Only GET, HEAD and POST are served.", 405)
        if body_length(headers.get("content-length"), _LARGEST_BODY) > _LARGEST_BODY:
            return _said("The request is too large.", 413)
        return self._unauthorized(scope, headers)

    def _is_known(self, hosts: list[str]) -> bool:
        settings = self._settings
        names = (*settings.names, settings.host)
        return is_own_host(hosts, names, any_address=settings.token is not None)

    def _unauthorized(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a browser without the cookie: it gets one if it shows the token."""
        token = self._settings.token
        if token is None:
            return None
        cookie = f"ludus-view-{self._settings.port}"
        if any(is_same_secret(value, self._session) for value in _cookies(headers, cookie)):
            return None
        shown = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["type"] != "http" or not is_same_secret(shown, token):
            return _said("Open the address that the viewer printed: it contains a token.", 401)
        # A page rather than a redirect: the cookie of a redirect that began on another site would
        # not be sent.
        # Not with two slashes at the beginning, which would be another host; browsers leave
        # tabs and line ends out.
        path = quote(scope["path"], safe="/~@+:", errors="replace")
        response = _said("Welcome.", 200, go_to="/" + path.lstrip("/"))
        response.set_cookie(cookie, self._session, httponly=True, samesite="strict", path="/")
        return response


def _may_ask(scope: Scope, headers: Headers) -> bool:
    origin = headers.get("origin")
    if origin is not None:
        return is_same_origin(origin, scope["scheme"], headers.get("host"))
    if scope["type"] == "websocket" or scope["method"] not in _SAFE:
        return False
    # Older browsers send no such header. A link on another site may lead here; images, scripts and
    # frames of other sites may not.
    is_cross = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
    return not is_cross or headers.get("sec-fetch-mode") == "navigate"


def _cookies(headers: Headers, name: str) -> list[str]:
    """Return all values of a cookie.

    Servers on other ports of this machine can set cookies for this one: several of the same name,
    and some that no parser takes.
    """
    text = headers.get("cookie", "")[-_LONGEST_COOKIE:]
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return [value for key, _, value in pairs if key == name][:_MOST_COOKIES]


def _said(text: str, status: int, *, go_to: str = "") -> Response:
    refresh = f'<meta http-equiv="refresh" content="0;url={escape(go_to)}">' if go_to else ""
    return HTMLResponse(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{refresh}'
        f"<title>ludus view</title></head><body><main><h1>ludus view</h1><p>{escape(text)}</p>"
        "</main></body></html>",
        status,
    )
