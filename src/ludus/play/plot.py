"""Live plots during interactive play."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from ludus.optional import require

__all__ = ["PlayPlot"]


class PlayPlot:
    """Plots numbers computed from each step; pass its :meth:`callback` to ``play``.

    Args:
        callback: Function of the previous and the new observation, the action, the reward,
            terminated, truncated and info that returns one number per plot.
        horizon_timesteps: Number of last steps to show.
        plot_names: Title of each plot.

    Raises:
        DependencyNotInstalled: matplotlib is missing.

    Example:
        >>> plotter = PlayPlot(lambda *step: [step[3]], 150, ["reward"])  # doctest: +SKIP
        >>> play(env, callback=plotter.callback)  # doctest: +SKIP
    """

    def __init__(
        self,
        callback: Callable[..., Iterable[float]],
        horizon_timesteps: int,
        plot_names: list[str],
    ) -> None:
        self.data_callback = callback
        self.horizon_timesteps = horizon_timesteps
        self.plot_names = plot_names
        self._pyplot = require("matplotlib.pyplot", extra="plots")
        self.fig, axes = self._pyplot.subplots(len(plot_names), squeeze=False)
        self.ax: list[Any] = list(axes[:, 0])
        for axis, name in zip(self.ax, plot_names, strict=True):
            axis.set_title(name)
        self.t = 0
        self.cur_plot: list[Any] = [None] * len(plot_names)
        self.data: list[deque[float]] = [deque(maxlen=horizon_timesteps) for _ in plot_names]

    def callback(
        self,
        obs_t: Any,
        obs_tp1: Any,
        action: Any,
        rew: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Compute the numbers of one step and draw them.

        Raises:
            ValueError: The callback did not return one number per plot.
        """
        points = list(self.data_callback(obs_t, obs_tp1, action, rew, terminated, truncated, info))
        if len(points) != len(self.data):
            raise ValueError(
                f"The callback returned {len(points)} numbers, expected {len(self.data)}: one for "
                f"each of the plots {self.plot_names}."
            )
        for point, series in zip(points, self.data, strict=True):
            series.append(point)
        self.t += 1
        first = max(0, self.t - self.horizon_timesteps)
        for i, (axis, series) in enumerate(zip(self.ax, self.data, strict=True)):
            if self.cur_plot[i] is not None:
                self.cur_plot[i].remove()
            self.cur_plot[i] = axis.scatter(range(first, self.t), list(series), c="blue")
            axis.set_xlim(first, self.t)
        self._pyplot.pause(1e-6)
