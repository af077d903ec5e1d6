"""What ``ludus.wrappers`` offers, and that asking for nothing costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ludus.wrappers


def test_every_name_resolves() -> None:
    assert ludus.wrappers.__all__ == sorted(ludus.wrappers.__all__)
    for name in ludus.wrappers.__all__:
        value = getattr(ludus.wrappers, name)
        if isinstance(value, type) and name not in ("FilterObservationWrapper", "VectorListInfo"):
            assert value.__name__ == name
    assert set(ludus.wrappers.__all__) <= set(dir(ludus.wrappers))


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'TimeLimits'"):
        _ = ludus.wrappers.TimeLimits  # type: ignore[attr-defined]


def test_old_names_lead_to_working_wrappers() -> None:
    from ludus.wrappers import FrameStack, VectorListInfo
    from ludus.wrappers.vector import DictInfoToList

    assert FrameStack is ludus.wrappers.legacy.FrameStack
    assert VectorListInfo is DictInfoToList


def test_import_loads_no_wrapper() -> None:
    code = (
        "import sys, ludus.wrappers\n"
        "found = {n: m for n, m in sys.modules.items() if n.startswith('ludus.wrappers.')}\n"
        "before = [name for name, module in found.items() if hasattr(module, '__file__')]\n"
        "from ludus.wrappers import TimeLimit, RecordVideo, ResizeObservation, NumpyToTorch\n"
        "heavy = {'torch', 'jax', 'cv2', 'moviepy', 'pygame', 'gymnasium'} & set(sys.modules)\n"
        "assert not before and not heavy, (before, heavy)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
