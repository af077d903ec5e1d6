"""Opens a sandbox and builds an environment in it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import Any

from ludus import errors
from ludus.codec import encode
from ludus.core.spec import EnvSpec, SecuritySpec
from ludus.errors import CodecError, Error, RemoteEnvError, SandboxError
from ludus.sandbox.contract import Sandbox
from ludus.sandbox.opening import open_sandbox
from ludus.sandbox.policy import Mount, Policy
from ludus.served_names import own_name
from ludus.untrusted.channel.channel import Channel
from ludus.untrusted.channel.protocol import MessagePlan, Op
from ludus.untrusted.channel.shared_memory import sealed_memory
from ludus.untrusted.options import SandboxOptions
from ludus.untrusted.packages import (
    PACKAGES,
    kernels_for_sandboxes,
    package_folders,
    package_mounts,
    top_level,
)
from ludus.untrusted.validate.declaration import LIMITS, Declaration, read_declaration

__all__ = ["Opened", "Recipe", "open_env"]

_KERNELS = "/ludus/kernels"
_BOOT = (
    "import sys; sys.path[:0] = {paths!r}; from ludus.untrusted.inside.runner import main; main()"
)
# One processor is what a sandbox has: threads of libraries would only cost it time and pids.
_ENVIRONMENT = {
    "LUDUS_CACHE": ".cache",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "SDL_AUDIODRIVER": "dummy",
    "SDL_VIDEODRIVER": "dummy",
}
# Errors before the environment exists are raised as outside a sandbox.
_SAME_ERRORS = (
    "DependencyNotInstalled",
    "DeprecatedEnv",
    "InvalidArgument",
    "NameNotFound",
    "NamespaceNotFound",
    "UnregisteredEnv",
    "VersionNotFound",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What to build in a sandbox.

    Args:
        id: the id that was asked for.
        spec: its spec, if the host knows it; otherwise the sandbox looks it up.
        arguments: keywords of the environment, plain data.
        num_envs: size of a batch; ``None`` for a single environment.
        mode: vectorization mode of a batch.
        vector_kwargs: arguments of the vector environment.
        wraps: whether the sandbox applies the spec's additional wrappers.
        mounts: what else the sandbox sees.
        paths: folders inside the sandbox to import from.
        wheel: a wheel inside the sandbox to import from.
    """

    id: str
    spec: EnvSpec | None
    arguments: dict[str, Any] = field(default_factory=dict)
    num_envs: int | None = None
    mode: str | None = None
    vector_kwargs: dict[str, Any] = field(default_factory=dict)
    wraps: bool = False
    mounts: tuple[Mount, ...] = ()
    paths: tuple[str, ...] = ()
    wheel: str | None = None


@dataclass(frozen=True, slots=True)
class Opened:
    """A running environment: its channel, its declaration, and the memory layout."""

    channel: Channel
    declared: Declaration
    plan: MessagePlan


def open_env(recipe: Recipe, options: SandboxOptions) -> Opened:
    """Open a sandbox, build the environment in it, and check what it declares.

    Raises:
        SandboxUnavailable, PolicyNotEnforceable: no such sandbox can be opened here.
        RemoteEnvError: the environment could not be built; ids that do not exist and arguments
            that do not fit raise what they raise outside.
        SandboxViolation: its declaration is invalid.
        SandboxTimeout, SandboxCrashed: it was not built.
        CodecError: an argument is not plain data.
    """
    security = SecuritySpec() if recipe.spec is None else recipe.spec.security
    isolated = options.backend != "process"
    kernels = kernels_for_sandboxes()
    policy = options.policy
    if isolated:
        ours = (*package_mounts(_packages(recipe)), *recipe.mounts, Mount(kernels, _KERNELS))
        policy = policy or Policy.from_spec(security)
        policy = replace(policy, mounts=(*policy.mounts, *ours))
    plain = _plain_recipe(recipe, options, _KERNELS if isolated else kernels)
    sandbox = open_sandbox(policy, backend=options.backend, label="env")
    channel = _started(sandbox, recipe, options, plain)
    try:
        return _declared(channel, recipe, options, plain)
    except BaseException as problem:
        channel.close(f"its environment could not be built ({type(problem).__name__})")
        raise


def _packages(recipe: Recipe) -> list[str]:
    names = ["ludus"]
    if recipe.spec is None:
        module, colon, _ = recipe.id.rpartition(":")
        names += [top_level(module)] if colon else []
    else:
        wrappers = [wrapper.entry_point for wrapper in recipe.spec.additional_wrappers]
        points = [recipe.spec.entry_point, recipe.spec.vector_entry_point, *wrappers]
        names += [top_level(own_name(point)) for point in points if isinstance(point, str)]
    return list(dict.fromkeys(names))


