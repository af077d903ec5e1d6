"""The network: the host's services, and sockets that reach past every namespace."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke
from tests.sandbox.attacks.host import listen, reached

__all__ = ["ATTACKS"]


def _listening(family: int, kind: int, address: str) -> Callable[[Scene], None]:
    def prepare(scene: Scene) -> None:
        server = listen(scene, family, kind, (address, 0))
        scene.kept["server"] = server
        scene.params["port"] = server.getsockname()[1]

    return prepare


def _own_address(scene: Scene) -> None:
    """A listener on every address of the host, and the address it shows to others."""
    server = listen(scene, socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0))
    scene.kept["server"] = server
    scene.params |= {"port": server.getsockname()[1], "name": socket.gethostname()}


def _abstract(scene: Scene) -> None:
    name = f"\0ludus-{scene.token}"
    scene.kept["server"] = listen(scene, socket.AF_UNIX, socket.SOCK_STREAM, name)


def _abstract_datagram(scene: Scene) -> None:
    name = f"\0ludus-{scene.token}"
    scene.kept["server"] = listen(scene, socket.AF_UNIX, socket.SOCK_DGRAM, name)


def _by_path(scene: Scene) -> None:
    """A socket like a container daemon's; in a box the well-known ones are tried too."""
    path = scene.public_folder(0o777) / "daemon.sock"
    scene.kept["server"] = listen(scene, socket.AF_UNIX, socket.SOCK_STREAM, str(path))
    path.chmod(0o777)
    known = [
        "/var/run/docker.sock",
        "/run/docker.sock",
        "/run/podman/podman.sock",
        "/run/containerd/containerd.sock",
        "/run/crio/crio.sock",
        "/run/systemd/private",
        "/run/systemd/journal/stdout",
        "/run/dbus/system_bus_socket",
        "/run/nscd/socket",
        f"/run/user/{os.getuid()}/bus",
        "/tmp/.X11-unix/X0",
    ]
    scene.params["paths"] = [str(path), *(known if scene.boxed else [])]


def _was_reached(scene: Scene, outcome: Outcome) -> Outcome:
    if reached(scene.kept["server"]):
        return broke(f"the host's listener was reached ({outcome.text})")
    if outcome.word == "BROKE":
        return Outcome("INVALID", f"claims a connection that the host does not see: {outcome.text}")
    return outcome


PRIVATE = {"network": "loopback"}
"""Without any network no socket can be made at all; this shows what else keeps an attack in."""


def _reach(name: str, threat: str, prepare: Any, script: str, **more: Any) -> Attack:
    options = {"policy": PRIVATE, "verdict": _was_reached, **more}
    return Attack(name=name, threat=threat, prepare=prepare, script=script, **options)


TCP = """
client = socket.create_connection((ADDRESS, P["port"]), timeout=1)
client.send(b"hello")
broke("connected")
"""
UDP = """
client = socket.socket(FAMILY, socket.SOCK_DGRAM)
client.sendto(MESSAGE, (ADDRESS, P["port"]))
held("sent; only the host knows whether it arrived")
"""
QUERY = (
    "MESSAGE = bytes.fromhex('1234010000010000000000001063616e617279')"
    " + P['token'].encode() + b'\\0\\0\\1\\0\\1'\n"
)
V4, V6 = socket.AF_INET, socket.AF_INET6
STREAM, DATAGRAM = socket.SOCK_STREAM, socket.SOCK_DGRAM

REACHING = (
    _reach(
        "reach_host_tcp",
        "services that listen on the host's loopback and trust it",
        _listening(V4, STREAM, "127.0.0.1"),
        "ADDRESS = '127.0.0.1'" + TCP,
        policy={},
    ),
    _reach(
        "reach_host_tcp_from_private_loopback",
        "the same when the box was given a loopback of its own",
        _listening(V4, STREAM, "127.0.0.1"),
        "ADDRESS = '127.0.0.1'" + TCP,
    ),
    _reach(
        "reach_host_tcp6",
        "the same over IPv6, which filters forget",
        _listening(V6, STREAM, "::1"),
        "ADDRESS = '::1'" + TCP,
    ),
    _reach(
        "reach_host_by_any_address",
        "the host through 0.0.0.0 and mapped addresses",
        _own_address,
        """
for address in ("0.0.0.0", "127.1.2.3", "::ffff:127.0.0.1"):
    try:
        socket.create_connection((address, P["port"]), timeout=1).send(b"x")
        broke(f"connected to {address}")
    except OSError as error:
        last = error
refused(last)
""",
    ),
    _reach(
        "reach_host_udp",
        "services that answer datagrams",
        _listening(V4, DATAGRAM, "127.0.0.1"),
        "FAMILY, ADDRESS, MESSAGE = socket.AF_INET, '127.0.0.1', b'x'" + UDP,
    ),
    _reach(
        "reach_host_udp6",
        "the same over IPv6",
        _listening(V6, DATAGRAM, "::1"),
        "FAMILY, ADDRESS, MESSAGE = socket.AF_INET6, '::1', b'x'" + UDP,
    ),
    _reach(
        "ask_host_resolver",
        "data carried out as names asked of a resolver on the host",
        _listening(V4, DATAGRAM, "127.0.0.1"),
        QUERY + "FAMILY, ADDRESS = socket.AF_INET, '127.0.0.1'" + UDP,
    ),
    _reach(
        "reach_abstract_socket",
        "services on abstract unix sockets, which no file permission guards",
        _abstract,
        """
client = socket.socket(socket.AF_UNIX)
client.connect("\\0ludus-" + P["token"])
broke("connected")
""",
    ),
    _reach(
        "reach_abstract_datagram_socket",
        "the same with datagrams, which Landlock does not cover",
        _abstract_datagram,
        """
client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
client.sendto(b"x", "\\0ludus-" + P["token"])
broke("sent")
""",
    ),
    _reach(
        "reach_daemon_socket",
        "root on the host: a container daemon obeys whoever reaches its socket",
        _by_path,
        """
for path in P["paths"]:
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        broke(f"connected to {path}")
    except OSError as error:
        last = error
refused(last)
""",
    ),
)

