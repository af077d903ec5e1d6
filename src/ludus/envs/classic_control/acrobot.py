"""Acrobot: two links with a motor at the elbow have to swing their tip up (Sutton, 1996)."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ludus.envs.arguments import number
from ludus.envs.classic_control.arithmetic import clip, cos_float32, sin_float32, wrap_angle
from ludus.envs.classic_control.parameter import KernelParameter, Parameter
from ludus.envs.classic_control.picture_env import PictureEnv
from ludus.envs.classic_control.utils import bound, rk4, wrap
from ludus.envs.reset_options import with_reset_bounds
from ludus.envs.single_precision import round_to_float32
from ludus.kernel import Kernel
from ludus.kernel.math import sincos
from ludus.kernel.random import uniform
from ludus.spaces import Box, Discrete, Space

__all__ = ["KERNEL", "NOISY_KERNEL", "AcrobotEnv", "Params", "State", "bound", "rk4", "wrap"]

GRAVITY = 9.8
EIGHTH_TURN = math.pi / 4.0


class Params(NamedTuple):
    """The motor, the links, the integration step, and where an episode starts."""

    torque_0: float = -1.0
    torque_1: float = 0.0
    torque_2: float = 1.0
    torque_noise: float = 0.0
    length_1: float = 1.0
    length_2: float = 1.0
    mass_1: float = 1.0
    mass_2: float = 1.0
    center_1: float = 0.5
    center_2: float = 0.5
    inertia: float = 1.0
    max_speed_1: float = 4.0 * math.pi
    max_speed_2: float = 9.0 * math.pi
    step_seconds: float = 0.2
    nips: bool = False
    initial_low: float = -0.1
    initial_high: float = 0.1


class State(NamedTuple):
    """The first link's angle from straight down, the second's from the first, and their speeds.

    An episode's first state is rounded to float32, later ones are in double precision.
    """

    theta_1: float
    theta_2: float
    speed_1: float
    speed_2: float


def initial(params: Params, rng: Any) -> State:
    """Hang nearly still."""
    low, high = params.initial_low, params.initial_high
    theta_1 = round_to_float32(uniform(rng, low, high))
    theta_2 = round_to_float32(uniform(rng, low, high))
    speed_1 = round_to_float32(uniform(rng, low, high))
    speed_2 = round_to_float32(uniform(rng, low, high))
    return State(theta_1, theta_2, speed_1, speed_2)


def transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Apply the torque of the action."""
    return swing(params, state, torque_of(params, action))


def noisy_transition(params: Params, state: State, action: int, rng: Any) -> State:
    """Apply the torque of the action, disturbed by uniform noise."""
    noise = uniform(rng, -params.torque_noise, params.torque_noise)
    return swing(params, state, torque_of(params, action) + noise)


def torque_of(params: Params, action: int) -> float:
    """Return the torque of an action; by comparisons instead of a table, so that it vectorises."""
    forward = params.torque_1 if action == 1 else params.torque_2
    return params.torque_0 if action == 0 else forward


def swing(params: Params, state: State, torque: float) -> State:
    """Integrate the equations of motion over one step by the Runge-Kutta method of order 4."""
    step = params.step_seconds
    half = step / 2.0
    a, b, u, v = state.theta_1, state.theta_2, state.speed_1, state.speed_2
    u1, v1 = u, v
    du1, dv1 = accelerations(params, a, b, u1, v1, torque)
    u2, v2 = u + half * du1, v + half * dv1
    du2, dv2 = accelerations(params, a + half * u1, b + half * v1, u2, v2, torque)
    u3, v3 = u + half * du2, v + half * dv2
    du3, dv3 = accelerations(params, a + half * u2, b + half * v2, u3, v3, torque)
    u4, v4 = u + step * du3, v + step * dv3
    du4, dv4 = accelerations(params, a + step * u3, b + step * v3, u4, v4, torque)
    sixth = step / 6.0
    return State(
        wrap_angle(a + sixth * (u1 + 2.0 * u2 + 2.0 * u3 + u4)),
        wrap_angle(b + sixth * (v1 + 2.0 * v2 + 2.0 * v3 + v4)),
        clip(
            u + sixth * (du1 + 2.0 * du2 + 2.0 * du3 + du4),
            -params.max_speed_1,
            params.max_speed_1,
        ),
        clip(
            v + sixth * (dv1 + 2.0 * dv2 + 2.0 * dv3 + dv4),
            -params.max_speed_2,
            params.max_speed_2,
        ),
    )


