"""Every link on a page leads to a page."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urljoin

import pytest

LINKS = re.compile(r'\b(?:href|src|hx-get|action)="([^"]*)"')
MOST_OF_A_KIND = 12
"""Addresses that are tried of those that differ in names, numbers and queries only."""


def kind_of(address: str) -> str:
    """Return what addresses of one kind of page have in common."""
    path, _, query = address.partition("?")
    names = sorted(part.partition("=")[0] for part in query.split("&"))
    if path.startswith("/envs/"):
        return re.sub(r"^/envs/.*?(/play|/picture|/inside|/allow)?$", r"/envs/ID\1", path)
    return re.sub(r"[0-9a-f]{6,}|\d+", "#", path) + "?" + "&".join(names)


@pytest.mark.parametrize("start", ["/runs", "/board", "/envs?q=lake"])
def test_every_link_leads_somewhere(site, start):
    waiting, seen, tried, wrong = [start], {start}, dict[str, int](), []
    while waiting:
        address = waiting.pop()
        answer = site.get(address)
        if answer.status_code != 200:
            wrong.append((address, answer.status_code))
        if "text/html" not in answer.headers.get("content-type", ""):
            continue
        for link in LINKS.findall(answer.text):
            found = urljoin(address, unescape(link)).partition("#")[0]
            if not found.startswith("/") or found in seen or "/live" in found:
                continue  # streams do not end
            seen.add(found)
            kind = kind_of(found)
            tried[kind] = tried.get(kind, 0) + 1
            if tried[kind] <= MOST_OF_A_KIND and not is_post(answer.text, link):
                waiting.append(found)
    assert len(seen) > 20
    assert wrong == []


def is_post(page: str, link: str) -> bool:
    """Return whether a link is where a form is sent to."""
    return f'method="post" action="{link}"' in page or f'action="{link}" method="post"' in page
