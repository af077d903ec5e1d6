from __future__ import annotations

import pytest

from ludus.core.spec import SecuritySpec
from ludus.sandbox import Mount, Policy
from ludus.sandbox.policy import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("256M", 256 << 20),
        ("1G", 1 << 30),
        ("1.5 GiB", 3 << 29),
        ("64kb", 64 << 10),
        ("7", 7),
        (9, 9),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "M", "1X", "-1M", "1e3", None, 1.5, True])
def test_bad_sizes(text):
    with pytest.raises(ValueError, match="no size"):
        parse_size(text)


def test_strings_become_bytes():
    policy = Policy(memory="256M", disk="1M", tmp="2M", output="64K")
    assert (policy.memory, policy.disk, policy.tmp, policy.output) == (
        256 << 20, 1 << 20, 2 << 20, 64 << 10,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("memory", 100), ("memory", "much"), ("cpus", 0), ("cpus", float("nan")), ("cpus", "1"),
        ("pids", 1), ("pids", 2.5), ("files", True), ("wall", -1), ("idle", 0), ("output", None),
        ("network", "internet"), ("mounts", ("/a",)), ("uid", 0), ("environment", {"A=B": "c"}),
        ("environment", {"A": 1}), ("environment", {"A": "x\0y"}), ("disk", 1),
    ],
)  # fmt: skip
def test_bad_fields_are_named(field, value):
    with pytest.raises(ValueError, match=rf"Policy\.{field}"):
        Policy(**{field: value})


def test_it_cannot_be_changed():
    policy = Policy(environment={"A": "b"})
    with pytest.raises(AttributeError):
        policy.memory = 1
    with pytest.raises(TypeError):
        policy.environment["A"] = "c"
    assert hash(policy) == hash(Policy(environment={"A": "b"}))
    assert policy == Policy(environment={"A": "b"})


@pytest.mark.parametrize(
    "target", ["/", "/proc", "/proc/x", "/dev/x", "/etc", "/workspace", "/a/../b", "rel", "/a\0"]
)
def test_bad_mount_targets(target):
    with pytest.raises(ValueError, match="Mount.target"):
        Mount("/data", target)


def test_bad_mount_source():
    with pytest.raises(ValueError, match="Mount.source"):
        Mount("data", "/data")


def test_from_spec():
    spec = SecuritySpec(network="loopback", filesystem=("/srv/data",), subprocess=False)
    policy = Policy.from_spec(spec, memory="1G")
    assert policy.network == "loopback"
    assert policy.mounts == (Mount("/srv/data", "/srv/data"),)
    assert policy.memory == 1 << 30
    assert policy.pids < Policy.from_spec(SecuritySpec(subprocess=True)).pids
