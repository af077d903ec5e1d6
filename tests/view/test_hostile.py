"""Records that are meant to do harm: shown as text, and nothing outside of them is read."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from tests.view.conftest import Opened, client_of

BASE = "/run/hostile/e/record"
PAGES = [
    BASE,
    f"{BASE}/s/0",
    f"{BASE}/s/1",
    f"{BASE}/s/2",
    f"{BASE}/s/3",
    f"{BASE}/about",
    f"{BASE}/files",
    f"{BASE}/conversation",
    f"{BASE}?q=<script>",
    "/runs",
    "/runs?list=episodes",
    "/compare?a=hostile&b=hostile",
]
TAGS = re.compile(r"<(?:script|img|svg|a|iframe|form|i|span|pre)\b[^>]*>", re.IGNORECASE)


@pytest.mark.parametrize("address", PAGES)
def test_texts_are_texts(site, address):
    text = site.text(address)
    for tag in TAGS.findall(text):
        bare = re.sub(r'"[^"]*"', '""', tag)
        assert not re.search(r"\son\w+\s*=", bare), tag
        assert not re.search(r'(?:href|src|action)="\s*javascript:', tag), tag
        assert not tag.startswith("<script") or 'src="/static/' in tag, tag
        assert " style=" not in bare
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 1_500_000


def test_a_million_characters_are_cut(site):
    text = site.text(f"{BASE}/s/2")
    assert "more characters" in text
    assert len(text) < 100_000


@pytest.mark.parametrize("rest", ["/s/3", "/files", "/conversation"])
def test_paths_in_a_record_lead_nowhere(site, rest):
    text = site.text(f"{BASE}{rest}")
    assert "the secret" not in text
    assert "root:" not in text
    assert site.get(f"{BASE}/output/3-").status_code == 404


def test_html_in_a_record_is_never_a_page(site):
    digest = re.search(r"/f/([0-9a-f]{64})", site.text(f"{BASE}/files"))[1]
    answer = site.get(f"{BASE}/blob/{digest}")
    assert answer.headers["content-type"].startswith("text/plain")
    assert answer.headers["content-disposition"] == 'attachment; filename="page.html"'
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "&lt;script&gt;" in site.text(f"{BASE}/f/{digest}")


def test_links_in_place_of_files(site, tmp_path):
    """A file that the record names, and that was replaced by a link, is not followed."""
    for place in ("artefacts", "events.jsonl", "manifest.json"):
        copy = tmp_path / place / "runs" / "r"
        shutil.copytree(site.folder / "hostile", copy, symlinks=True)
        target = copy / place
        if place == "artefacts":
            shutil.rmtree(target)
            (target).symlink_to(site.folder.parent)
            (site.folder.parent / "page.html").write_text("the secret")
        else:
            target.unlink()
            (target).symlink_to(site.folder / "hostile" / place)
        with client_of(copy.parent) as client:
            if place == "artefacts":
                text = client.get("/run/r/e/record/files").text
                digest = re.search(r"/f/([0-9a-f]{64})", text)[1]
                for kind in ("f", "blob"):
                    answer = client.get(f"/run/r/e/record/{kind}/{digest}")
                    assert answer.status_code == 404
                    assert "the secret" not in answer.text
            else:
                answer = client.get("/run/r/e/record")
                assert answer.status_code in (404, 422)


def test_pipes_do_not_block(tmp_path, site):
    copy = tmp_path / "runs" / "r"
    shutil.copytree(site.folder / "large", copy)
    (copy / "events.jsonl").unlink()
    os.mkfifo(copy / "events.jsonl")
    os.mkfifo(tmp_path / "runs" / "bench.json")
    with client_of(tmp_path / "runs") as client:
        assert client.get("/run/r/e/record").status_code == 422
        assert client.get("/runs").status_code == 200


def test_in_the_browser(address, browser):
    for path in (BASE, f"{BASE}/s/0", f"{BASE}/s/1", f"{BASE}/about"):
        with Opened(browser, address + path) as opened:
            assert opened.problems == []
            assert opened.page.title().endswith("ludus view")
            assert opened.page.locator("main script, main img, main svg[onload]").count() == 0
