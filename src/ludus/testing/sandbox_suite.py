"""Conformance tests for sandbox backends."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ludus.errors import CommandFailed, SandboxClosed, SandboxError, SandboxViolation
from ludus.sandbox import Policy, Sandbox
from ludus.testing.require import require, require_same

__all__ = ["IsolationConformance", "SandboxConformance"]

_PATIENCE = 10.0


def _raises(kinds: type[Exception], call: Callable[[], object], what: str) -> None:
    try:
        call()
    except kinds:
        return
    require(False, f"{what}: expected {kinds.__name__}, and nothing was raised")


class SandboxConformance:
    """Tests for every sandbox backend; implement :meth:`make`."""

    def make(self, **policy: Any) -> Sandbox:
        """Open a sandbox with the backend's default policy and these changes."""
        raise NotImplementedError

    def home(self, sandbox: Sandbox) -> str:
        """Return the path of the workspace inside the sandbox."""
        return sandbox.run(["sh", "-c", "printf %s $HOME"]).text

    def test_a_command(self) -> None:
        """Output streams, exit status, working folder and input are exact and separate."""
        with self.make() as sandbox:
            done = sandbox.run(
                ["sh", "-c", "printf out; printf err >&2; exit 7"], timeout=_PATIENCE
            )
            require_same((done.stdout, done.stderr, done.returncode), (b"out", b"err", 7))
            require(not done.timed_out, "a command that ended is not late")
            data = bytes(range(256)) * 2000
            require_same(sandbox.run(["cat"], input=data, timeout=_PATIENCE).stdout, data)
            require_same(sandbox.run(["pwd"], cwd="/usr").stdout, b"/usr\n")
            require_same(sandbox.run(["cat"], timeout=_PATIENCE).stdout, b"")
            _raises(CommandFailed, lambda: sandbox.run(["false"]).check(), "check")

    def test_environment(self) -> None:
        """A command sees the policy's variables and its own, and none of the caller's."""
        os.environ["LUDUS_TEST_ONLY"] = "leak"
        try:
            with self.make(environment={"GIVEN": "by policy"}) as sandbox:
                text = sandbox.run(["env"], env={"MORE": "by call"}).text.splitlines()
        finally:
            del os.environ["LUDUS_TEST_ONLY"]
        require({"GIVEN=by policy", "MORE=by call"} <= set(text), f"variables are missing: {text}")
        require("LUDUS_TEST_ONLY=leak" not in text, "a variable of the caller leaked in")

    def test_bad_arguments(self) -> None:
        """Invalid commands are rejected before anything starts."""
        with self.make() as sandbox:
            _raises(ValueError, lambda: sandbox.run("ls"), "a string as argv")
            _raises(ValueError, lambda: sandbox.run([]), "no argv")
            _raises(ValueError, lambda: sandbox.run(["a\0b"]), "NUL in argv")
            _raises(ValueError, lambda: sandbox.run(["ls"], env={"A=B": "c"}), "a name with '='")
            _raises(ValueError, lambda: sandbox.run(["ls"], output=-1), "a negative output")

    def test_output_is_cut_in_the_middle(self) -> None:
        """Too long output keeps its beginning and end, and the removed bytes are counted."""
        script = "printf BEGIN; head -c 3000000 /dev/zero; printf END"
        with self.make(output=4096) as sandbox:
            done = sandbox.run(["sh", "-c", script], timeout=_PATIENCE)
            less = sandbox.run(["sh", "-c", script], timeout=_PATIENCE, output=8)
            more = sandbox.run(["sh", "-c", script], timeout=_PATIENCE, output=1 << 22)
        require_same((less.stdout, less.stdout_cut), (b"BEGI\0END", 3000000))
        require_same((len(more.stdout), more.stdout_cut), (3000008, 0))
        require_same(
            (done.stdout[:5], done.stdout[-3:], len(done.stdout)), (b"BEGIN", b"END", 4096)
        )
        require_same(done.stdout_cut, 3000008 - 4096)

    def test_time_out_kills_the_tree(self) -> None:
        """A timeout kills all processes that the command started."""
        script = "(setsid sh -c 'sleep 2; touch late' &) ; sleep 60"
        with self.make() as sandbox:
            began = time.monotonic()
            done = sandbox.run(["sh", "-c", script], timeout=0.3)
            require(done.timed_out and done.returncode == 137, f"not marked as late: {done}")
            require(time.monotonic() - began < _PATIENCE, "the time-out came too late")
            time.sleep(2.2)
            _raises(SandboxError, lambda: sandbox.read_bytes("late"), "an orphan went on")

    def test_idle(self) -> None:
        """A command without output is ended by the idle timeout; output resets it."""
        with self.make() as sandbox:
            require(sandbox.run(["sleep", "60"], idle=0.2).timed_out, "silence was not noticed")
            script = "for i in 1 2 3 4; do echo; sleep 0.1; done"
            require(
                not sandbox.run(["sh", "-c", script], idle=2.0).timed_out, "a live one was killed"
            )

    def test_shell_keeps_its_state(self) -> None:
        """Working folder, variables and functions persist between commands."""
        with self.make() as sandbox, sandbox.shell() as shell:
            shell.run("cd /usr; x='a b'; f() { printf '%s' \"$x\"; }; exec 5>&1")
            done = shell.run("f; printf e >&2; (exit 9)", timeout=_PATIENCE)
            require_same((done.stdout, done.stderr, done.returncode), (b"a b", b"e", 9))
            require_same(shell.run("pwd").stdout, b"/usr\n")
            require_same(shell.run('cat; read -r y; printf %s "[$y]"').stdout, b"[]")

    def test_shell_is_exact(self) -> None:
        """Output is binary-safe; long and malformed commands do no harm."""
        with self.make() as sandbox, sandbox.shell() as shell:
            done = shell.run("printf '\\000\\377\\r\\n'; printf \"it's 'ü'\" >&2")
            require_same((done.stdout, done.stderr), (b"\x00\xff\r\n", "it's 'ü'".encode()))
            long = "# " + "x" * 150_000 + "\necho done"
            require_same(shell.run(long, timeout=_PATIENCE).stdout, b"done\n")
            require(shell.run("echo 'open").returncode != 0, "an open quote is an error")
            require_same(shell.run("echo 'next'").stdout, b"next\n")
            _raises(ValueError, lambda: shell.run("a\0b"), "NUL in a command")

    def test_shell_time_out(self) -> None:
        """A timed-out command is killed with its children; the shell keeps its state."""
        commands = (
            "sleep 60; echo no; sleep 60",
            "while :; do :; done",
            "f() { sleep 60; f; }; f",
            "sleep 60 | cat",
            "(setsid sleep 60 &); y=$(sleep 60); echo $y",
        )
        with self.make() as sandbox, sandbox.shell() as shell:
            shell.run("cd /usr; x=kept")
            for command in commands:
                done = shell.run(command, timeout=0.2)
                require(done.timed_out and done.stdout == b"", f"{command}: {done}")
                after = shell.run("printf '%s %s' $x $PWD", timeout=_PATIENCE)
                require_same((after.stdout, after.returncode), (b"kept /usr", 0), command)

    def test_shell_interrupt(self) -> None:
        """Another thread can interrupt a command."""
        with self.make() as sandbox, sandbox.shell() as shell:
            timer = threading.Timer(0.3, shell.interrupt)
            timer.start()
            began = time.monotonic()
            require(shell.run("sleep 60", timeout=30).returncode != 0, "an interrupt is no success")
            require(time.monotonic() - began < _PATIENCE, "the interrupt came too late")
            require_same(shell.run("echo on").stdout, b"on\n")
            timer.join()

    def test_shell_background(self) -> None:
        """Background processes are killed after a command, unless they are kept."""
        # Starting and killing processes may take a moment.
        count = (
            "for i in $(seq 100); do n=$(pgrep -c -f 'sleep 4[1]'); [ $n = {} ] && break; "
            "sleep 0.02; done; echo $n"
        )
        with self.make() as sandbox, sandbox.shell() as shell:
            shell.run("sleep 41 & (setsid sleep 41 &); echo")
            require_same(shell.run(count.format(0)).stdout, b"0\n")
            shell.run("sleep 41 &", keep_background=True)
            require_same(shell.run(count.format(1), keep_background=True).stdout, b"1\n")

    def test_shell_that_ends(self) -> None:
        """A command that ends the shell is reported; the next one gets a new shell."""
        with self.make() as sandbox, sandbox.shell() as shell:
            for command, status in (("x=1; exit 5", 5), ("exec sh -c 'exit 6'", 6)):
                done = shell.run(command, timeout=_PATIENCE)
                require_same(done.returncode, status)
                require("fresh" in done.note, f"nothing was said about it: {done}")
                require_same(shell.run('echo "[$x]"').stdout, b"[]\n")

    def test_files(self, tmp_path: Path) -> None:
        """Files and folders are copied unchanged in both directions."""
        tree = tmp_path / "tree"
        (tree / "sub").mkdir(parents=True)
        (tree / "sub" / "data").write_bytes(bytes(range(256)) * 1000)
        (tree / "tool").write_text("#!/bin/sh\necho works\n")
        (tree / "tool").chmod(0o755)
        (tree / "link").symlink_to("sub/data")
        with self.make() as sandbox:
            sandbox.put(tree, "given")
            require_same(sandbox.run(["given/tool"]).stdout, b"works\n")
            sandbox.run(["sh", "-c", "echo more > given/sub/more"]).check()
            sandbox.get("given", tmp_path / "back")
            sandbox.write_bytes("deep/er/file", b"x")
            require_same(sandbox.read_bytes("deep/er/file"), b"x")
            _raises(SandboxError, lambda: sandbox.read_bytes("missing"), "a missing file")
            _raises(SandboxError, lambda: sandbox.read_bytes("../x"), "a path with dots")
            _raises(SandboxViolation, lambda: sandbox.read_bytes("given/sub/data", 10), "too large")
        back = tmp_path / "back"
        require_same((back / "sub" / "data").read_bytes(), (tree / "sub" / "data").read_bytes())
        require_same((back / "link").readlink(), Path("sub/data"))
        require_same((back / "sub" / "more").read_text(), "more\n")
        require_same((back / "tool").stat().st_mode & 0o777, 0o755)

    def traps(self) -> dict[str, str]:
        """Return shell commands, by name, that create files which must not be copied out."""
        return {
            "absolute": "ln -s /etc/passwd it",
            "upwards": "ln -s ../../x it",
            "fifo": "mkfifo it",
            "hidden upwards": "mkdir a; ln -s .. a/up; ln -s a/up/../x it",
        }

    def test_nothing_hostile_comes_out(self, tmp_path: Path) -> None:
        """Links to the outside and fifos are rejected, and nothing is copied."""
        with self.make() as sandbox:
            for name, trap in self.traps().items():
                sandbox.run(["sh", "-c", f"rm -rf d; mkdir d; cd d; {trap}"]).check()
                target = tmp_path / "out"
                _raises(SandboxViolation, lambda t=target: sandbox.get("d", t), name)  # type: ignore[misc]
                require(not target.exists() and not any(tmp_path.iterdir()), f"{name}: leftovers")

    def test_snapshot(self) -> None:
        """A snapshot restores the workspace."""
        with self.make() as sandbox:
            sandbox.run(["sh", "-c", "mkdir a; echo 1 > a/f; ln -s a/f l; chmod 700 a/f"]).check()
            with sandbox.snapshot() as kept:
                sandbox.run(["sh", "-c", "rm -rf a; echo 2 > b; ln -sf /usr l"]).check()
                sandbox.restore(kept)
            done = sandbox.run(["sh", "-c", "cat a/f; readlink l; ls; stat -c %a a/f"])
        require_same(done.stdout, b"1\na/f\na\nl\n700\n")

    def test_spawn(self) -> None:
        """A program can run in the background, with passed file descriptors."""
        with self.make() as sandbox:
            reader, writer = os.pipe()
            try:
                argv = ["bash", "-c", f"read x; echo got $x >&{writer}; cat"]
                job = sandbox.spawn(argv, pass_fds=[writer])
                os.write(job.pipes.stdin, b"word\n")
                require_same(os.read(reader, 100), b"got word\n")
                require(job.poll() is None, "it ended early")
                job.close()
                require(job.poll() is not None, "it outlived its close")
            finally:
                os.close(reader)
                os.close(writer)

    def test_threads(self) -> None:
        """A sandbox can be used by several threads, also after its creating thread has ended."""
        kept: list[Any] = []
        opener = threading.Thread(target=lambda: kept.append(self.make()))
        opener.start()
        opener.join()
        with kept[0] as sandbox:
            shells: list[Any] = []
            starter = threading.Thread(target=lambda: shells.append(sandbox.shell()))
            starter.start()
            starter.join()
            time.sleep(0.2)
            require_same(shells[0].run("echo alive").stdout, b"alive\n")
            done: list[bytes] = []
            users = [
                threading.Thread(target=lambda: done.append(sandbox.run(["echo", "y"]).stdout))
                for _ in range(4)
            ]
            for user in users:
                user.start()
            for user in users:
                user.join()
            require_same(done, [b"y\n"] * 4)

    def test_closing(self) -> None:
        """Operations of a closed sandbox raise, and it can be closed twice."""
        sandbox = self.make()
        shell, job = sandbox.shell(), sandbox.spawn(["sleep", "60"])
        sandbox.close()
        sandbox.close()
        require(job.poll() is not None, "a process outlived the sandbox")
        _raises(SandboxClosed, lambda: sandbox.run(["true"]), "run")
        _raises(SandboxClosed, lambda: shell.run("true"), "shell")
        _raises(SandboxClosed, lambda: sandbox.read_bytes("x"), "read")

    def test_wall_time(self) -> None:
        """A sandbox ends at its time limit."""
        sandbox = self.make(wall=0.5)
        job = sandbox.spawn(["sleep", "60"])
        require(job.wait(_PATIENCE) is not None, "it outlived its time")
        _raises(SandboxClosed, lambda: sandbox.run(["true"]), "run after its time")
        sandbox.close()