def accelerations(
    params: Params, theta_1: float, theta_2: float, speed_1: float, speed_2: float, torque: float
) -> tuple[float, float]:
    """Return both links' angular accelerations, by the equations of the book or the NIPS paper.

    Sines and divisions take most of the time, so the sine of the angles' sum is computed from
    theirs, and one inverse of the inertia replaces three divisions.
    """
    m1, m2, l1 = params.mass_1, params.mass_2, params.length_1
    c1, c2, inertia = params.center_1, params.center_2, params.inertia
    sin_1, cos_1 = sincos(theta_1)
    sin_2, cos_2 = sincos(theta_2)
    inverse = 1.0 / (
        m1 * (c1 * c1) + m2 * (l1 * l1 + c2 * c2 + 2.0 * l1 * c2 * cos_2) + inertia + inertia
    )
    d2 = m2 * (c2 * c2 + l1 * c2 * cos_2) + inertia
    share = d2 * inverse
    phi_2 = m2 * c2 * GRAVITY * (sin_1 * cos_2 + cos_1 * sin_2)
    phi_1 = (
        -m2 * l1 * c2 * (speed_2 * speed_2) * sin_2
        - 2.0 * m2 * l1 * c2 * speed_2 * speed_1 * sin_2
        + (m1 * c1 + m2 * l1) * GRAVITY * sin_1
        + phi_2
    )
    drive = torque + share * phi_1
    if not params.nips:
        drive -= m2 * l1 * c2 * (speed_1 * speed_1) * sin_2
    second = (drive - phi_2) / (m2 * (c2 * c2) + inertia - d2 * share)
    return -(share * second + phi_1 * inverse), second


def observation(params: Params, state: State) -> tuple[float, float, float, float, float, float]:
    """Return cosine and sine of both angles, and the angular velocities."""
    sin_1, cos_1 = sincos(state.theta_1)
    sin_2, cos_2 = sincos(state.theta_2)
    return cos_1, sin_1, cos_2, sin_2, state.speed_1, state.speed_2


def first_observation(
    params: Params, state: State
) -> tuple[float, float, float, float, float, float]:
    """Return the observation computed in float32, the precision of an episode's first angles."""
    sin_1, cos_1 = circle_point_float32(state.theta_1)
    sin_2, cos_2 = circle_point_float32(state.theta_2)
    return cos_1, sin_1, cos_2, sin_2, state.speed_1, state.speed_2


def circle_point_float32(angle: float) -> tuple[float, float]:
    """Return sine and cosine in float32; beyond an eighth of a turn computed in float64."""
    sine, cosine = sincos(angle)
    small = abs(angle) < EIGHTH_TURN
    return sin_float32(angle) if small else sine, cos_float32(angle) if small else cosine


def reward(params: Params, state: State, action: int, next_state: State) -> float:
    """Return -1 for every step but the last, which returns 0."""
    return 0.0 if terminal(params, next_state) else -1.0


def terminal(params: Params, state: State) -> bool:
    """Return whether the tip is a link's length above the bar."""
    sin_1, cos_1 = sincos(state.theta_1)
    sin_2, cos_2 = sincos(state.theta_2)
    return -cos_1 - (cos_1 * cos_2 - sin_1 * sin_2) > 1.0


def spaces(params: Params) -> tuple[Space[Any], Space[Any]]:
    """Return the observation and the action space."""
    high = np.array([1, 1, 1, 1, params.max_speed_1, params.max_speed_2], dtype=np.float32)
    return Box(-high, high, dtype=np.float32), Discrete(3)


KERNEL = Kernel(
    name="Acrobot",
    params=Params,
    state=State,
    initial=initial,
    transition=transition,
    observation=observation,
    reward=reward,
    terminal=terminal,
    spaces=spaces,
    first_observation=first_observation,
)
# A separate kernel, because only transitions without random numbers can be vectorised.
NOISY_KERNEL = dataclasses.replace(KERNEL, name="noisy Acrobot", transition=noisy_transition)


