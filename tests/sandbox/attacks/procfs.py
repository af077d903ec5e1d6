"""/proc, /sys and cgroups: switches of the kernel that lie about as files.

A switch that can be opened for writing is a switch that can be thrown, so nothing is ever
written: the proof leaves the host as it was.
"""

from __future__ import annotations

from tests.sandbox.attacks.attack import Attack, shows_canary
from tests.sandbox.attacks.host import victim

__all__ = ["ATTACKS"]

OPEN_ANY = """
last = OSError(errno.ENOENT, "none of the files is there")
for pattern in PATTERNS:
    for path in glob.glob(pattern) or [pattern]:
        try:
            os.close(os.open(path, FLAGS))
            broke(f"opened {path}")
        except OSError as error:
            last = error if error.errno != errno.ENOENT else last
refused(last)
"""


def _switch(name: str, threat: str, *patterns: str, flags: str = "os.O_WRONLY") -> Attack:
    script = f"PATTERNS, FLAGS = {list(patterns)!r}, {flags}\n{OPEN_ANY}"
    return Attack(name=name, threat=threat, script=script, needs_root=True)


SWITCHES = (
    _switch(
        "throw_core_pattern",
        "root on the host: the kernel runs what core_pattern names when a process crashes",
        "/proc/sys/kernel/core_pattern",
    ),
    _switch("throw_sysrq", "the machine: b written here reboots it", "/proc/sysrq-trigger"),
    _switch(
        "throw_modprobe_path",
        "root on the host: the kernel runs modprobe for unknown formats",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hotplug",
        "/proc/sys/kernel/poweroff_cmd",
    ),
    _switch(
        "throw_sysctls",
        "settings of the whole machine",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/vm/drop_caches",
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sys/kernel/kptr_restrict",
        "/proc/sys/fs/file-max",
        "/proc/sys/fs/protected_symlinks",
        "/proc/sys/fs/suid_dumpable",
        "/proc/sys/user/max_user_namespaces",
    ),
    _switch(
        "register_binary_format",
        "root on the host through an interpreter for other users' programs",
        "/proc/sys/fs/binfmt_misc/register",
    ),
    _switch(
        "throw_uevent_helper",
        "root on the host: the kernel runs the helper on device events",
        "/sys/kernel/uevent_helper",
    ),
    _switch(
        "open_release_agent",
        "root on the host: the kernel runs release_agent when a cgroup empties",
        "/sys/fs/cgroup/release_agent",
        "/sys/fs/cgroup/*/release_agent",
    ),
    _switch(
        "leave_own_cgroup",
        "every limit: a process that moves to the root cgroup has none",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/*/cgroup.procs",
        "/sys/fs/cgroup/*/tasks",
    ),
    _switch(
        "raise_own_limits",
        "every limit: a box that writes its own cgroup sets them",
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/pids.max",
        "/sys/fs/cgroup/cgroup.subtree_control",
        "/sys/fs/cgroup/*/cgroup.clone_children",
        "/sys/fs/cgroup/*/notify_on_release",
    ),
    _switch(
        "throw_sys_switches",
        "devices and kernel features of the whole machine",
        "/sys/kernel/profiling",
        "/sys/kernel/rcu_expedited",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/sys/kernel/mm/ksm/run",
        "/sys/power/state",
        "/sys/module/*/parameters/*",
        "/sys/block/*/uevent",
    ),
    _switch(
        "open_kernel_tracing",
        "everything every process does, through tracefs and debugfs",
        "/sys/kernel/tracing/trace",
        "/sys/kernel/debug/sched",
        "/sys/kernel/debug/tracing/trace",
        "/sys/kernel/tracing",
        flags="os.O_RDONLY",
    ),
    _switch(
        "open_kernel_memory",
        "the kernel's memory",
        "/proc/kcore",
        "/proc/kmem",
        "/dev/mem",
        flags="os.O_RDONLY",
    ),
    _switch(
        "read_physical_page_map",
        "physical addresses and the state of every page of the machine",
        "/proc/kpageflags",
        "/proc/kpagecount",
        flags="os.O_RDONLY",
    ),
)

ATTACKS = (
    *SWITCHES,
    Attack(
        name="read_kernel_addresses",
        threat="the kernel's layout, which every kernel exploit starts from",
        needs_root=True,
        script="""
with open("/proc/kallsyms") as symbols:
    for line in symbols:
        address, _, name = line.split()[:3]
        if int(address, 16) and not line.split()[2].startswith("__per_cpu"):
            broke(f"{name} is at a known address")
        if int(address, 16) == 0 and name == "_text":
            break
held("addresses are hidden")
""",
    ),
    Attack(
        name="read_kernel_log",
        threat="the kernel's log: addresses, devices, other users' programs",
        needs_root=True,
        script="""
SIZE = 10
call(103, SIZE, 0, 0)
broke(f"syslog answers")
""",
    ),
    Attack(
        name="mount_own_cgroup_tree",
        threat="release_agent and limits through a cgroup file system mounted by the box",
        needs_root=True,
        script="""
NEWNS, NEWCGROUP, NEWUSER = 0x20000, 0x2000000, 0x10000000
try:
    check(libc.unshare(NEWNS | NEWCGROUP))
except OSError:
    check(libc.unshare(NEWNS | NEWCGROUP | NEWUSER))
mount(None, "/", None, 0x44000)
for kind, data in (("cgroup", "pids"), ("cgroup2", None)):
    try:
        mount("none", "/tmp", kind, 0, data)
        broke(f"mounted {kind}: {os.listdir('/tmp')[:3]}")
    except OSError as error:
        last = error
refused(last)
""",
    ),
    Attack(
        name="write_host_process_memory",
        threat="the code and data of a host process, /proc/PID/mem opened for writing",
        prepare=victim,
        script="""
with open(f"/proc/{P['pid']}/mem", "r+b", 0) as memory:
    memory.seek(P["address"])
    before = memory.read(P["length"])
    memory.seek(P["address"])
    memory.write(before)
broke(before.decode())
""",
        verdict=shows_canary,
    ),
    Attack(
        name="see_host_processes",
        threat="which programs run on the host, with their arguments",
        prepare=victim,
        script="""
line = open(f"/proc/{P['pid']}/cmdline", "rb").read().decode()
broke(line) if P["path"] in line else held("another process has that number")
""",
    ),
    Attack(
        name="raise_oom_immunity",
        threat="the host's other processes, which the kernel would kill instead of the box's",
        cannot_succeed_unboxed="lowering the score needs CAP_SYS_RESOURCE, which a host may lack",
        own_kernel="a score on gVisor's kernel is a number that the host never hears of",
        script="""
os.write(os.open("/proc/self/oom_score_adj", os.O_WRONLY), b"-1000")
broke(open("/proc/self/oom_score_adj").read())
""",
    ),
)
