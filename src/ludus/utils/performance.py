"""Gymnasium's module path for :mod:`ludus.testing.performance`."""

from __future__ import annotations

from ludus.testing.performance import (
    benchmark_init,
    benchmark_render,
    benchmark_step,
    benchmark_vector_step,
)

__all__ = ["benchmark_init", "benchmark_render", "benchmark_step", "benchmark_vector_step"]
