"""``make`` and ``make_vec`` in a sandbox, also for code that is not installed."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any

from ludus.core.env import Env
from ludus.core.spec import EnvSpec, SecuritySpec
from ludus.core.vector_env import VectorEnv
from ludus.errors import Error
from ludus.registration.make_env import check_time_limit, wrap_env
from ludus.sandbox.policy import Mount, Policy
from ludus.untrusted.env import SandboxedEnv
from ludus.untrusted.opening import Recipe, open_env
from ludus.untrusted.options import Sandboxing, SandboxOptions, sandbox_options
from ludus.untrusted.packages import top_level
from ludus.untrusted.vector_env import SandboxedVectorEnv

__all__ = ["load", "make_sandboxed", "make_vec_sandboxed"]

_GIVEN = "/ludus/given"


def make_sandboxed(
    env_id: str,
    spec: EnvSpec | None,
    sandbox: Sandboxing,
    *,
    max_episode_steps: int | None = None,
    disable_env_checker: bool | None = None,
    recipe: Recipe | None = None,
    **kwargs: Any,
) -> Env:
    """Build an environment in a sandbox, with the wrappers of ``make``.

    Args:
        env_id: The id.
        spec: Its spec, if it is known without importing third-party code.
        sandbox: Options of the sandbox.
        max_episode_steps: As in ``make``.
        disable_env_checker: As in ``make``.
        recipe: Additional contents of the sandbox.
        **kwargs: Arguments of the environment, plain data.
    """
    check_time_limit(max_episode_steps)
    options = sandbox_options(sandbox)
    inside = spec is None or not _are_ours(spec)
    recipe = dataclasses.replace(
        recipe or Recipe(id=env_id, spec=spec), arguments=kwargs, wraps=inside
    )
    opened = open_env(recipe, options)
    env = SandboxedEnv(opened, options)
    try:
        known = opened.declared.spec
        arguments = {**known.kwargs, **kwargs, "sandbox": _recorded(sandbox)}
        env.spec = dataclasses.replace(
            known,
            kwargs=arguments,
            max_episode_steps=None,
            order_enforce=False,
            disable_env_checker=True,
            additional_wrappers=(),
        )
        outside = dataclasses.replace(known, additional_wrappers=()) if inside else known
        rendering = opened.declared.rendering
        return wrap_env(env, outside, max_episode_steps, disable_env_checker, rendering)
    except BaseException:
        env.close()
        raise


def make_vec_sandboxed(
    env_id: str,
    spec: EnvSpec | None,
    sandbox: Sandboxing,
    num_envs: int,
    *,
    mode: str | None = None,
    vector_kwargs: dict[str, Any] | None = None,
    recipe: Recipe | None = None,
    **kwargs: Any,
) -> VectorEnv:
    """Build a vector environment in one sandbox."""
    options = sandbox_options(sandbox)
    recipe = dataclasses.replace(
        recipe or Recipe(id=env_id, spec=spec),
        arguments=kwargs,
        num_envs=num_envs,
        mode=mode,
        vector_kwargs=vector_kwargs or {},
    )
    opened = open_env(recipe, options)
    known = opened.declared.spec
    limit = kwargs.get("max_episode_steps", known.max_episode_steps)
    env = SandboxedVectorEnv(opened, options, num_envs, None if limit == -1 else limit)
    recorded: dict[str, Any] = {"sandbox": _recorded(sandbox), "num_envs": num_envs}
    recorded |= {} if mode is None else {"vectorization_mode": mode}
    recorded |= {"vector_kwargs": vector_kwargs} if vector_kwargs else {}
    env.spec = dataclasses.replace(known, kwargs={**known.kwargs, **kwargs, **recorded})
    return env


def _recorded(sandbox: Sandboxing) -> Sandboxing:
    """Return the value that the spec records, so that ``make(spec)`` uses the same sandbox."""
    return sandbox if isinstance(sandbox, bool | str) else sandbox_options(sandbox)


def _are_ours(spec: EnvSpec) -> bool:
    """Return whether all wrappers of a spec are Ludus's own, so that they may be imported."""
    modules = [wrapper.entry_point.partition(":")[0] for wrapper in spec.additional_wrappers]
    return all(f"{module}.".startswith("ludus.wrappers.") for module in modules)


def load(
    path: str | os.PathLike[str],
    entry_point: str,
    *,
    policy: Policy | None = None,
    backend: str | None = None,
    num_envs: int | None = None,
    sandbox: SandboxOptions | None = None,
    **kwargs: Any,
) -> Env | VectorEnv:
    """Run an environment from a folder or wheel in a sandbox, without installing or importing it.

    Args:
        path: The package's folder, its parent folder, or a wheel; mounted read-only.
        entry_point: ``"package.module:Class"``.
        policy: Limits of the sandbox; by default no network, files or processes.
        backend: A backend of ``open_sandbox``.
        num_envs: Return a vector environment of this size instead of a single environment.
        sandbox: All options of the sandbox, instead of ``policy`` and ``backend``.
        **kwargs: Arguments of the environment, plain data; for a vector environment also
            ``vectorization_mode`` and ``vector_kwargs``.

    Raises:
        FileNotFoundError: ``path`` does not exist.
        Error: ``path`` is not a folder or wheel, or does not contain the package.
    """
    if entry_point.count(":") != 1:
        raise Error(f"entry_point is {entry_point!r}; expected 'package.module:Class'.")
    options = sandbox or SandboxOptions(policy=policy, backend=backend)
    if options.backend == "process":
        raise Error("The 'process' backend does not isolate, so it cannot run untrusted code.")
    name = "".join(c if c.isalnum() or c in "_-" else "_" for c in entry_point.partition(":")[2])
    security = SecuritySpec(trust="untrusted")
    spec = EnvSpec(name, entry_point=entry_point, security=security)
    if not Path(path).exists():
        raise FileNotFoundError(
            f"{os.fspath(path)!r} does not exist; expected a package's folder, its parent folder, "
            "or a wheel."
        )
    recipe = _given(Path(path).resolve(), entry_point, Recipe(id=name, spec=spec))
    if num_envs is None:
        return make_sandboxed(name, spec, options, recipe=recipe, **kwargs)
    mode = kwargs.pop("vectorization_mode", None)
    return make_vec_sandboxed(name, spec, options, num_envs, mode=mode, recipe=recipe, **kwargs)


def _given(path: Path, entry_point: str, recipe: Recipe) -> Recipe:
    package = top_level(entry_point)
    if path.is_file() and path.suffix == ".whl":
        target = f"{_GIVEN}/{path.name}"
        return dataclasses.replace(recipe, mounts=(Mount(str(path), target),), wheel=target)
    if (path / package).is_dir() or (path / f"{package}.py").is_file():
        mount = Mount(str(path), _GIVEN)
    elif path.is_dir() and path.name == package:
        mount = Mount(str(path), f"{_GIVEN}/{package}")
    else:
        raise Error(
            f"{str(path)!r} does not contain {package!r}; expected a wheel, the folder of the "
            f"package {package}, or a folder that contains {package}/ or {package}.py."
        )
    return dataclasses.replace(recipe, mounts=(mount,), paths=(_GIVEN,))
