"""The OpenAPI description of one served environment."""

from __future__ import annotations

from typing import Any

from ludus.serve.openenv.exchange import Wire
from ludus.serve.openenv.tasks import COUNT, SPLITS
from ludus.serve.settings import ServeSettings
from ludus.version import __version__

__all__ = ["LONGEST_WAIT", "openapi_of"]

LONGEST_WAIT = 3600.0
"""Most seconds that a request may ask to wait for a step."""

_SPLIT = {"type": "string", "enum": list(SPLITS)}
_SEED = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 2**63 - 1}, {"type": "null"}]}
_RESET = {
    "type": "object",
    "properties": {
        "seed": _SEED,
        "episode_id": {
            "anyOf": [{"type": "string", "minLength": 1, "maxLength": 255}, {"type": "null"}]
        },
        "options": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "injected_state": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
}
_PROBLEM = {
    "type": "object",
    "properties": {"detail": {}, "code": {"type": "string"}},
    "required": ["detail"],
}
_RPC: dict[str, Any] = {
    "description": "A JSON-RPC 2.0 request; what is wrong is told in the answer."
}


def openapi_of(wire: Wire, settings: ServeSettings) -> dict[str, Any]:
    """Return the description of the routes of one served environment."""
    name, schemas = wire.served.name, wire.schemas
    step = _of({"action": _ref("Action"), "timeout_s": _WAIT}, ["action"])
    result = _of(
        {
            "observation": _ref("Observation"),
            "reward": _optional("number"),
            "done": {"type": "boolean"},
            "metadata": {"type": "object"},
        },
        ["observation", "reward", "done"],
    )
    paths = {
        "/reset": {"post": _call("Begin an episode", _RESET, result, _session(needed=False))},
        "/step": {"post": _call("Make a step", step, result, _session())},
        "/state": {"get": _call("The state", None, _ref("State"), _session(needed=False))},
        "/close": {"post": _call("Close a session", None, {"type": "object"}, _session())},
        "/health": {"get": _call("Whether the server works", None, {"type": "object"})},
        "/metadata": {"get": _call("Name and description", None, {"type": "object"})},
        "/schema": {"get": _call("JSON Schemas", None, {"type": "object"})},
        "/mcp": {"post": _call("JSON-RPC", _RPC, {"type": "object"})},
        "/list_environments": {"get": _call("Names", None, _list({"type": "string"}))},
        f"/{name}/splits": {"get": _call("Splits", None, _list({"type": "object"}))},
        **{
            f"/{name}/{path}": {
                "post": _call(path, _of({"split": _SPLIT, **fields}, ["split", *needed]), _ANY)
            }
            for path, fields, needed in _TASKS
        },
    }
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": f"Ludus: {name}",
            "version": __version__,
            "description": "OpenEnv's protocol. Stateful sessions are quickest over /ws.",
        },
        "paths": paths,
        "components": {
            "schemas": {
                "Action": schemas["action"],
                "Observation": schemas["observation"],
                "State": schemas["state"],
                "Problem": _PROBLEM,
            }
        },
    }
    if settings.token is not None:
        described["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        described["security"] = [{"token": []}]
    return described


_WAIT = {
    "anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": LONGEST_WAIT}, {"type": "null"}]
}
_ANY = {"type": "object"}
_INDEX = {"type": "integer", "minimum": -COUNT, "maximum": COUNT - 1}
_BOUND = {"anyOf": [{"type": "integer", "minimum": -(2**53), "maximum": 2**53}, {"type": "null"}]}
_TASKS: tuple[tuple[str, dict[str, Any], list[str]], ...] = (
    ("tasks", {}, []),
    ("num_tasks", {}, []),
    ("task", {"index": _INDEX}, ["index"]),
    ("task_range", {"start": _BOUND, "stop": _BOUND}, []),
)


def _call(
    summary: str,
    body: dict[str, Any] | None,
    result: dict[str, Any],
    parameters: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the description of one operation."""
    described: dict[str, Any] = {
        "summary": summary,
        "responses": {
            "200": {"description": "Done", "content": _json(result)},
            **{
                status: {"description": why, "content": _json(_ref("Problem"))}
                for status, why in _PROBLEMS.items()
            },
        },
    }
    if body is not None:
        described["requestBody"] = {"required": bool(body.get("required")), "content": _json(body)}
    if parameters:
        described["parameters"] = parameters
    return described


_PROBLEMS = {
    "400": "Invalid index, or request",
    "401": "Wrong token",
    "403": "Request from another site",
    "404": "No such session",
    "405": "Wrong method",
    "409": "No episode",
    "413": "Too large",
    "414": "Address too long",
    "421": "Unknown host name",
    "422": "Invalid data",
    "429": "Too many requests",
    "500": "The environment failed",
    "501": "A package is not installed",
    "503": "Too many sessions",
    "504": "The step takes longer",
}


def _session(*, needed: bool = True) -> list[dict[str, Any]]:
    schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
    return [{"name": "X-Session-ID", "in": "header", "required": needed, "schema": schema}]


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _list(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item}


def _optional(kind: str) -> dict[str, Any]:
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


def _of(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}
