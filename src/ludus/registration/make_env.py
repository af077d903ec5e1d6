"""``make``: creation of environments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ludus import logger
from ludus.core.constructor_args import copied_arguments
from ludus.core.env import Env
from ludus.core.foreign.classic_adapter import adapt, needs_adapting, take_render_mode
from ludus.core.foreign.env import wrap
from ludus.core.spec import EnvSpec
from ludus.errors import Error, InvalidMetadata
from ludus.registration.entry_point import check_arguments, load_env_creator, resolve
from ludus.registration.foreign import as_spec
from ludus.registration.lookup import decide

if TYPE_CHECKING:
    from ludus.untrusted.options import Sandboxing

__all__ = ["check_time_limit", "choose_rendering", "create_env", "make", "wrap_env"]


def make(
    id: str | EnvSpec,
    max_episode_steps: int | None = None,
    disable_env_checker: bool | None = None,
    *,
    sandbox: Sandboxing | None = None,
    **kwargs: Any,
) -> Env:
    """Build an environment with the wrappers of its spec.

    Args:
        id: An id, ``"module:id"`` to import a module first, or a spec.
        max_episode_steps: Overrides the spec's time limit; -1 for none.
        disable_env_checker: Overrides whether the passive checks are disabled.
        sandbox: Run the environment's code in a sandbox: ``True``, the name of a backend, a
            ``Policy`` or ``SandboxOptions``. Its package is then not imported in this process. By
            default untrusted environments require a sandbox, and with ``LUDUS_TRUST=strict`` every
            plugin gets one.
        **kwargs: Arguments of the environment, such as ``render_mode``.

    Returns:
        The environment, wrapped from the inside out in the passive checker, order enforcing, time
        limit, the spec's additional wrappers, and a rendering wrapper if the mode needs one.

    Raises:
        Error: The id is unknown; the message suggests similar ones.
        InvalidArgument: The environment does not accept an argument.
        TypeError: The entry point did not return an environment.
        UntrustedEnv: The environment requires a sandbox.
        SandboxError: The sandbox, or the environment in it, cannot be created.

    >>> env = make("CartPole-v1", max_episode_steps=100)
    >>> env
    <TimeLimit<OrderEnforcing<PassiveEnvChecker<CartPoleEnv<CartPole-v1>>>>>
    >>> observation, info = env.reset(seed=0)
    >>> observation.shape
    (4,)
    """
    wanted = as_spec(id)
    if not isinstance(wanted, str | EnvSpec):
        raise TypeError(
            f"Expected id to be a string or EnvSpec, got {type(id)}. For an environment class, "
            "call it, or register it first with ludus.register('Name-v0', entry_point=...)."
        )
    env_id, spec, sandbox = decide(wanted, sandbox)
    check_time_limit(max_episode_steps)
    if sandbox is not None or spec is None:
        return _sandboxed(env_id, spec, sandbox, max_episode_steps, disable_env_checker, kwargs)
    arguments = {**copied_arguments(spec.kwargs), **kwargs}
    arguments.pop("sandbox", None)
    creator = resolve(spec.id, spec.entry_point)
    classic_mode = take_render_mode(creator, arguments)
    rendering = choose_rendering(creator, arguments)
    env = create_env(spec, creator, arguments, rendering, classic_mode)
    return wrap_env(env, spec, max_episode_steps, disable_env_checker, rendering)


def _sandboxed(
    env_id: str,
    spec: EnvSpec | None,
    sandbox: Sandboxing | None,
    max_episode_steps: int | None,
    disable_env_checker: bool | None,
    kwargs: dict[str, Any],
) -> Env:
    from ludus.registration.make_sandboxed import make_sandboxed

    if spec is not None:
        own = {key: value for key, value in spec.kwargs.items() if key != "sandbox"}
        spec = dataclasses.replace(spec, kwargs=own)
    return make_sandboxed(
        env_id,
        spec,
        sandbox or True,
        max_episode_steps=max_episode_steps,
        disable_env_checker=disable_env_checker,
        **kwargs,
    )


def check_time_limit(max_episode_steps: int | None) -> None:
    """Raise ValueError if ``max_episode_steps`` is not a time limit."""
    if max_episode_steps is None or max_episode_steps == -1:
        return
    if not isinstance(max_episode_steps, int) or max_episode_steps < 1:
        raise ValueError(
            f"make(max_episode_steps={max_episode_steps!r}): expected a positive int, -1 for no "
            "limit, or None for the registered one."
        )


def choose_rendering(creator: Callable[..., Any], arguments: dict[str, Any]) -> str | None:
    """Return the wrapper that provides the requested render mode, and adjust ``arguments``."""
    metadata = getattr(creator, "metadata", None)
    # `metadata` of a wrapper class is a property, so the modes are not known yet.
    if metadata is None or isinstance(metadata, property):
        return None
    modes = _render_modes(metadata)
    mode = arguments.get("render_mode")
    if mode is None or modes is None or mode in modes:
        return None
    drawable = [known for known in ("rgb_array", "rgb_array_list") if known in modes]
    if mode == "human" and drawable:
        logger.warn(
            "You are trying to use 'human' rendering for an environment that doesn't natively "
            "support it. The HumanRendering wrapper is being applied to your environment.",
            stacklevel=3,
        )
        arguments["render_mode"] = drawable[0]
        return "HumanRendering"
    if str(mode).endswith("_list") and mode.removesuffix("_list") in modes:
        arguments["render_mode"] = mode.removesuffix("_list")
        return "RenderCollection"
    logger.warn(
        f"The environment is being initialised with render_mode={mode!r} that is not in the "
        f"possible render_modes ({modes}).",
        stacklevel=3,
    )
    return None


def _render_modes(metadata: Any) -> Any:
    if not isinstance(metadata, dict):
        raise InvalidMetadata(
            f"Expect the environment metadata to be dict, actual type: {type(metadata)}. Write "
            "metadata = {'render_modes': [...], 'render_fps': 30} in the class."
        )
    modes = metadata.get("render_modes", metadata.get("render.modes"))
    if modes is None:
        logger.warn(
            "The environment creator metadata doesn't include `render_modes`, contains: "
            f"{list(metadata)}",
            stacklevel=4,
        )
    elif not isinstance(modes, Iterable):
        logger.warn(
            "Expects the environment metadata render_modes to be a Iterable, actual type: "
            f"{type(modes)}",
            stacklevel=4,
        )
        return None
    return modes


def create_env(
    spec: EnvSpec,
    creator: Callable[..., Any],
    arguments: dict[str, Any],
    rendering: str | None,
    classic_mode: str | None,
) -> Env:
    """Call the entry point, check that it returns an environment, and set its spec."""
    try:
        check_arguments(spec.id, creator, arguments)
        env = creator(**arguments)
    except TypeError as problem:
        if rendering == "HumanRendering" and "keyword argument 'render_mode'" in str(problem):
            raise Error(
                f"You passed render_mode='human' although {spec.id} doesn't implement "
                "human-rendering natively, and its constructor takes no render_mode, so the "
                "HumanRendering wrapper cannot help. Add a render_mode parameter to it."
            ) from problem
        problem.add_note(f"raised from the environment creator for {spec.id} with {arguments}")
        raise
    if needs_adapting(env):
        env = adapt(env, render_mode=classic_mode)
    if classic_mode is not None:
        arguments["render_mode"] = classic_mode
    if not isinstance(env, Env):
        raise TypeError(
            f"The environment must inherit from the ludus.Env class, actual class: {type(env)}, "
            f"returned by the entry point of {spec.id}. Derive it from ludus.Env."
        )
    env.unwrapped.spec = dataclasses.replace(
        spec,
        kwargs=arguments,
        max_episode_steps=None,
        order_enforce=False,
        disable_env_checker=True,
        additional_wrappers=(),
    )
    return env


def wrap_env(
    env: Env,
    spec: EnvSpec,
    max_episode_steps: int | None,
    disable_env_checker: bool | None,
    rendering: str | None,
) -> Env:
    """Apply the wrappers that the spec and the arguments of ``make`` require."""
    from ludus import wrappers

    prior = _check_prior_wrappers(env, spec)
    if disable_env_checker is None:
        disable_env_checker = spec.disable_env_checker
    if not disable_env_checker:
        env = wrappers.PassiveEnvChecker(env)
    if spec.order_enforce:
        env = wrappers.OrderEnforcing(env)
    limit = spec.max_episode_steps if max_episode_steps is None else max_episode_steps
    if limit is not None and limit != -1:
        env = wrappers.TimeLimit(env, limit)
    for wrapper in spec.additional_wrappers[prior:]:
        if wrapper.kwargs is None:
            raise ValueError(
                f"{wrapper.name} wrapper does not inherit from `RecordConstructorArgs`, "
                "therefore, the wrapper cannot be recreated."
            )
        env = wrap(env, load_env_creator(wrapper.entry_point), wrapper.kwargs)
    if rendering is not None:
        env = getattr(wrappers, rendering)(env)
    return env


def _check_prior_wrappers(env: Env, spec: EnvSpec) -> int:
    """Return how many of the spec's wrappers the entry point has already applied."""
    applied = () if env.spec is None else env.spec.additional_wrappers
    expected = spec.additional_wrappers[: len(applied)]
    for found, recorded in zip(applied, expected, strict=False):
        if found != recorded and len(applied) <= len(spec.additional_wrappers):
            raise ValueError(
                f"The environment's wrapper spec {found} is different from the saved `EnvSpec` "
                f"additional wrapper {recorded}"
            )
    return len(applied)
