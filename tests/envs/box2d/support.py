"""What the tests of the family share."""

from __future__ import annotations

from ludus.envs.box2d.registration import SPECS

BY_ID = {spec.id: spec for spec in SPECS}


def make(env_id, **kwargs):
    return BY_ID[env_id].make(**kwargs)
