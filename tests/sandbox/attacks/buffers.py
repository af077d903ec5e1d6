"""Memory that no process owns: what the kernel keeps in sockets, pipes and queues for a sandbox."""

from __future__ import annotations

from typing import Any

from tests.sandbox.attacks.attack import Attack

__all__ = ["ATTACKS"]

MIB = 1 << 20
LIMIT = 32 * MIB
SMALL: dict[str, Any] = {"memory": LIMIT, "disk": 8 * MIB, "tmp": 4 * MIB}
NETWORKED: dict[str, Any] = {**SMALL, "network": "loopback"}
OWN_KERNEL = "gVisor keeps these in its own memory, which is the sandbox's"

# Each script fills buffers through fill(), which says how much the kernel holds at the end.
JUDGE = f"""
LIMIT = {LIMIT}
WANTED = 2 * LIMIT


def pour(send, most=WANTED):
    total = 0
    try:
        while total < most:
            total += send()
    except BlockingIOError:
        pass
    return total


def judge(total):
    if total > 1.25 * LIMIT:
        broke(f"the kernel keeps {{total >> 20}} MiB where {{LIMIT >> 20}} MiB were allowed")
    held(f"{{total >> 20}} MiB")
"""

STREAMS = """
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen(1000)
kept, total = [], 0
try:
    while total < WANTED and len(kept) < 900:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        one.connect(server.getsockname())
        kept += [one, server.accept()[0]]
        one.setblocking(False)
        total += pour(lambda: one.send(bytes(65536)))
except OSError:
    pass
judge(total)
"""
# Closed by the one side and never accepted by the other, a connection is nobody's.
UNACCEPTED = """
servers, count, payload = [], 0, bytes(P["payload"])
until = time.monotonic() + 10
while count < P["count"] and time.monotonic() < until:
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen(4096)
    servers.append(server)
    for _ in range(2000):
        one = socket.socket()
        one.connect(server.getsockname())
        one.setblocking(False)
        try:
            one.send(payload)
        except BlockingIOError:
            pass
        one.close()
        count += 1
time.sleep(1.5)
broke(f"keeps {count} connections that are counted as nobody's memory")
"""
DATAGRAMS = """
kept, total = [], 0
try:
    while len(kept) < 400:
        one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        one.bind(("127.0.0.1", 0))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        one.setblocking(False)
        kept.append(one)
        for _ in range(6):
            one.sendto(bytes(60000), one.getsockname())
except OSError:
    pass
# What was dropped on the way is not kept: only what comes out was in there.
for one in kept:
    try:
        while True:
            total += len(one.recv(65536))
    except OSError:
        pass
judge(total)
"""
ANSWERS = """
# The kernel answers a bad request with a copy of it, and keeps the answer until it is read.
request = struct.pack("=IHHII", 16 + 4000, 0xFF, 1 | 4, 1, 0) + bytes(4000)
kept, total = [], 0
try:
    while total < WANTED and len(kept) < 900:
        one = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
        one.bind((0, 0))
        one.setblocking(False)
        kept.append(one)
        total += pour(lambda: one.send(request), 128 << 10)
except OSError as error:
    if not kept:
        refused(error)
judge(total)
"""
PAIRS = """
kept, total = [], 0
while total < WANTED and len(kept) < 900:
    one, other = socket.socketpair(socket.AF_UNIX, P["kind"])
    kept += [one, other]
    one.setblocking(False)
    total += pour(lambda: one.send(bytes(65536)))
judge(total)
"""
PIPES = """
import fcntl
total = 0
for _ in range(450):
    source, target = os.pipe()
    try:
        fcntl.fcntl(target, 1031, 1 << 20)  # F_SETPIPE_SZ
    except OSError:
        pass
    os.set_blocking(target, False)
    total += pour(lambda: os.write(target, bytes(65536)))
    if total > WANTED:
        break
judge(total)
"""
MESSAGES = """
IPC_PRIVATE, NOWAIT, total = 0, 0o4000, 0
message, queues = ctypes.create_string_buffer(8 + 8000), []
message[0] = 1
try:
    while total < WANTED:
        queue = libc.msgget(IPC_PRIVATE, 0o600)
        if queue < 0:
            break
        queues.append(queue)
        while libc.msgsnd(queue, message, ctypes.c_size_t(8000), NOWAIT) == 0:
            total += 8000
finally:
    for queue in queues:
        libc.msgctl(queue, 0, None)
judge(total)
"""
SEGMENTS = """
libc.shmat.restype, total, size = ctypes.c_void_p, 0, 8 << 20
while total < WANTED:
    segment = libc.shmget(0, ctypes.c_size_t(size), 0o600)
    place = libc.shmat(segment, None, 0)
    # Gone with the last process that has it attached, also where nobody cleans up.
    libc.shmctl(segment, 0, None)
    ctypes.memset(place, 1, size)
    total += size
judge(total)
"""
MEMORY_FILES = """
total = 0
while total < WANTED:
    total += os.write(os.memfd_create("it"), bytes(8 << 20))
judge(total)
"""

