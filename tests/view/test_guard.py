"""Who is served: hosts, origins, tokens, sizes."""

from __future__ import annotations

import pytest
from starlette.websockets import WebSocketDisconnect

from ludus.errors import ViewError
from ludus.view import ViewSettings
from ludus.view.guard import CSP
from tests.view.conftest import client_of

TOKEN = "a-token-of-the-tests"


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8760", 200),
        ("localhost:9000", 200),
        ("[::1]:8760", 200),
        ("127.9.9.9", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:8760", 421),
        ("localhost.evil.example", 421),
        ("192.168.1.7:8760", 421),
        ("", 421),
    ],
)
def test_only_names_of_this_machine_are_served(site, host, status):
    assert site.get("/runs", host=host).status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://127.0.0.1:8760"}, 200),
        ({"origin": "http://127.0.0.1:8761"}, 403),
        ({"origin": "https://127.0.0.1:8760"}, 403),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),
        ({"sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"}, 200),
    ],
)
def test_pages_of_other_sites_get_nothing(site, headers, status):
    assert site.get("/runs", **headers).status_code == status


def test_what_changes_something_needs_an_origin(site):
    assert site.client.post("/runs").status_code == 403
    own = {"origin": "http://127.0.0.1:8760"}
    assert site.client.post("/runs", headers=own).status_code == 405
    assert site.client.put("/runs", headers=own).status_code == 405
    large = {**own, "content-length": str(1 << 30)}
    assert site.client.post("/runs", headers=large).status_code == 413


def test_sockets_are_guarded_too(site):
    for headers in ({}, {"origin": "http://evil.example"}):
        with (
            pytest.raises(WebSocketDisconnect) as refused,
            site.client.websocket_connect("/runs", headers=headers),
        ):
            pass
        assert refused.value.code == 1008


def test_long_addresses(site):
    assert site.get("/runs?q=" + "x" * 5000).status_code == 414
    assert site.get("/run/" + "x" * 5000).status_code == 414
    assert site.get("/runs?q=" + "x" * 3000).status_code == 200


def test_headers(site):
    for address in ("/runs", "/nothing", "/static/view.js", site.episode()):
        headers = site.get(address).headers
        assert headers["content-security-policy"] == CSP
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "no-store" in site.get("/runs").headers["cache-control"]
    assert "unsafe" not in CSP


def test_a_token_is_traded_for_a_cookie(site):
    with client_of(site.folder, token=TOKEN) as client:
        assert client.get("/runs").status_code == 401
        assert client.get("/runs?token=another-token-of-somebody").status_code == 401
        assert client.get("/static/view.js").status_code == 401
        answer = client.get(f"http://127.0.0.1:8760//evil.example/?token={TOKEN}")
        assert 'content="0;url=/evil.example/"' in answer.text
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        assert TOKEN not in cookie
        assert client.get("/runs").status_code == 200
        assert client.get("/runs", headers={"host": "192.168.1.7:8760"}).status_code != 421
        assert client.get("/runs", headers={"host": "evil.example"}).status_code == 421


def test_other_machines_need_a_token():
    for host in ("0.0.0.0", "::", "192.168.1.7", "example.com"):
        with pytest.raises(ViewError, match="--token"):
            ViewSettings(host=host)
        assert ViewSettings(host=host, token=TOKEN).host == host
    with pytest.raises(ViewError, match="at least 16"):
        ViewSettings(token="short")


def test_sources(tmp_path):
    (tmp_path / "a.traj").write_text("{}")
    (tmp_path / "results.sqlite").write_text("")
    made = ViewSettings.of(tmp_path, tmp_path / "a.traj", tmp_path / "results.sqlite")
    assert (made.folder, made.store) == (tmp_path, str(tmp_path / "results.sqlite"))
    assert made.files == (tmp_path / "a.traj",)
    assert ViewSettings.of("postgresql://host/db").store == "postgresql://host/db"
    for wrong in ((tmp_path / "none",), (tmp_path, tmp_path), ("a://b", "c://d")):
        with pytest.raises(ViewError):
            ViewSettings.of(*wrong)