class IsolationConformance(SandboxConformance):
    """Additional tests for isolating backends; implement :meth:`make`."""

    def test_who_and_where(self) -> None:
        """Commands run as an unprivileged user with a read-only file system."""
        with self.make() as sandbox:
            require(int(sandbox.run(["id", "-u"]).text) != 0, "it runs as root")
            status = sandbox.run(["cat", "/proc/self/status"]).text
            rights = [line.split()[1] for line in status.splitlines() if line.startswith("Cap")]
            require(all(int(word, 16) == 0 for word in rights), f"capabilities are left: {rights}")
            # PR_GET_NO_NEW_PRIVS; not every kernel has it among a process's status.
            ask = "import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))"
            require_same(
                sandbox.run(["python3", "-c", ask]).text, "1\n", "new privileges are possible"
            )
            require("Seccomp:\t2" in status, "there is no seccomp filter")
            require_same(self.home(sandbox), "/workspace")
            for place in ("/", "/usr", "/etc", "/dev"):
                require(
                    sandbox.run(["touch", f"{place}/x"]).returncode != 0, f"{place} is writable"
                )
            for place in ("/workspace", "/tmp", "/dev/shm"):  # noqa: S108 - inside a sandbox
                sandbox.run(["touch", f"{place}/x"]).check()
            seen = [word for word in sandbox.run(["ls", "/proc"]).text.split() if word.isdigit()]
            require("1" in seen and len(seen) < 5, f"processes of others are seen: {seen}")

    def test_python(self) -> None:
        """The caller's interpreter runs inside, wherever it lives."""
        with self.make() as sandbox:
            require_same(
                sandbox.run([sys.executable, "-c", "print(6 * 7)"]).check().stdout, b"42\n"
            )

    def test_places_are_shared(self) -> None:
        """All commands of a sandbox share the same writable folders."""
        with self.make() as sandbox, sandbox.shell() as shell:
            shell.run("echo 1 > /tmp/a; echo 2 > /dev/shm/b; echo 3 > c").check()
            require_same(sandbox.run(["sh", "-c", "cat /tmp/a /dev/shm/b c"]).stdout, b"1\n2\n3\n")
            require_same(sandbox.read_bytes("/tmp/a"), b"1\n")  # noqa: S108 - inside a sandbox

    def test_sizes(self) -> None:
        """Writable folders have a size limit."""
        with self.make(disk="1M", tmp="1M") as sandbox:
            for place in ("/workspace", "/tmp", "/dev/shm"):  # noqa: S108 - inside a sandbox
                done = sandbox.run(
                    ["sh", "-c", f"head -c 3000000 /dev/zero > {place}/f; wc -c < {place}/f"]
                )
                require(int(done.text) <= 1 << 20, f"{place} holds {done.text}")

    def test_memory_of_a_tree(self) -> None:
        """The memory limit applies to all processes together."""
        script = "for i in 1 2 3 4; do (head -c 40M /dev/zero | tail -c 40M | wc -c) & done; wait"
        with self.make(memory="64M") as sandbox:
            done = sandbox.run(["sh", "-c", script], timeout=30)
            require(done.oom_killed, f"nobody was killed for memory: {done}")
            # A kernel may give the one that it kills a few pages more.
            require((done.usage.memory_peak or 0) <= 65 << 20, f"the peak is above: {done.usage}")
            require_same(sandbox.run(["echo", "fine"]).stdout, b"fine\n")

    def test_processes(self) -> None:
        """The number of processes is limited, and a fork bomb ends with its command."""
        script = "i=0; while [ $i -lt 60 ]; do sleep 30 & i=$((i+1)); done; wait"
        with self.make(pids=20) as sandbox:
            done = sandbox.run(["bash", "-c", script], timeout=3)
            require(b"fork" in done.stderr, f"60 processes where 20 are allowed: {done}")
            require_same(sandbox.run(["echo", "fine"], timeout=_PATIENCE).stdout, b"fine\n")

    def test_network(self) -> None:
        """Without network there is none; the loopback interface is private to the sandbox."""
        server = (
            "import socket; s = socket.create_server(('127.0.0.1', 8123)); print(1, flush=True); "
            "s.accept()[0].sendall(b'hello')"
        )
        client = "import socket; print(socket.create_connection(('127.0.0.1', 8123), 3).recv(9))"
        with self.make() as sandbox:
            done = sandbox.run(["python3", "-c", client], timeout=_PATIENCE)
            require(done.returncode != 0, "there is a network where none was asked for")
        with self.make(network="loopback") as sandbox:
            job = sandbox.spawn(["python3", "-c", server])
            os.set_blocking(job.pipes.stdout, True)
            require_same(os.read(job.pipes.stdout, 10), b"1\n")
            require_same(sandbox.run(["python3", "-c", client], timeout=5).stdout, b"b'hello'\n")
            job.close()

    def test_usage(self) -> None:
        """A sandbox reports its resource usage."""
        with self.make() as sandbox:
            sandbox.run(["sh", "-c", "head -c 1000000 /dev/zero > f"]).check()
            used = sandbox.usage()
            require((used.disk_used or 0) >= 1_000_000, f"disk: {used}")
            require((used.memory_peak or 0) > 0, f"memory: {used}")
            require((used.wall_seconds or 0) > 0, f"time: {used}")

    def test_mounts(self, tmp_path: Path) -> None:
        """Mounts are read-only by default."""
        from ludus.sandbox import Mount

        (tmp_path / "data").write_text("given")
        tmp_path.chmod(0o755)
        with self.make(mounts=(Mount(str(tmp_path), "/data"),)) as sandbox:
            require_same(sandbox.run(["cat", "/data/data"]).stdout, b"given")
            require(
                sandbox.run(["touch", "/data/x"]).returncode != 0, "a read-only mount is writable"
            )

    def test_policy_type(self) -> None:
        """A sandbox has the policy it was opened with."""
        with self.make() as sandbox:
            require(isinstance(sandbox.policy, Policy), "no policy")