LOCKS = """
import fcntl
COUNT, SETLK, SETLKW = 200_000, P["commands"][0], P["commands"][1]
file = os.open(P["workspace"] + "/locked", os.O_RDWR | os.O_CREAT)


def lock(kind, start, length, command):
    fcntl.fcntl(file, command, struct.pack("hhqqi4x", kind, 0, start, length, 0))


lock(fcntl.F_WRLCK, 0, 2 * COUNT, SETLKW)
for place in range(2 * COUNT - 2, 0, -2):
    lock(fcntl.F_UNLCK, place, 1, SETLK)  # splits the first lock in two
time.sleep(1.5)
broke(f"holds {COUNT} locks, which are counted as nobody's memory")
"""
# A process that shares descriptors with another, and ends, leaves it locks of nobody.
ORPHANS = """
CLONE_FILES, SIGCHLD = 0x400, 17
if os.uname().machine not in ("x86_64", "aarch64"):
    held("the arguments are in another order")
child = call({"x86_64": 56, "aarch64": 220}[os.uname().machine], CLONE_FILES | SIGCHLD, 0, 0, 0, 0)
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
broke("shares descriptors, and with them locks, with a process that may end")
"""
# A program for sockets and system calls: many comparisons, then "yes".
FILTER = """
LENGTH = 4000
lines = [struct.pack("HBBI", 0x15, 0, 0, i) for i in range(LENGTH - 1)]
code = b"".join([*lines, struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)])
kept_code = ctypes.create_string_buffer(code, len(code))
head = struct.pack("@HP", LENGTH, ctypes.addressof(kept_code))
"""
SOCKET_FILTERS = """
kept = [socket.socket(socket.AF_UNIX) for _ in range(200)]
for one in kept:
    one.setsockopt(socket.SOL_SOCKET, P["option"], head)
broke(f"compiled {len(kept)} filters, into memory that is counted as nobody's")
"""
CALL_FILTERS = """
kept_head = ctypes.create_string_buffer(head, len(head))
check(libc.prctl(38, 1, 0, 0, 0))
check(libc.prctl(22, 2, ctypes.c_ulong(ctypes.addressof(kept_head)), 0, 0))
broke("compiled a filter, into memory that is counted as nobody's")
"""
# The host has a few thousand for all sandboxes, and for itself another thousand.
TERMINALS = """
kept = []
try:
    while len(kept) < 200:
        kept.append(os.openpty())
except OSError as error:
    held(f"{len(kept)} terminals, then {error}") if len(kept) > 8 else broke("there are none")
broke(f"holds {len(kept)} terminals, whose buffers are counted as nobody's memory")
"""
# Entries of an access control list that name the same user again and again.
LISTS = """
def entry(tag, who=0xFFFFFFFF):
    return struct.pack("<HHI", tag, 4, who)

entries = entry(1) + entry(2, os.getuid()) * 8000 + entry(4) + entry(16) + entry(32)
names = [f"/dev/shm/{P['token']}-{number}" for number in range(100)]
total = 0
try:
    for name in names:
        os.mkdir(name)
        for kind in ("access", "default"):
            os.setxattr(name, f"system.posix_acl_{kind}", b"\\2\\0\\0\\0" + entries)
            total += len(entries)
finally:
    for name in filter(os.path.exists, names):
        os.rmdir(name)
broke(f"keeps {total >> 20} MiB of access control lists that are counted as nobody's memory")
"""
# Each option makes the kernel keep something for a socket, up to 128 KB of it.
OPTIONS = """
def keep(one, number):
    if P["option"] == "keys":
        peer = struct.pack("=HHI120x", socket.AF_INET, 0, 0x0A000000 + number)
        one.setsockopt(socket.IPPROTO_TCP, 14, peer + struct.pack("=BBHI80s", 0, 0, 8, 0, b"key"))
        return 128
    if P["option"] == "memberships":
        group = struct.pack(">I", 0xE0010000 + number)
        one.setsockopt(socket.IPPROTO_IP, 35, group + struct.pack("=Ii", 0, 1))
        return 128
    size = 60000
    one.setsockopt(socket.IPPROTO_IPV6, 6, struct.pack("@QII", size, 0, 1) + bytes(size - 16))
    return size

family, kind, each = {
    "keys": (socket.AF_INET, socket.SOCK_STREAM, 900),
    "memberships": (socket.AF_INET, socket.SOCK_DGRAM, 20),
    "packet_options": (socket.AF_INET6, socket.SOCK_DGRAM, 1),
}[P["option"]]
kept, total = [], 0
for _ in range(100):
    one = socket.socket(family, kind)
    kept.append(one)
    for number in range(each):
        total += keep(one, len(kept) * each + number)
broke(f"keeps {total >> 10} KiB of options that are counted as nobody's memory")
"""


