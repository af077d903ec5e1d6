"""Conformance suites, small environments and benchmarks for tests.

The suites are test classes for pytest: derive ``class TestMine(EnvConformance)`` and implement its
``make``.
"""

from __future__ import annotations

from ludus.testing.env_suite import EnvConformance
from ludus.testing.envs import CounterEnv, DictEnv, FaultyEnv, ImageEnv, SlowEnv
from ludus.testing.performance import (
    benchmark_init,
    benchmark_render,
    benchmark_step,
    benchmark_vector_step,
)
from ludus.testing.sandbox_suite import IsolationConformance, SandboxConformance
from ludus.testing.space_suite import SpaceConformance
from ludus.testing.vector_suite import VectorEnvConformance

__all__ = [
    "CounterEnv",
    "DictEnv",
    "EnvConformance",
    "FaultyEnv",
    "ImageEnv",
    "IsolationConformance",
    "SandboxConformance",
    "SlowEnv",
    "SpaceConformance",
    "VectorEnvConformance",
    "benchmark_init",
    "benchmark_render",
    "benchmark_step",
    "benchmark_vector_step",
]
