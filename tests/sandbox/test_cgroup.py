from __future__ import annotations

from pathlib import Path

import pytest

from ludus.errors import PolicyNotEnforceable
from ludus.sandbox import Enforcement, Policy
from ludus.sandbox.linux import cgroup
from ludus.sandbox.linux.cgroup import CgroupHierarchy, Group

V1 = """\
30 25 0:26 / {top}/memory rw - cgroup cgroup rw,memory
31 25 0:27 / {top}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
32 25 0:28 / {top}/pids rw - cgroup cgroup rw,pids
"""
V2 = "33 25 0:29 / {top}/unified rw - cgroup2 cgroup2 rw\n"


def test_version_1(tmp_path):
    layout = CgroupHierarchy.read(
        V1.format(top=tmp_path), "3:memory:/a/b\n2:cpu,cpuacct:/\n1:pids:/c\n"
    )
    assert layout.unified == frozenset()
    assert layout.parents == {
        "memory": tmp_path / "memory/a/b",
        "cpu": tmp_path / "cpu,cpuacct",
        "pids": tmp_path / "pids/c",
    }


def test_inside_a_container_the_mount_begins_at_its_own_group():
    info = "30 25 0:26 /docker/x /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    layout = CgroupHierarchy.read(info, "3:memory:/docker/x/sub\n")
    assert layout.parents["memory"] == Path("/sys/fs/cgroup/memory/sub")


def _unified(top: Path, groups: dict[str, str]) -> None:
    for name, control in groups.items():
        folder = top / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.controllers").write_text("cpu memory pids\n")
        (folder / "cgroup.subtree_control").write_text(control)


def test_version_2_climbs_to_the_nearest_group_that_shares(tmp_path):
    top = tmp_path / "unified"
    _unified(top, {".": "memory pids cpu", "user": "memory pids cpu", "user/session": ""})
    layout = CgroupHierarchy.read(V2.format(top=tmp_path), "0::/user/session\n")
    assert set(layout.parents.values()) == {top / "user"}
    assert layout.unified == {"memory", "cpu", "pids"}


def test_hybrid_takes_version_1_where_it_is(tmp_path):
    _unified(tmp_path / "unified", {".": ""})
    (tmp_path / "unified/cgroup.controllers").write_text("hugetlb\n")
    info = V1.format(top=tmp_path) + V2.format(top=tmp_path)
    layout = CgroupHierarchy.read(info, "3:memory:/\n2:cpu,cpuacct:/\n1:pids:/\n0::/\n")
    assert layout.unified == frozenset()
    assert layout.parents["memory"] == tmp_path / "memory"


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Groups of version 2 as plain files: the limits that are written can be read."""
    top = tmp_path / "unified"
    _unified(top, {".": "memory pids cpu"})
    layout = CgroupHierarchy.read(V2.format(top=tmp_path), "0::/\n")
    monkeypatch.setattr(cgroup, "_layout", lambda: layout)
    return top


def test_limits_of_version_2(fake, monkeypatch):
    made = []
    monkeypatch.setattr(cgroup, "_set", lambda file, text: made.append((file.name, text)))
    group = Group("x", Policy(memory="64M", cpus=0.5, pids=7))
    group.open()
    assert group.folders == [fake / "ludus-x"]
    assert sorted(made) == [
        ("cpu.max", "50000 100000"),
        ("memory.max", str(64 << 20)),
        ("memory.swap.max", "0"),
        ("pids.max", "7"),
    ]
    (fake / "ludus-x/cgroup.procs").write_text("")
    group.join(123)
    assert (fake / "ludus-x/cgroup.procs").read_text() == "123"
    assert group.entrance() == []
    (fake / "ludus-x/cgroup.procs").unlink()
    group.close()
    assert not (fake / "ludus-x").exists()


def test_nothing_asked_needs_no_group(fake):
    group = Group("x", Policy(memory=None, cpus=None, pids=None))
    group.open()
    assert group.folders == []
    assert (group.memory(), group.pids(), group.oom_kills()) == ((None, None), None, 0)
    group.close()


def test_missing_says_why(monkeypatch):
    monkeypatch.setattr(cgroup, "_layout", lambda: CgroupHierarchy({}, frozenset()))
    cgroup.missing.cache_clear()
    try:
        assert set(cgroup.missing()) == {"memory", "cpus", "pids"}
        assert "no memory control group" in cgroup.missing()["memory"]
    finally:
        cgroup.missing.cache_clear()


def test_only_groups_of_boxes_are_killed(tmp_path):
    with pytest.raises(ValueError, match="not ours to kill"):
        cgroup.kill_group(tmp_path / "system.slice")


def test_a_pid_of_another_namespace_is_not_killed(tmp_path, monkeypatch):
    """Such a process is listed as 0, and kill(0) would hit the caller's own group."""
    folder = tmp_path / "ludus-x"
    folder.mkdir()
    (folder / "cgroup.procs").write_text("0\n")
    killed = []
    monkeypatch.setattr("os.kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr("time.sleep", lambda seconds: (folder / "cgroup.procs").unlink())
    cgroup.kill_group(folder)
    assert killed == []


def test_sockets_take_their_share_of_the_memory_in_version_1():
    alone = cgroup.memory_limits(Policy(memory="64M"), two=False)
    assert [text for _, text in alone] == [str(64 << 20)] * 2
    limits = dict(cgroup.memory_limits(Policy(memory="64M", network="loopback"), two=False))
    sockets = int(limits["memory.kmem.tcp.limit_in_bytes"])
    assert sockets > 0
    assert sockets + int(limits["memory.limit_in_bytes"]) == 64 << 20


@pytest.mark.parametrize("memory", ["64M", None])
def test_sockets_that_are_not_counted_refuse_a_limit_on_memory(tmp_path, monkeypatch, memory):
    layout = CgroupHierarchy.read(
        V1.format(top=tmp_path), "3:memory:/\n2:cpu,cpuacct:/\n1:pids:/\n"
    )
    monkeypatch.setattr(cgroup, "_layout", lambda: layout)
    cgroup.missing_for_sockets.cache_clear()
    try:
        able = Enforcement({}, cgroup.missing_with_network())
    finally:
        cgroup.missing_for_sockets.cache_clear()
    able.require(Policy(memory=memory), "x", host_folder=False)
    networked = Policy(memory=memory, network="loopback")
    if memory is None:
        able.require(networked, "x", host_folder=False)
    else:
        with pytest.raises(PolicyNotEnforceable, match="does not count what sockets keep"):
            able.require(networked, "x", host_folder=False)
