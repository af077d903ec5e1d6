"""What a box inherits without being given it, and what its words do to the host's terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from tests.sandbox.attacks.attack import (
    Attack,
    Outcome,
    Scene,
    broke,
    held,
    read_outcome,
    shows_canary,
)
from tests.sandbox.attacks.host import closing, environment, secret

__all__ = ["ATTACKS"]

ESCAPE = "\x1b]0;owned\x07\x1b[2J"


def _secret_variable(scene: Scene) -> None:
    scene.stack.enter_context(environment("LUDUS_TEST_SECRET", scene.canary))


def _loader_variables(scene: Scene) -> None:
    for name in ("LD_LIBRARY_PATH", "PYTHONPATH", "BASH_ENV", "PERL5LIB", "GCONV_PATH"):
        scene.stack.enter_context(environment(name, f"/none/{scene.canary}"))


def _open_file(scene: Scene) -> None:
    descriptor = closing(scene.stack, os.open(secret(scene), os.O_RDONLY))
    os.set_inheritable(descriptor, True)


def _open_folder(scene: Scene) -> None:
    descriptor = closing(scene.stack, os.open(secret(scene).parent, os.O_RDONLY))
    os.set_inheritable(descriptor, True)


def _type_ahead(scene: Scene, attack: Attack) -> Outcome:
    """Give a process that opens a box a terminal, and see what the box types into it."""
    pid, master = pty.fork()
    if pid == 0:
        module = "tests.sandbox.attacks.terminal"
        argv = [sys.executable, "-m", module, scene.backend, str(scene.folder), scene.token]
        os.execv(sys.executable, argv)
    said, until = b"", time.monotonic() + 20
    try:
        while b"DONE" not in said and time.monotonic() < until:
            if select.select([master], [], [], 0.2)[0]:
                said += os.read(master, 4096)
    except OSError:
        pass
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)
    text = said.decode(errors="replace")
    if f"TYPED {scene.token}" in text:
        return broke("the box typed into the host's terminal")
    if "CLEAN DONE" in text:
        return held("nothing was typed")
    return Outcome("INVALID", text[-600:])


def _environment_on_command_line(scene: Scene, attack: Attack) -> Outcome:
    """Look, while a command runs, for a secret of the policy in the host's process list."""
    found: list[str] = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            for entry in Path("/proc").iterdir():
                with suppress(OSError):
                    if (
                        entry.name.isdigit()
                        and scene.canary.encode() in (entry / "cmdline").read_bytes()
                    ):
                        found.append((entry / "comm").read_text().strip())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        completed = scene.box.run(["sh", "-c", "sleep 0.3; echo $LUDUS_TEST_SECRET"], timeout=5)
    finally:
        done.set()
        watcher.join()
    if scene.canary.encode() not in completed.stdout:
        return Outcome("INVALID", "the policy's variable did not arrive in the box")
    return broke(f"on the command line of {sorted(set(found))}") if found else held("not listed")


def _given_variable(scene: Scene) -> None:
    scene.policy["environment"] = {"LUDUS_TEST_SECRET": scene.canary}


def _error_with_escapes(scene: Scene, attack: Attack) -> Outcome:
    """A failing command's words, quoted in an exception that the host prints."""
    script = f"printf '{ESCAPE}' | tee /dev/stderr; exit 3".replace("\x1b", "\\033")
    completed = scene.box.run(["sh", "-c", script.replace("\x07", "\\007")], timeout=5)
    try:
        completed.check()
    except Exception as error:
        if "\x1b" in str(error) or "\x07" in str(error):
            return broke(f"raw escapes in the message of {type(error).__name__}")
        return held("escapes are quoted")
    return Outcome("INVALID", "a failing command passed its check")


def _name_with_escapes(scene: Scene, attack: Attack) -> Outcome:
    """A file name quoted in an exception: a fifo, which cannot be fetched."""
    name = f"{scene.workspace}/{ESCAPE}"
    scene.params["name"] = name
    made = scene.python("os.mkfifo(P['name']); held('made')")
    if read_outcome(made).word != "HELD":
        return read_outcome(made)
    try:
        if scene.naive:
            raise OSError(f"cannot fetch {name}")
        scene.box.get(scene.workspace, scene.folder / "got")
    except Exception as error:
        raw = "\x1b" in str(error)
        return broke(f"raw escapes in {type(error).__name__}") if raw else held("quoted")
    return held("fetched without a word")


ATTACKS = (
    Attack(
        name="read_host_environment",
        threat="tokens and passwords in the environment of the program that opens the box",
        prepare=_secret_variable,
        script="""
needle = b"canary-" + P["token"].encode()
places = [b"\\0".join(os.environb.values())]
for pid in (os.listdir("/proc") if P["boxed"] else []):
    try:
        places.append(open(f"/proc/{pid}/environ", "rb").read())
    except OSError:
        pass
broke(needle.decode()) if any(needle in place for place in places) else held("not there")
""",
        verdict=shows_canary,
    ),
    Attack(
        name="inherit_loader_variables",
        threat="code of somebody else's choice in every program of the box",
        prepare=_loader_variables,
        script="""
leaked = [k for k, v in os.environ.items() if P["token"] in v]
broke(f"inherited {leaked}") if leaked else held(f"only {sorted(os.environ)}")
""",
    ),
    Attack(
        name="use_inherited_descriptor",
        threat="a file that the host had open, not marked close-on-exec",
        prepare=_open_file,
        script="""
for number in range(3, 256):
    try:
        text = os.pread(number, 1000, 0).decode(errors="replace")
    except OSError as error:
        last = error
        continue
    if "canary-" + P["token"] in text:
        broke(text)
refused(last)
""",
        verdict=shows_canary,
    ),
    Attack(
        name="leave_by_inherited_folder",
        threat="the host's files through a folder that the host had open",
        prepare=_open_folder,
        script="""
for number in range(3, 256):
    try:
        file = os.open("secret", os.O_RDONLY, dir_fd=number)
        broke(os.pread(file, 1000, 0).decode())
    except OSError as error:
        last = error
refused(last)
""",
        verdict=shows_canary,
    ),
    Attack(
        name="find_any_extra_descriptor",
        threat="a control channel of the launcher",
        prepare=_open_file,
        script="""
extra = {}
for number in range(3, 1024):
    try:
        extra[number] = os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        pass
broke(extra) if extra else held("only 0, 1 and 2")
""",
    ),
    Attack(
        name="type_into_host_terminal",
        threat="commands run by the user's own shell: TIOCSTI types them in",
        act=_type_ahead,
        needs_root=True,
    ),
    Attack(
        name="read_policy_environment_in_process_list",
        threat="secrets of the policy, shown to every user of the host by ps",
        prepare=_given_variable,
        act=_environment_on_command_line,
        cannot_succeed_unboxed="without a launcher there is no command line to leak to",
    ),
    Attack(
        name="escape_sequences_in_errors",
        threat="the user's terminal, driven by a command's words in an error message",
        act=_error_with_escapes,
        everywhere=True,
    ),
    Attack(
        name="escape_sequences_in_names",
        threat="the user's terminal, driven by a file's name in an error message",
        act=_name_with_escapes,
        everywhere=True,
    ),
)
