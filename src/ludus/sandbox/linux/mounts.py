"""Mounts what a sandbox sees of the host, each folder as an overlay of the sandbox's own.

A plain bind would share the host's inodes between all sandboxes, and with them locks, leases and
watches, by which they could communicate; and the list of mounts would show host paths. An overlay
without an upper layer has its own inodes and a neutral name.

Where only some names of a folder are shown, a layer on top, the mask, hides the others. Without
overlays, hidden paths are covered by something empty.

Imports little, since it also runs as a program of its own, see ``mount_helper``.
"""

from __future__ import annotations

import os
import stat
import sys

from ludus.sandbox.linux import syscalls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Steps = Sequence[Sequence[str | int]]

__all__ = [
    "TERMINALS",
    "Arrangement",
    "inodes",
    "limit_inodes",
    "limit_terminals",
    "make_mask",
    "mount_terminals",
    "rearrange",
    "serve",
]

TERMINALS = "pts"
"""The folder with pseudo-terminals of a stage that is made without root."""

# pathlib takes long to import.
# ruff: noqa: PTH102, PTH110, PTH112, PTH114, PTH123, PTH208, PTH211
_CLOSED = syscalls.MS_RDONLY | syscalls.MS_NOSUID | syscalls.MS_NODEV
_ATTRIBUTES = syscalls.ATTR_RDONLY | syscalls.ATTR_NOSUID | syscalls.ATTR_NODEV
_OPAQUE, _REDIRECT, _METACOPY = (
    f"trusted.overlay.{name}" for name in ("opaque", "redirect", "metacopy")
)


class Arrangement:
    """The mounts of one sandbox, below an empty ``folder`` in its own mount namespace."""

    def __init__(self, folder: str) -> None:
        self._folder, self._count, self._points = folder, 0, _mount_points()
        self._nothing = {True: f"{folder}/none", False: f"{folder}/none/file"}
        os.mkdir(self._nothing[True])
        os.close(os.open(self._nothing[False], os.O_CREAT | os.O_WRONLY, 0o444))

    def show(
        self,
        source: str,
        steps: Steps = (),
        *,
        mask: str | None = None,
        apart: Sequence[str] = (),
    ) -> str:
        """Mount a folder of the host, and return where.

        Args:
            source: the folder.
            steps: for :func:`make_mask`.
            mask: a folder made by it; by default one for this mount alone.
            apart: mounts below the folder that are not to be shown.
        """
        number, self._count = self._count, self._count + 1
        names = {name: f"{name}-{number}" for name in ("source", "mask", "shown")}
        bound, top, shown = (f"{self._folder}/{name}" for name in names.values())
        for path in (bound, top, shown):
            os.mkdir(path)
        # Bound first: then the options of the overlay name nothing of the host.
        syscalls.mount(source, bound, None, syscalls.MS_BIND)
        try:
            options = ""
            if mask is not None:
                syscalls.mount(mask, top, None, syscalls.MS_BIND)
            else:
                make_mask(top, steps)
            if mask is not None or any(step[0] == "choose" for step in steps):
                options = ",redirect_dir=follow,metacopy=on"
            os.chdir(self._folder)
            layers = f"lowerdir={names['mask']}:{names['source']}{options}"
            syscalls.mount("overlay", names["shown"], "overlay", _CLOSED, layers)
        except OSError:
            syscalls.mount(bound, shown, None, syscalls.MS_BIND)
            self._cover(shown, source, steps)
        finally:
            # What was bound stays mounted: the sandbox cannot reach it, and unmounting takes long.
            os.chdir("/")
        prefix = f"{source}/"
        inner = (path for path in self._points if path.startswith(prefix) and path not in apart)
        below = [path[len(prefix) :] for path in inner]
        for inside in below:
            if os.path.exists(f"{shown}/{inside}"):
                syscalls.mount(f"{source}/{inside}", f"{shown}/{inside}", None, syscalls.MS_BIND)
        syscalls.restrict_mounts(shown, _ATTRIBUTES, below=bool(below))
        return shown

    def _cover(self, shown: str, source: str, steps: Steps) -> None:
        """Put something empty over what is not to be seen."""
        allowed = {str(step[1]) for step in steps if step[0] != "hide"}
        hidden = [str(step[1]) for step in steps if step[0] == "hide"]
        for folder in (str(step[1]) for step in steps if step[0] == "choose"):
            paths = (f"{folder}/{name}" for name in os.listdir(f"{source}/{folder}"))
            hidden += [path for path in paths if path not in allowed]
        for path in hidden:
            target = f"{shown}/{path}"
            if not os.path.islink(target):
                syscalls.mount(self._nothing[os.path.isdir(target)], target, None, syscalls.MS_BIND)


