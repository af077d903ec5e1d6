"""Arms on a table: a flat one that reaches, and one with seven joints that pushes."""

from __future__ import annotations

from typing import Any

from ludus.envs.mujoco.models.parts import geom, hinge, motors, new_model, slide

__all__ = ["pusher", "reacher"]

_PINK = (0.9, 0.4, 0.6, 1)
_BLUE = (0, 0.4, 0.6, 1)
_LOOSE: dict[str, Any] = {"armature": 0, "damping": 0, "stiffness": 0}


def reacher() -> Any:
    """Return two links in a square arena, and a target that slides freely."""
    spec = new_model(
        "reacher",
        timestep=0.01,
        degree=False,
        joints={"armature": 1, "damping": 1, "limited": True},
        geoms={"contype": 0, "friction": (1, 0.1, 0.1), "rgba": (0.7, 0.7, 0, 1)},
    )
    world, r = spec.worldbody, 0.3
    geom(world, "plane", "ground", (1, 1, 10), conaffinity=0, rgba=(0.9, 0.9, 0.9, 1))
    sides = {"S": (-r, -r, r, -r), "E": (r, -r, r, r), "N": (-r, r, r, r), "W": (-r, -r, -r, r)}
    for side, (x0, y0, x1, y1) in sides.items():
        line = (x0, y0, 0.01, x1, y1, 0.01)
        geom(world, "capsule", f"side{side}", (0.02,), fromto=line, conaffinity=0, rgba=_PINK)
    post = (0, 0, 0, 0, 0, 0.02)
    geom(world, "cylinder", "root", (0.011,), fromto=post, conaffinity=0, rgba=_PINK)

    link = (0, 0, 0, 0.1, 0, 0)
    upper = world.add_body(name="body0", pos=(0, 0, 0.01))
    geom(upper, "capsule", "link0", (0.01,), fromto=link, rgba=_BLUE)
    hinge(upper, "joint0", (0, 0, 1), limited=False)
    lower = upper.add_body(name="body1", pos=(0.1, 0, 0))
    hinge(lower, "joint1", (0, 0, 1), range=(-3, 3))
    geom(lower, "capsule", "link1", (0.01,), fromto=link, rgba=_BLUE)
    tip = lower.add_body(name="fingertip", pos=(0.11, 0, 0))
    geom(tip, "sphere", "fingertip", (0.01,), rgba=(0, 0.8, 0.6, 1))

    target = world.add_body(name="target", pos=(0.1, -0.1, 0.01))
    slide(target, "target_x", (1, 0, 0), range=(-0.27, 0.27), ref=0.1, **_LOOSE)
    slide(target, "target_y", (0, 1, 0), range=(-0.27, 0.27), ref=-0.1, **_LOOSE)
    geom(target, "sphere", "target", (0.009,), conaffinity=0, rgba=(0.9, 0.2, 0.2, 1))
    motors(spec, (("joint0", 200), ("joint1", 200)), 1)
    return spec


# From the shoulder outwards: link, where it sits on the link before, its geom (name, thickness,
# line), and its joint (name, axis, range, damping) unless it is fixed.
_X, _Y, _Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
_LINKS: tuple[tuple[str, tuple[float, ...], tuple[Any, ...], tuple[Any, ...] | None], ...] = (
    (
        "shoulder_pan",
        (0, -0.6, 0),
        ("sp", 0.1, (0, 0, -0.4, 0, 0, 0.2)),
        (_Z, (-2.2854, 1.714602), 1),
    ),
    (
        "shoulder_lift",
        (0.1, 0, 0),
        ("sl", 0.1, (0, -0.1, 0, 0, 0.1, 0)),
        (_Y, (-0.5236, 1.3963), 1),
    ),
    ("upper_arm_roll", (0, 0, 0), ("uar", 0.02, (-0.1, 0, 0, 0.1, 0, 0)), (_X, (-1.5, 1.7), 0.1)),
    ("upper_arm", (0, 0, 0), ("ua", 0.06, (0, 0, 0, 0.4, 0, 0)), None),
    ("elbow_flex", (0.4, 0, 0), ("ef", 0.06, (0, -0.02, 0, 0, 0.02, 0)), (_Y, (-2.3213, 0), 0.1)),
    ("forearm_roll", (0, 0, 0), ("fr", 0.02, (-0.1, 0, 0, 0.1, 0, 0)), (_X, (-1.5, 1.5), 0.1)),
    ("forearm", (0, 0, 0), ("fa", 0.05, (0, 0, 0, 0.291, 0, 0)), None),
    ("wrist_flex", (0.321, 0, 0), ("wf", 0.01, (0, -0.02, 0, 0, 0.02, 0)), (_Y, (-1.094, 0), 0.1)),
)


