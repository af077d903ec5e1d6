from __future__ import annotations

from typing import Any

import pytest

from ludus.errors import DependencyNotInstalled
from ludus.play import PlayPlot

matplotlib = pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _agg(monkeypatch: pytest.MonkeyPatch) -> Any:
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    # A canvas without a window has no event loop to run.
    monkeypatch.setattr(plt, "pause", lambda seconds: plt.gcf().canvas.draw())
    yield
    plt.close("all")


def _step(plot: PlayPlot, reward: float) -> None:
    plot.callback(None, None, 0, reward, False, False, {})


def test_plots_show_the_last_steps() -> None:
    plot = PlayPlot(lambda *step: [step[3], -step[3]], 3, ["reward", "cost"])
    for reward in (1.0, 2.0, 3.0, 4.0):
        _step(plot, reward)
    assert [list(series) for series in plot.data] == [[2.0, 3.0, 4.0], [-2.0, -3.0, -4.0]]
    assert [axis.get_title() for axis in plot.ax] == ["reward", "cost"]
    for axis, collection in zip(plot.ax, plot.cur_plot, strict=True):
        assert axis.get_xlim() == (1, 4)
        assert list(axis.collections) == [collection]
    assert plot.cur_plot[1].get_offsets().tolist() == [[1, -2], [2, -3], [3, -4]]
    assert plot.t == 4


def test_one_plot() -> None:
    plot = PlayPlot(lambda *step: [step[3]], 10, ["reward"])
    _step(plot, 1.0)
    assert len(plot.ax) == 1
    assert plot.ax[0].get_xlim() == (0, 1)


def test_one_number_per_plot_is_needed() -> None:
    plot = PlayPlot(lambda *step: [1.0, 2.0], 10, ["reward"])
    with pytest.raises(ValueError, match=r"returned 2 numbers, expected 1: .*\['reward'\]"):
        _step(plot, 1.0)


def test_matplotlib_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(DependencyNotInstalled, match=r"ludus-gym\[plots\]"):
        PlayPlot(lambda *step: [1.0], 10, ["reward"])
