"""The compiled loops, as they are called from Python: compiled once, kept on disk, loaded after.

They call the engine's own functions, which the binding's library exports, and read its objects in
memory. Both are as in Box2D 2.3.10 on 64-bit Unix; elsewhere there is no program, and batches are
made of single environments.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ludus.envs.box2d.engine import import_box2d
from ludus.kernel import generator
from ludus.kernel.native.abi import is_known
from ludus.kernel.native.cache import cache_folder, keep, kept
from ludus.kernel.native.calls import shared_function
from ludus.kernel.native.compile_notice import compile_notice
from ludus.kernel.native.cpython import symbol_address
from ludus.kernel.native.jit import jit_enabled
from ludus.kernel.native.load import UnusableCode, load
from ludus.kernel.native.processor import machine

__all__ = ["NativeProgram", "native_program"]

VERSION = "2.3.10"
_SWEEP = "_ZN15b2RevoluteJoint24SolveVelocityConstraintsERK12b2SolverData"
SYMBOLS = (
    "_ZN14b2PolygonShape3SetEPK6b2Vec2i",
    "_ZN15b2RevoluteJoint13SetMotorSpeedEf",
    "_ZN15b2RevoluteJoint17SetMaxMotorTorqueEf",
    "_ZN6b2Body13CreateFixtureEPK12b2FixtureDef",
    "_ZN7b2World10CreateBodyEPK9b2BodyDef",
    "_ZN7b2World11CreateJointEPK10b2JointDef",
    "_ZN7b2World18SetContactListenerEP17b2ContactListener",
    "_ZN7b2World4StepEfii",
    "_ZN7b2WorldC1ERK6b2Vec2",
    "_ZN7b2WorldD1Ev",
    "_ZNK15b2RevoluteJoint13GetJointAngleEv",
    "_ZNK15b2RevoluteJoint13GetJointSpeedEv",
    "_ZNK7b2World7RayCastEP17b2RayCastCallbackRK6b2Vec2S4_",
    "_ZTV15b2RevoluteJoint",
    _SWEEP,
)
_PARTS = (
    *("bipedal_terrain", "lander_rules", "lidar", "walker_parts", "walker_rules"),
    *("native/batch", "native/compiling", "native/driver", "native/engine", "native/joints"),
    *("native/lander", "native/program", "native/walker"),
)
_KERNEL_PARTS = (
    *("native/jit", "native/numba_intrinsics", "native/numba_random"),
    *("generator", "random"),
)
# Arrays have owners elsewhere, so what would free them is never called.
_FREE = "NRT_MemInfo_call_dtor"


class NativeProgram:
    """The loops, and the tables of functions that the engine calls back.

    Args:
        places: Addresses of the engine's functions.
    """

    def __init__(self, places: dict[str, int]) -> None:
        self._places = {**places, _FREE: symbol_address("abort")}
        self._tag = _digest()
        names = ("begin_contact", "end_contact", "ignore_contact", "report_fixture")
        begin, end, ignore, report = map(self._address, names)
        # The first two would destroy the object, which nobody does.
        self.listener_table = np.array([0, 0, begin, end, ignore, ignore], np.int64)
        self.ray_table = np.array([0, 0, report], np.int64)
        self.joint_table = _joint_table(places, self._address("sweep_joints"))
        drive = self._address("drive")
        self.drive: Callable[..., int] = shared_function("drive", (drive, drive))
        """The loop, by which threads share a batch: see :class:`sharing.Sharing`."""

    def _address(self, name: str) -> int:
        path = cache_folder() / f"box2d_{name}_{self._tag}-{machine()}.o"
        function = kept(path)
        if function is not None:
            try:
                return load(function, self._places)
            except UnusableCode:
                pass
        with compile_notice("Box2D", name):
            from ludus.envs.box2d.native import compiling

            function = compiling.compile_function(name, self._places)
            return load(keep(path, function), self._places)


@cache
def native_program() -> NativeProgram | None:
    """Return the program, ``None`` where there is none.

    Raises:
        DependencyNotInstalled: Box2D is missing.
    """
    box2d = import_box2d()
    known = box2d.__version__ == VERSION and sys.maxsize > 2**32 and sys.platform != "win32"
    if not (known and jit_enabled() and is_known() and _bodies_are_as_expected(box2d)):
        return None
    # Found through the library itself: made global, its names would get in the way of others'.
    library = ctypes.CDLL(box2d._Box2D.__file__)
    try:
        return NativeProgram(
            {n: ctypes.addressof(ctypes.c_char.in_dll(library, n)) for n in SYMBOLS}
        )
    except ValueError:
        return None


def _bodies_are_as_expected(box2d: Any) -> bool:
    """Tell whether a body's numbers lie where compiled code looks for them."""
    world = box2d.b2World()
    body = world.CreateDynamicBody(position=(1.5, 2.5), angle=0.25)
    body.linearVelocity, body.angularVelocity = (3.5, -4.5), 5.5
    numbers = (ctypes.c_float * 19).from_address(int(body.this))
    found = [*numbers[3:5], *numbers[14:15], *numbers[16:19]]
    return found == [1.5, 2.5, 0.25, 3.5, -4.5, 5.5]


def _joint_table(places: dict[str, int], sweep: int) -> Any:
    """Return the engine's table of a joint's functions, with one of them replaced."""
    # Before the functions: where the object begins, and its type.
    begin = places["_ZTV15b2RevoluteJoint"] + 16
    table = np.array((ctypes.c_int64 * 11).from_address(begin), np.int64)
    table[table == places[_SWEEP]] = sweep
    return table


def _digest() -> str:
    """Return a name for everything that the code is made from."""
    folders = {Path(__file__).parents[1]: _PARTS, Path(generator.__file__).parent: _KERNEL_PARTS}
    paths = [folder / f"{name}.py" for folder, names in folders.items() for name in names]
    texts = [path.read_bytes() for path in paths]
    versions = [*map(version, ("numba", "llvmlite")), np.__version__, sys.version]
    return hashlib.sha256(b"".join(texts) + "".join(versions).encode()).hexdigest()[:16]
