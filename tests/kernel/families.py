"""Every registered environment that is a kernel."""

from __future__ import annotations

import warnings

import ludus
from ludus.envs.builtin import KERNELS
from ludus.kernel import KernelEnv
from ludus.registration import load_env_creator
from tests.sampling import sampled


def kernel_ids():
    ids = []
    for spec in KERNELS:
        creator = load_env_creator(spec.entry_point)
        if isinstance(creator, type) and issubclass(creator, KernelEnv):
            ids.append(spec.id)
    return ids


def some_ids():
    """Return one id of each module; to compile a kernel for batches takes seconds."""
    return sampled(kernel_ids(), 1, by=lambda env_id: ludus.spec(env_id).entry_point.split(":")[0])


def bare(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ludus.make(env_id, max_episode_steps=-1, disable_env_checker=True).unwrapped


def limit_of(env_id):
    return ludus.spec(env_id).max_episode_steps