def rearrange(scratch: str, folders: Sequence[tuple[str, Steps]]) -> None:
    """Replace mounted folders by overlays of them.

    Args:
        scratch: a folder that is covered meanwhile, with none of the others below it.
        folders: where they are mounted, the outer ones first, and what is shown of each.
    """
    syscalls.mount(
        "tmpfs", scratch, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "size=4m,mode=755"
    )
    arrangement = Arrangement(scratch)
    # Files stay as they are; those in a folder are bound into what takes its place.
    chosen = [(folder, steps) for folder, steps in folders if os.path.isdir(folder)]
    apart = [folder for folder, _ in chosen]
    made = [(folder, arrangement.show(folder, steps, apart=apart)) for folder, steps in chosen]
    for target, _ in reversed(made):
        syscalls.unmount(target)
    for target, place in made:
        syscalls.mount(place, target, None, syscalls.MS_MOVE)
    syscalls.unmount(scratch)


def make_mask(folder: str, steps: Steps) -> None:
    """Fill a layer that shows some names of the layer below it, and hides others.

    Args:
        folder: the layer, empty.
        steps: in order, ``("pass", path)`` for a parent of others, ``("hide", path)``,
            ``("choose", path)`` for a folder of which only what later steps name is shown, and in
            it ``("folder", path)``, ``("file", path, size)``, ``("link", path, target)``. Choosing
            needs root.
    """
    for kind, path, *more in steps:
        made, target = f"{folder}/{path}", os.fsencode(f"/{path}")
        if kind == "hide":
            os.mknod(made, stat.S_IFCHR, 0)
        elif kind == "file":
            file = os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o755)
            os.truncate(file, int(more[0]))
            os.setxattr(file, _METACOPY, b"")
            os.setxattr(file, _REDIRECT, target)
            os.close(file)
        elif kind == "link":
            os.symlink(str(more[0]), made)
        else:
            os.mkdir(made)
            if kind != "pass":
                name, value = (_OPAQUE, b"y") if kind == "choose" else (_REDIRECT, target)
                os.setxattr(made, name, value)


def inodes(size: int) -> int:
    """Return how many files a file system in memory may have, by its size."""
    return max(4096, size // 4096)


def limit_inodes(path: str, size: int) -> None:
    """Set a limit of files on a file system that was mounted without one."""
    flags = syscalls.MS_REMOUNT | syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount(None, path, None, flags, f"size={size},nr_inodes={inodes(size)}")


# Without root a sandbox's user is the caller, who has 128 and some thousands for all programs.
_OF_A_USER = {"max_inotify_instances": 32, "max_inotify_watches": 8192}
# The host has a few thousand for all, and their buffers are charged to nobody.
_TERMINALS = "newinstance,ptmxmode=0666,mode=620,max=64"
_TERMINALS_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NOEXEC


def mount_terminals(path: str) -> None:
    """Mount pseudo-terminals, of which there is only a number, on a new folder."""
    os.mkdir(path, 0o755)
    syscalls.mount("devpts", path, "devpts", _TERMINALS_FLAGS, _TERMINALS)


def limit_terminals(path: str) -> None:
    """Set that number for pseudo-terminals that an engine has mounted."""
    syscalls.mount(None, path, None, syscalls.MS_REMOUNT | _TERMINALS_FLAGS, _TERMINALS)


def _limit_user() -> None:
    """Limit what this user namespace takes of what its user has, where /proc can be written."""
    for name, most in _OF_A_USER.items():
        try:
            with open(f"/proc/sys/user/{name}", "w", encoding="ascii") as file:
                file.write(str(most))
        except OSError:
            continue


def _mount_points() -> list[str]:
    """Return where something is mounted, the outer ones first."""
    # In a container's mounts, its /proc does not know who came from outside; its first process
    # has the same mounts.
    own, first, found = "/proc/thread-self/mountinfo", "/proc/1/mountinfo", []
    path = own if os.path.exists(own) else first
    with open(path, encoding="utf-8", errors="surrogateescape") as lines:
        for line in lines:
            point = line.split(" ", 5)[4]
            for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
                point = point.replace(code, letter)
            found.append(point)
    return sorted(set(found), key=lambda path: path.count("/"))


def serve() -> None:
    """Arrange stages that are made without root: one per plan in the input, until it ends.

    A plan is a line with its length, and words that end with a null byte each: the pid of the
    process whose namespaces they are; where to mount; the number of file systems to limit, with the
    path and size of each; then for each folder its path, the number of steps of its mask, and three
    words per step. Each plan is answered by a line: ``done``, or what failed.
    """
    while line := sys.stdin.buffer.readline():
        words = iter(os.fsdecode(sys.stdin.buffer.read(int(line))).split("\0")[:-1])
        if (child := os.fork()) == 0:
            try:
                _arrange_stage(words)
            except BaseException as error:  # a fork must not return; any error is reported
                os.write(1, f"{error!r}\n".encode("utf-8", "replace"))
            else:
                os.write(1, b"done\n")
            finally:
                os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            os.write(1, b"it was killed\n")


def _arrange_stage(words: Iterator[str]) -> None:
    holder, folder = os.pidfd_open(int(next(words))), next(words)
    syscalls.enter(holder, syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
    _limit_user()
    for _ in range(int(next(words))):
        limit_inodes(next(words), int(next(words)))
    mount_terminals(f"{folder}/{TERMINALS}")
    arrangement = Arrangement(folder)
    for source in words:
        steps = range(int(next(words)))
        arrangement.show(source, [(next(words), next(words), next(words)) for _ in steps])
