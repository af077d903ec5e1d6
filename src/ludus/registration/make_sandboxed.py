"""``make`` and ``make_vec`` for environments in sandboxes, and of code that is not installed."""

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
    """Build an environment in a sandbox, inside the wrappers that ``make`` gives.

    Args:
        env_id: what was asked for.
        spec: its spec, if the host knows it without importing anything.
        sandbox: how to run the sandbox.
        max_episode_steps: as in ``make``.
        disable_env_checker: as in ``make``.
        recipe: what else the sandbox needs.
        **kwargs: arguments of the environment, plain data.
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
    """Build ``num_envs`` environments in one sandbox, which runs ``make_vec`` itself."""
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
    """Return what a spec keeps of the argument, so that making the spec makes the same."""
    return sandbox if isinstance(sandbox, bool | str) else sandbox_options(sandbox)


def _are_ours(spec: EnvSpec) -> bool:
    """Tell whether the spec's wrappers are Ludus' own, which the host may import."""
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
        path: a package's folder, the folder that holds it, or a wheel. The sandbox sees it
            read-only.
        entry_point: ``"package.module:Class"``.
        policy: limits of the sandbox; by default no network, no files, no processes.
        backend: a backend of ``open_sandbox``.
        num_envs: returns a batch of so many instead of a single environment.
        sandbox: all options of the sandbox, in place of ``policy`` and ``backend``.
        **kwargs: arguments of the environment, plain data; for a batch also
            ``vectorization_mode`` and ``vector_kwargs``.

    Raises:
        FileNotFoundError: there is nothing at ``path``.
        Error: it is neither folder nor wheel, or holds no such package.
    """
    if entry_point.count(":") != 1:
        raise Error(f"entry_point is {entry_point!r}; expected 'package.module:Class'.")
    options = sandbox or SandboxOptions(policy=policy, backend=backend)
    if options.backend == "process":
        raise Error("The 'process' backend isolates nothing, and loads no foreign code.")
    name = "".join(c if c.isalnum() or c in "_-" else "_" for c in entry_point.partition(":")[2])
    security = SecuritySpec(trust="untrusted")
    spec = EnvSpec(name, entry_point=entry_point, security=security)
    if not Path(path).exists():
        raise FileNotFoundError(
            f"There is nothing at {os.fspath(path)!r}; expected a package's folder, the folder "
            "that holds it, or a wheel."
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
            f"{str(path)!r} holds no {package!r}; expected a wheel, the folder of the package "
            f"{package}, or a folder with {package}/ or {package}.py in it."
        )
    return dataclasses.replace(recipe, mounts=(mount,), paths=(_GIVEN,))