def _attack(name: str, script: str, what: str, **options: Any) -> Attack:
    return Attack(
        name=f"hoard_in_{name}",
        threat=f"the host's memory through {what}",
        script=JUDGE + script,
        death_holds=True,
        timeout=20.0,
        **{"policy": SMALL, "own_kernel": OWN_KERNEL, **options},
    )


def _connections(count: int, payload: int) -> Any:
    return lambda scene: scene.params.update(count=count, payload=payload)


def _kind(number: int) -> Any:
    return lambda scene: scene.params.update(kind=number)


ATTACKS = (
    _attack("tcp", STREAMS, "TCP buffers", policy=NETWORKED),
    *(
        _attack(
            f"connections{name}",
            UNACCEPTED,
            "connections that nobody accepts",
            policy=NETWORKED,
            prepare=_connections(count, payload),
            # On gVisor these are the host's too.
            own_kernel="",
        )
        for name, count, payload in (("", 12_000, 0), ("_with_data", 2000, 30_000))
    ),
    _attack("udp", DATAGRAMS, "UDP buffers", policy=NETWORKED),
    _attack("netlink", ANSWERS, "answers of the kernel that nobody reads", policy=NETWORKED),
    _attack("unix_streams", PAIRS, "Unix sockets", prepare=_kind(1)),
    _attack("unix_datagrams", PAIRS, "Unix datagrams", prepare=_kind(2)),
    _attack("pipes", PIPES, "pipes"),
    _attack("message_queues", MESSAGES, "System V messages"),
    _attack("shared_segments", SEGMENTS, "System V shared memory"),
    _attack("memory_files", MEMORY_FILES, "files in memory"),
    _attack(
        "locks",
        LOCKS,
        "locks of files",
        prepare=lambda scene: scene.params.update(commands=[6, 7]),
    ),
    _attack(
        "open_file_locks",
        LOCKS,
        "locks of open files",
        prepare=lambda scene: scene.params.update(commands=[37, 38]),
    ),
    _attack("orphaned_locks", ORPHANS, "locks of processes that have ended"),
    _attack(
        "socket_filters",
        FILTER + SOCKET_FILTERS,
        "filters of sockets",
        prepare=lambda scene: scene.params.update(option=26),
    ),
    _attack("access_control_lists", LISTS, "access control lists of files"),
    *(
        _attack(
            f"{option}_of_sockets",
            OPTIONS,
            f"{option.replace('_', ' ')} of sockets",
            policy=NETWORKED,
            prepare=lambda scene, option=option: scene.params.update(option=option),
        )
        for option in ("keys", "memberships", "packet_options")
    ),
    _attack("filters_of_calls", FILTER + CALL_FILTERS, "filters of system calls"),
    _attack("terminals", TERMINALS, "pseudo-terminals, and those of other sandboxes"),
)
