"""The gallery of environments: the list, and the page of each."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from ludus.core.spec import EnvSpec
from ludus.registration.listing import family_of
from ludus.view.model.gallery import PROOF, facts_of, find_env, is_drawn, list_envs, versions
from ludus.view.pages.kept import close_kept, few_at_once, kept
from ludus.view.pages.record import number_in
from ludus.view.playing.gallery import Gallery, NotAsked, NotMade
from ludus.view.playing.text_picture import text_picture
from ludus.view.rendering import link, page, render

__all__ = ["gallery_of", "lifespan", "nav", "routes", "spec_in"]

nav = ("Environments", "/envs")

_PER_PAGE = 120
_SVG = "image/svg+xml"
_MOST_WAITING = 8


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Stop the worker of the gallery with the server."""
    try:
        yield
    finally:
        await run_in_threadpool(close_kept, app, "gallery")


def gallery_of(app: Starlette) -> Gallery:
    """Return what makes environments for the gallery."""
    return kept(app, "gallery", Gallery)


def spec_in(request: Request) -> EnvSpec:
    """Return the environment in the address of a page; raises ``ViewError`` if there is none."""
    return find_env(request.path_params["env_id"])


def _envs(request: Request) -> Response:
    query = request.query_params
    text, family, tag = (query.get(name, "")[:200] for name in ("q", "family", "tag"))
    latest = query.get("latest") != "0"
    found = list_envs(text, family=family, tag=tag, latest=latest)
    if latest and not found.specs:
        # Somebody may be looking for an old version, by its id.
        older = list_envs(text, family=family, tag=tag)
        latest, found = not older.specs, older
    pages = max(1, math.ceil(len(found.specs) / _PER_PAGE))
    at = number_in(request, "page", 1, pages, 1)
    gallery = gallery_of(request.app)
    specs = found.specs[(at - 1) * _PER_PAGE : at * _PER_PAGE]
    return page(
        request,
        "envs.html",
        found=found,
        rows=[(one, family_of(one), is_drawn(one) and gallery.is_allowed(one)) for one in specs],
        text=text,
        family=family,
        tag=tag,
        latest=latest,
        at=at,
        pages=pages,
        query=query,
    )


def _env(request: Request) -> Response:
    spec = spec_in(request)
    gallery = gallery_of(request.app)
    return page(
        request,
        "env.html",
        spec=spec,
        family=family_of(spec),
        facts=facts_of(spec),
        versions=versions(spec),
        proof=PROOF,
        drawn=is_drawn(spec),
        allowed=gallery.is_allowed(spec),
    )


def _inside(request: Request) -> Response:
    """Return the part of a page for which the environment is made."""
    spec = spec_in(request)
    try:
        facts = gallery_of(request.app).facts(spec)
    except (NotMade, NotAsked) as problem:
        return HTMLResponse(render("env_inside.html", facts=None, problem=str(problem)))
    return HTMLResponse(render("env_inside.html", facts=facts, problem=""))


async def _allow(request: Request) -> Response:
    spec = await run_in_threadpool(spec_in, request)
    gallery_of(request.app).allow(spec)
    return RedirectResponse(link("envs", spec.id), 303)


def _picture(request: Request) -> Response:
    spec = spec_in(request)
    headers = {"cache-control": "private, max-age=3600"}
    if not is_drawn(spec):
        return Response(text_picture("No picture."), media_type=_SVG)
    try:
        frame = gallery_of(request.app).picture(spec)
    except (NotMade, NotAsked) as problem:
        return Response(text_picture(f"No picture. {problem}", wrapped=True), media_type=_SVG)
    if frame.kind == "png":
        return Response(frame.content, media_type="image/png", headers=headers)
    text = frame.content.decode("utf-8", "replace")
    return Response(text_picture(text), media_type=_SVG, headers=headers)


routes = [
    Route("/envs", _envs),
    Route("/envs/{env_id:path}/picture", few_at_once("gallery", _MOST_WAITING, _picture)),
    Route("/envs/{env_id:path}/inside", few_at_once("gallery", _MOST_WAITING, _inside)),
    Route("/envs/{env_id:path}/allow", _allow, methods=["POST"]),
    Route("/envs/{env_id:path}", _env),
]
