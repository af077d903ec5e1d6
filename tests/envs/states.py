"""Reading and writing the states of a whole batch, by the names of their fields."""

from __future__ import annotations


def _rows(envs, saved):
    storage, rows = saved["storage"], dict(saved["storage"]["arrays"])
    fields = envs.env.kernel.state_fields
    rows.update(zip([f.name for f in fields if f.kind == "float"], storage["F"], strict=False))
    whole = [f.name for f in fields if f.kind in ("int", "bool")]
    rows.update(zip(whole, storage["I"], strict=False))
    return rows


def put(envs, **fields):
    """Set fields in all environments, each to one value or to one per environment."""
    saved = envs.get_state()
    rows = _rows(envs, saved)
    for name, values in fields.items():
        rows[name][...] = values
    envs.set_state(saved)


def read(envs, name):
    """Return a field of all environments."""
    return _rows(envs, envs.get_state())[name][: envs.num_envs]