def _sliding_body(world: Any, name: str, pos: tuple[float, ...]) -> Any:
    """Add a body that slides over the table."""
    body = world.add_body(name=name, pos=pos)
    prefix = name[:3] if name == "object" else name
    for letter, axis in (("y", _Y), ("x", _X)):
        slide(body, f"{prefix}_slide{letter}", axis, range=(-10.3213, 10.3), damping=0.5)
    return body


def _face(body: Any) -> None:
    """Put two eyes on the shoulder."""
    for suffix, y, size, grey in (("", 0.05, 0.05, 0.6), ("p", 0.09, 0.03, 0.1)):
        for eye, x in (("e1", -0.06), ("e2", 0.06)):
            colour = (grey, grey, grey, 1)
            geom(body, "sphere", eye + suffix, (size,), pos=(x, y, 0.2), rgba=colour)


def pusher() -> Any:
    """Return the arm, the cylinder it pushes, and the goal."""
    spec = new_model(
        "arm3d",
        timestep=0.01,
        integrator="Euler",
        degree=False,
        gravity=(0, 0, 0),
        iterations=20,
        joints={"armature": 0.04, "damping": 1, "limited": True},
        geoms={
            "friction": (0.8, 0.1, 0.1),
            "density": 300,
            "margin": 0.002,
            "condim": 1,
            "contype": 0,
            "conaffinity": 0,
        },
    )
    touching: dict[str, Any] = {"contype": 1, "conaffinity": 1}
    world = spec.worldbody
    world.add_light(diffuse=(0.5, 0.5, 0.5), pos=(0, 0, 3), dir=(0, 0, -1))
    geom(world, "plane", "table", (1, 1, 0.1), pos=(0, 0.5, -0.325), **touching)

    body, moved = world, []
    for link, pos, (short, thickness, line), joint in _LINKS:
        body = body.add_body(name=f"r_{link}_link", pos=pos)
        if link == "shoulder_pan":
            _face(body)
        geom(body, "capsule", short, (thickness,), fromto=line)
        if joint is not None:
            axis, limits, damping = joint
            hinge(body, f"r_{link}_joint", axis, range=limits, damping=damping)
            moved.append(f"r_{link}_joint")
    wrist = body.add_body(name="r_wrist_roll_link")
    hinge(wrist, "r_wrist_roll_joint", _X, range=(-1.5, 1.5), damping=0.1)
    moved.append("r_wrist_roll_joint")
    tips = wrist.add_body(name="tips_arm")
    geom(tips, "sphere", "tip_arml", (0.01,), pos=(0.1, -0.1, 0))
    geom(tips, "sphere", "tip_armr", (0.01,), pos=(0.1, 0.1, 0))
    for line in (
        (0, -0.1, 0, 0, 0.1, 0),
        (0, -0.1, 0, 0.1, -0.1, 0),
        (0, 0.1, 0, 0.1, 0.1, 0),
    ):
        geom(wrist, "capsule", "", (0.02,), fromto=line, **touching)

    thing = _sliding_body(world, "object", (0.45, -0.05, -0.275))
    geom(thing, "cylinder", "", (0.05, 0.05, 0.05), rgba=(1, 1, 1, 1), density=0.01, contype=1)
    goal = _sliding_body(world, "goal", (0.45, -0.05, -0.323))
    geom(goal, "cylinder", "", (0.08, 0.001, 0.1), rgba=(1, 0, 0, 1), density=0.00001)
    motors(spec, ((joint, 1) for joint in moved), 2)
    return spec