class _TorqueList(list[float]):
    """The torques of an environment; assigning to an item changes them."""

    def __init__(self, env: Any, torques: list[float]) -> None:
        super().__init__(torques)
        self._env = env

    def __setitem__(self, index: Any, value: Any) -> None:
        changed = list(self)
        changed[index] = value
        self._env.AVAIL_TORQUE = changed
        super().__setitem__(index, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class _Torques(Parameter):
    """The three actions' torques as a list."""

    def __get__(self, env: Any, owner: type | None = None) -> Any:
        found = super().__get__(env, owner)
        return found if env is None else _TorqueList(env, found)

    def pack(self, value: Any) -> dict[str, Any]:
        torques = list(value)
        if len(torques) != 3:
            raise ValueError(f"{self.name} needs a torque for each of 3 actions, got {value!r}.")
        return {f"torque_{i}": number(f"{self.name}[{i}]", t) for i, t in enumerate(torques)}

    def unpack(self, params: Params) -> list[float]:
        return [params.torque_0, params.torque_1, params.torque_2]


class _Equations(Parameter):
    """The equations of motion: ``"book"`` or ``"nips"``."""

    def pack(self, value: Any) -> dict[str, Any]:
        if value not in ("book", "nips"):
            raise ValueError(f"{self.name}={value!r} is unknown; use 'book' or 'nips'.")
        return {self.field: value == "nips"}

    def unpack(self, params: Params) -> str:
        return "nips" if params.nips else "book"


class AcrobotEnv(PictureEnv):
    """Observations are cosine and sine of both angles and the speeds; actions 0, 1, 2 are torques.

    Each step costs 1, except the one that lifts the tip a link's length above the bar, which ends
    the episode. It starts with all four numbers of :class:`State` between -0.1 and 0.1; ``reset``
    options ``low`` and ``high`` replace these bounds.

    The constants are attributes, to be set on an instance or by a subclass. ``book_or_nips``
    chooses the equations of Sutton and Barto's book or of the NIPS paper; ``torque_noise_max``
    bounds uniform noise on the torque.
    """

    uncalled_hooks: ClassVar[tuple[str, ...]] = ("_dsdt", "_terminal")

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["human", "rgb_array"],
        "render_fps": 15,
    }
    SCREEN_DIM = screen_width = screen_height = 500
    actions_num = 3
    first_dtype = np.float32
    observation_method = "_get_ob"
    constants_of_class = True

    dt = Parameter(0.2, "step_seconds")
    LINK_LENGTH_1 = Parameter(1.0, "length_1")
    LINK_LENGTH_2 = Parameter(1.0, "length_2")
    LINK_MASS_1 = Parameter(1.0, "mass_1")
    LINK_MASS_2 = Parameter(1.0, "mass_2")
    LINK_COM_POS_1 = Parameter(0.5, "center_1")
    LINK_COM_POS_2 = Parameter(0.5, "center_2")
    LINK_MOI = Parameter(1.0, "inertia")
    MAX_VEL_1 = Parameter(4 * math.pi, "max_speed_1")
    MAX_VEL_2 = Parameter(9 * math.pi, "max_speed_2")
    AVAIL_TORQUE = _Torques([-1.0, 0.0, 1.0])
    torque_noise_max = KernelParameter(0.0, "torque_noise")
    book_or_nips = _Equations("book", "nips")

    def __init__(self, render_mode: str | None = None) -> None:
        fields: dict[str, Any] = {}
        for name, parameter in _parameters().items():
            fields |= parameter.pack(getattr(type(self), name))
        super().__init__(Params(**fields), render_mode=render_mode)

    @property
    def kernel(self) -> Kernel:  # type: ignore[override]
        """The dynamics, with or without noise."""
        return NOISY_KERNEL if self.params.torque_noise > 0.0 else KERNEL

    def _get_ob(self) -> np.ndarray[Any, Any]:
        """Return the observation; override to return another one."""
        return self._observe()

    def _terminal(self) -> bool:
        """Return whether the tip is high enough for the episode to end."""
        return bool(terminal(self.params, self.named_state()))

    def _dsdt(self, s_augmented: Any) -> tuple[float, ...]:
        """Return the derivatives of the state and the torque, which are given in one vector."""
        *angles, speed_1, speed_2, torque = (float(number) for number in s_augmented)
        changes = accelerations(self.params, angles[0], angles[1], speed_1, speed_2, torque)
        return speed_1, speed_2, *changes, 0.0

    def reset_params(self, options: dict[str, Any] | None) -> Params:
        """Take the bounds of the first state from the options."""
        params: Params = with_reset_bounds(self.params, options)
        return params

    def draw(self, canvas: Any) -> None:
        """Draw both links."""
        from ludus.envs.classic_control.acrobot_drawing import draw

        state = self.named_state()
        draw(canvas, (state.theta_1, state.theta_2), (self.params.length_1, self.params.length_2))


def _parameters() -> dict[str, Parameter]:
    return {name: item for name, item in vars(AcrobotEnv).items() if isinstance(item, Parameter)}
