"""The worker process that makes environments for the gallery and for players.

``python -m`` runs it. An environment that is registered as untrusted is made in a sandbox only.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ludus.core.env import Env
from ludus.core.spec import EnvSpec
from ludus.errors import Error
from ludus.registration.entry_point import load_env_creator
from ludus.registration.lookup import spec as registered_spec
from ludus.registration.make_env import make
from ludus.view.playing.keys import Controls, controls_of
from ludus.view.playing.values import typed_action
from ludus.view.replaying.drawing import frame_rate, render_mode_of, to_bytes
from ludus.view.replaying.serving import Answer, Handler, serve

__all__ = ["main"]

_LONGEST = 4000
_LOOK_STEPS = 20
_MOST_LEGAL = 400


def main() -> None:
    """Serve one player, or the gallery."""
    serve(_prepare)


def _prepare(_: Mapping[str, Any]) -> Handler:
    return _Worker().answer


class _Worker:
    """Answers requests about environments; plays one at a time."""

    def __init__(self) -> None:
        self._game: _Game | None = None

    def answer(self, request: Mapping[str, Any]) -> Answer:
        operation = request["op"]
        if operation == "inspect":
            return _inspected(_spec_of(request)), ()
        if operation == "picture":
            return _picture(_spec_of(request))
        if operation == "start":
            self._game = _Game(_spec_of(request), request.get("seed"))
            return self._game.shown({"facts": self._game.facts()})
        if self._game is None:
            raise Error("No environment was started.")
        if operation == "reset":
            return self._game.reset(request.get("seed"))
        return self._game.step(request)


def _spec_of(request: Mapping[str, Any]) -> EnvSpec:
    text = request.get("spec")
    return registered_spec(request["id"]) if text is None else EnvSpec.from_json(text)


def _made(spec: EnvSpec, **kwargs: Any) -> Env[Any, Any]:
    """Make an environment, in a sandbox if it has to be."""
    trust = spec.security.trust
    is_strict = os.environ.get("LUDUS_TRUST", "").lower() == "strict"
    needs_sandbox = trust == "untrusted" or (trust == "plugin" and is_strict)
    return make(spec, sandbox=True if needs_sandbox else None, **kwargs)


def _drawing(spec: EnvSpec) -> tuple[Env[Any, Any], str | None]:
    """Make an environment in a render mode that gives frames, if it has one."""
    env = _made(spec)
    mode = render_mode_of(env.metadata)
    if mode is None or env.render_mode == mode:
        return env, mode
    env.close()
    return _made(spec, render_mode=mode), mode


def _inspected(spec: EnvSpec) -> dict[str, Any]:
    """Return what only the environment itself knows."""
    env = _made(spec)
    try:
        metadata = env.metadata
        told = {
            "observation_space": str(env.observation_space)[:_LONGEST],
            "action_space": str(env.action_space)[:_LONGEST],
            "render_modes": [str(mode) for mode in metadata.get("render_modes") or ()][:20],
            "fps": frame_rate(metadata),
            "layers": str(env)[:_LONGEST],
        }
        keys = [button["keys"] for button in controls_of(env, spec.id).buttons()]
        told["keys"] = keys
    finally:
        env.close()
    if spec.security.trust != "untrusted" and isinstance(spec.entry_point, str):
        told |= _described(spec)
    return told


def _described(spec: EnvSpec) -> dict[str, Any]:
    """Return the arguments and the documentation of the entry point."""
    assert isinstance(spec.entry_point, str)  # noqa: S101, checked by the caller
    creator = load_env_creator(spec.entry_point)
    arguments = []
    try:
        parameters = inspect.signature(creator).parameters.values()
    except (TypeError, ValueError):
        return {"arguments": [], "doc": ""}
    for one in parameters:
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            continue
        default = "" if one.default is one.empty else repr(one.default)[:200]
        annotation = "" if one.annotation is one.empty else str(one.annotation)[:200]
        given = repr(spec.kwargs[one.name])[:200] if one.name in spec.kwargs else ""
        row = {"name": one.name, "default": default, "type": annotation, "given": given}
        arguments.append(row)
    return {"arguments": arguments[:100], "doc": (inspect.getdoc(creator) or "")[:_LONGEST]}


def _picture(spec: EnvSpec) -> Answer:
    """Draw an environment a few random steps after a reset."""
    env, mode = _drawing(spec)
    try:
        if mode is None:
            raise Error("The environment draws neither images nor text.")
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(_LOOK_STEPS):
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            if terminated or truncated:
                env.reset()
                break
        kind, content = to_bytes(env.render(), mode)
    finally:
        env.close()
    return {"kind": kind}, (content,)


class _Game:
    """One environment that somebody plays."""

    def __init__(self, spec: EnvSpec, seed: int | None) -> None:
        self._id = spec.id
        self._env, self._mode = _drawing(spec)
        self._controls: Controls = controls_of(self._env, spec.id)
        self._info: Mapping[str, Any] = {}
        self._steps, self._reward, self._total = 0, 0.0, 0.0
        self._flags, self._over = (False, False), False
        self._begin(seed)

    def facts(self) -> dict[str, Any]:
        """Return what the page has to know beforehand."""
        return {
            "fps": frame_rate(self._env.metadata),
            "buttons": self._controls.buttons(),
            "keys": self._controls.keys(),
            "has_noop": self._controls.noop is not None,
            "action_space": str(self._env.action_space)[:300],
            "sample": _plain(self._env.action_space.sample()),
            "draws": self._mode,
        }

    def reset(self, seed: int | None) -> Answer:
        """Begin an episode."""
        self._begin(seed)
        return self.shown({})

    def step(self, request: Mapping[str, Any]) -> Answer:
        """Take one step: by pressed keys, by a typed action, or at random."""
        if self._over:
            self._begin(None)
            return self.shown({"began": True})
        if "action" in request:
            action = typed_action(self._env.action_space, request["action"])
        elif request.get("random"):
            action = self._sample()
        else:
            action = self._controls.action(request.get("keys", ()))
            if action is None:
                action = self._controls.noop
            if action is None:
                return self.shown({})
        _, reward, terminated, truncated, self._info = self._env.step(action)
        self._steps += 1
        self._reward = float(reward)
        self._total += self._reward
        self._flags = bool(terminated), bool(truncated)
        self._over = any(self._flags)
        return self.shown({"action": _plain(action)})

    def shown(self, more: Mapping[str, Any]) -> Answer:
        """Return the present frame and figures."""
        answer = {
            "steps": self._steps,
            "reward": _number(self._reward),
            "total": _number(self._total),
            "terminated": self._flags[0],
            "truncated": self._flags[1],
            "legal": self._legal(),
            **more,
        }
        if self._mode is None:
            return {**answer, "kind": "none"}, ()
        kind, content = to_bytes(self._env.render(), self._mode)
        return {**answer, "kind": kind}, (content,)

    def _begin(self, seed: int | None) -> None:
        _, self._info = self._env.reset(seed=seed)
        self._env.action_space.seed(seed)
        self._steps, self._reward, self._total = 0, 0.0, 0.0
        self._flags, self._over = (False, False), False

    def _mask(self) -> Any:
        mask = self._info.get("action_mask")
        is_mask = isinstance(mask, np.ndarray) and mask.ndim == 1 and mask.dtype.kind in "biu"
        return mask if is_mask else None

    def _legal(self) -> list[int] | None:
        mask = self._mask()
        if mask is None:
            return None
        legal: list[int] = np.flatnonzero(mask)[:_MOST_LEGAL].tolist()
        return legal

    def _sample(self) -> Any:
        mask = self._mask()
        if mask is not None and mask.dtype == np.int8 and mask.any():
            return self._env.action_space.sample(mask)
        return self._env.action_space.sample()


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _plain(value: Any) -> str:
    """Return an action as JSON text, as it can be typed."""

    def listed(part: Any) -> Any:
        if isinstance(part, np.ndarray | np.generic):
            return part.tolist()
        return str(part)

    return json.dumps(value, default=listed)[:300]


if __name__ == "__main__":
    main()