SEEING = (
    Attack(
        name="see_host_interfaces",
        policy=PRIVATE,
        threat="the networks that the host is part of",
        script="""
names = {name for _, name in socket.if_nameindex()}
names |= {line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line}
names |= set(os.listdir("/sys/class/net")) if os.path.isdir("/sys/class/net") else set()
more = sorted(names - {"lo"})
broke(f"interfaces {more}") if more else held(f"only {sorted(names)}")
""",
    ),
    Attack(
        name="see_host_connections",
        policy=PRIVATE,
        threat="which services the host runs and whom it talks to",
        prepare=_listening(V4, STREAM, "127.0.0.1"),
        script="""
needle = f":{P['port']:04X} "
broke("the host's listener") if needle in open("/proc/net/tcp").read() else held("not listed")
""",
    ),
    Attack(
        name="see_host_unix_sockets",
        policy=PRIVATE,
        threat="the sockets of the host's services by name",
        prepare=_abstract,
        script="""
listed = P["token"] in open("/proc/net/unix").read()
broke("the host's socket") if listed else held("not listed")
""",
    ),
)

SOCKETS = (
    Attack(
        name="open_raw_socket",
        policy=PRIVATE,
        threat="forged packets",
        needs_root=True,
        script="""
socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
broke("a raw socket")
""",
    ),
    Attack(
        name="open_packet_socket",
        policy=PRIVATE,
        threat="everything on the wire, and a kernel interface known for holes",
        needs_root=True,
        script="""
socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
broke("a packet socket")
""",
    ),
    Attack(
        name="open_vsock",
        policy=PRIVATE,
        threat="the hypervisor and its agents: vsock knows no network namespace",
        script="""
socket.socket(40, socket.SOCK_STREAM)
broke("a vsock socket; it is not connected to anything here")
""",
    ),
    Attack(
        name="open_rare_sockets",
        policy=PRIVATE,
        threat="kernel code for protocols that hardly anybody looks at",
        cannot_succeed_unboxed="a kernel may be built without every one of these families",
        script="""
opened = []
for name, family, kind in (("alg", 38, 5), ("bluetooth", 31, 3), ("can", 29, 3), ("key", 15, 3),
                           ("tipc", 30, 2), ("rds", 21, 5), ("x25", 9, 5), ("ax25", 3, 5),
                           ("appletalk", 5, 2), ("llc", 26, 2), ("smc", 43, 1), ("xdp", 44, 3),
                           ("nfc", 39, 5), ("kcm", 41, 5), ("qipcrtr", 42, 2), ("mctp", 45, 2)):
    try:
        socket.socket(family, kind).close()
        opened.append(name)
    except OSError:
        pass
broke(f"opened {opened}") if opened else held("none")
""",
    ),
    Attack(
        name="open_rare_netlink",
        policy=PRIVATE,
        threat="the firewall, audit and IPsec code of the kernel",
        script="""
opened = []
for name, protocol in (("xfrm", 6), ("audit", 9), ("netfilter", 12), ("uevent", 15),
                       ("generic", 16), ("crypto", 21), ("sock_diag", 4), ("connector", 11)):
    try:
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol).close()
        opened.append(name)
    except OSError:
        pass
broke(f"opened {opened}") if opened else held("none")
""",
    ),
    Attack(
        name="configure_network_by_netlink",
        policy=PRIVATE,
        threat="interfaces and routes",
        needs_root=True,
        script="""
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
REQUEST_ACK, NEWLINK = 5, 16
message = struct.pack("=IHHIIBBHiII", 32, NEWLINK, REQUEST_ACK, 1, 0, 0, 0, 0, 1, 0, 0)
link.settimeout(1)
link.send(message)
code = struct.unpack_from("=i", link.recv(4096), 16)[0]
broke("an interface was configured") if code == 0 else refused(OSError(-code, "netlink"))
""",
    ),
    Attack(
        name="raise_interface",
        policy=PRIVATE,
        threat="a network that the policy had switched off",
        needs_root=True,
        script="""
import fcntl
probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
request = struct.pack("16sH22x", b"lo", 0)
flags = struct.unpack_from("16sH", fcntl.ioctl(probe, 0x8913, request))[1]
fcntl.ioctl(probe, 0x8914, struct.pack("16sH22x", b"lo", flags | 1))
broke("lo was raised")
""",
    ),
    Attack(
        name="use_switched_off_loopback",
        threat="a loopback where the policy says none",
        script="""
server = socket.socket()
server.bind(("127.0.0.1", 0))
server.listen()
socket.create_connection(server.getsockname(), timeout=1)
broke("the loopback is up")
""",
    ),
)

ATTACKS = (*REACHING, *SEEING, *SOCKETS)