def _plain_recipe(recipe: Recipe, options: SandboxOptions, kernels: str) -> dict[str, Any]:
    return {
        "id": recipe.id,
        "spec": None if recipe.spec is None else _plain_spec(recipe.spec),
        "arguments": _without_enums(recipe.arguments),
        "num_envs": recipe.num_envs,
        "mode": recipe.mode,
        "vector_kwargs": _without_enums(recipe.vector_kwargs),
        "wraps": recipe.wraps,
        "paths": list(recipe.paths),
        "wheel": recipe.wheel,
        "cpu": options.cpu,
        "kernels": kernels,
        "memory": None,
        # Spinning keeps a processor busy: there must be one for each side.
        "spins": len(os.sched_getaffinity(0) - {options.cpu}) > (options.cpu is None),
    }


def _plain_spec(spec: EnvSpec) -> dict[str, Any]:
    made: dict[str, Any] = {
        item.name: getattr(spec, item.name)
        for item in fields(spec)
        if item.init and item.name not in ("security", "additional_wrappers")
    }
    for name in ("entry_point", "vector_entry_point"):
        made[name] = _as_text(spec.id, made[name])
    made["kwargs"] = _without_enums(made["kwargs"])
    made["additional_wrappers"] = [
        {
            "name": wrapper.name,
            "entry_point": own_name(wrapper.entry_point),
            "kwargs": wrapper.kwargs,
        }
        for wrapper in spec.additional_wrappers
    ]
    return made


def _as_text(env_id: str, entry_point: Any) -> str | None:
    """Return an entry point as the text under which a sandbox can import it."""
    if entry_point is None:
        return None
    if isinstance(entry_point, str):
        return own_name(entry_point)
    module = getattr(entry_point, "__module__", "__main__")
    name = getattr(entry_point, "__qualname__", "<locals>")
    if module == "__main__" or "<" in name:
        raise Error(
            f"{env_id} was registered with the callable {entry_point!r}, which a sandbox cannot "
            "import. Register it as 'module:name', with a module that can be imported."
        )
    return own_name(f"{module}:{name}")


def _without_enums(arguments: dict[str, Any]) -> dict[str, Any]:
    return {key: v.value if isinstance(v, Enum) else v for key, v in arguments.items()}


def _started(
    sandbox: Sandbox, recipe: Recipe, options: SandboxOptions, plain: dict[str, Any]
) -> Channel:
    memory: int | None = None
    try:
        names = _packages(recipe)
        paths = [PACKAGES] if options.backend != "process" else package_folders(names)
        argv = [os.path.normpath(sys.executable), "-I", "-B", "-u", "-c", _BOOT.format(paths=paths)]
        environment = {**_ENVIRONMENT, "LUDUS_CACHE": f"{sandbox._home()}/.cache"}
        if options.share_memory:
            memory = sealed_memory()
        try:
            job = sandbox.spawn(argv, pass_fds=() if memory is None else (memory,), env=environment)
        except SandboxError:
            if memory is None:
                raise
            # Not every backend passes descriptors; there, pipes are used. A file in a mounted
            # folder could be truncated, which kills its readers, or fill the host's disk.
            os.close(memory)
            memory = None
            job = sandbox.spawn(argv, env=environment)
        plain["memory"] = memory
        return Channel(
            sandbox, job, memory, start_timeout=options.start_timeout, spins=plain["spins"]
        )
    except BaseException:
        sandbox.close("its program could not be started")
        if memory is not None:
            os.close(memory)
        raise


def _declared(
    channel: Channel, recipe: Recipe, options: SandboxOptions, plain: dict[str, Any]
) -> Opened:
    try:
        payload = encode(plain, name="recipe")
    except CodecError as problem:
        raise CodecError(
            f"{problem} Arguments of a sandboxed environment are plain data.", path=problem.path
        ) from None
    try:
        told = channel.call(Op.START, payload, limits=LIMITS)
    except RemoteEnvError as problem:
        raise _start_error(recipe, problem) from None
    try:
        declared = read_declaration(
            told,
            spec=recipe.spec,
            wanted=recipe.id,
            num_envs=recipe.num_envs,
            limits=options.spaces,
        )
    except ValueError as problem:
        channel.violation(f"The sandbox sent an invalid declaration: {problem}.")
    plan = MessagePlan.of(declared.observation_space, declared.action_space, recipe.num_envs)
    channel.attach(plan, options.step_timeout)
    return Opened(channel, declared, plan)


def _start_error(recipe: Recipe, problem: RemoteEnvError) -> Error:
    text = str(problem).replace(
        "The environment in the sandbox raised",
        f"{recipe.id} could not be built in its sandbox:",
        1,
    )
    if problem.kind in _SAME_ERRORS:
        same: Error = getattr(errors, problem.kind)(text)
        return same
    return RemoteEnvError(text, kind=problem.kind, remote_traceback=problem.remote_traceback)
