"""Every registered environment that is a kernel."""

from __future__ import annotations

import warnings

import ludus
from ludus.envs.builtin import KERNELS
from ludus.kernel import KernelEnv
from ludus.registration import load_env_creator


def kernel_ids():
    ids = []
    for spec in KERNELS:
        creator = load_env_creator(spec.entry_point)
        if isinstance(creator, type) and issubclass(creator, KernelEnv):
            ids.append(spec.id)
    return ids


def bare(env_id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ludus.make(env_id, max_episode_steps=-1, disable_env_checker=True).unwrapped


def limit_of(env_id):
    return ludus.spec(env_id).max_episode_steps
