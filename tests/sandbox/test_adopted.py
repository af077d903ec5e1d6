"""Where the groups of a container's process are, by the kernel's own lists."""

from __future__ import annotations

from pathlib import Path

import pytest

from ludus.errors import SandboxError
from ludus.sandbox import Policy
from ludus.sandbox.linux.container_cgroups import AdoptedGroups, group_folders

HYBRID = """\
30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
31 25 0:27 /slice /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
32 25 0:28 / /sys/fs/cgroup/systemd rw - cgroup systemd rw,xattr,name=systemd
33 25 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
34 25 0:30 / /tmp rw - tmpfs tmpfs rw
"""


def test_both_versions_at_once():
    membership = "4:memory:/slice/box\n3:cpu,cpuacct:/box\n2:name=systemd:/\n0::/box\n"
    assert group_folders(HYBRID, membership) == {
        frozenset({"memory"}): Path("/sys/fs/cgroup/memory/box"),
        frozenset({"cpu", "cpuacct"}): Path("/sys/fs/cgroup/cpu,cpuacct/box"),
        frozenset({"name=systemd"}): Path("/sys/fs/cgroup/systemd"),
        frozenset(): Path("/sys/fs/cgroup/unified/box"),
    }


def test_version_two_alone():
    mounts = "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    assert group_folders(mounts, "0::/a/b\n") == {frozenset(): Path("/sys/fs/cgroup/a/b")}


def test_a_process_that_is_gone():
    with pytest.raises(SandboxError, match="control groups"):
        AdoptedGroups(2**22 + 1, Policy())
