"""Code that a command loads into the shell itself, to run when the command is over.

``enable -f`` loads a library into bash, which outlives every command. What runs in there could
watch a grading, or swap the work under the grader.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable

import pytest

from tests.sandbox.attacks.attack import Attack, Outcome, Scene, broke, held

__all__ = ["ATTACKS"]

TICK = r"""
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>
static void tick(int number) {
  int file = open(getenv("TICKS"), O_WRONLY | O_CREAT | O_APPEND, 0644);
  write(file, "x", 1);
  close(file);
}
"""
THREAD = r"""
static void *work(void *nothing) { for (;;) { tick(0); usleep(10000); } }
__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
}
"""
TIMER = r"""
__attribute__((constructor)) static void begin(void) {
  struct itimerval often = {{0, 10000}, {0, 10000}};
  struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, 0);
  setitimer(ITIMER_REAL, &often, 0);
}
"""
# A thread's child is not listed among the children of the thread that bash runs in.
CHILDREN = r"""
static void *work(void *nothing) {
  if (fork() == 0) { for (int i = 0; i < 300; i++) { tick(0); usleep(10000); } _exit(0); }
  for (;;) sleep(1);
}
__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  usleep(100000);
}
"""
# Each of them continues the shell that is to be stopped, which starts more of them.
HELPERS = r"""
static void *work(void *nothing) {
  for (;;) {
    if (fork() == 0) for (;;) { kill(1, SIGCONT); tick(0); }
    usleep(500);
  }
}
__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  signal(SIGCHLD, SIG_IGN);
  pthread_create(&thread, 0, work, 0);
  usleep(50000);
}
"""
# The kernel continues the process, whoever has stopped it.
CONTINUED = r"""
#include <time.h>
static void nothing(int number) {}
static void *work(void *nothing) { for (;;) { tick(0); usleep(10000); } }
__attribute__((constructor)) static void begin(void) {
  struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
  struct itimerspec often = {{0, 20000000}, {0, 20000000}};
  pthread_t thread;
  timer_t timer;
  signal(SIGCONT, nothing);
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  timer_settime(timer, 0, &often, 0);
  pthread_create(&thread, 0, work, 0);
}
"""
FILLS = "it would fill the host with processes"
# Tells bash to do without what ends the background of a command.
UNTOLD = 'builtin() { [[ $1 == kill ]] || command builtin "$@"; }; '


def _compiler() -> str | None:
    return shutil.which("gcc") or shutil.which("cc")


def _load(source: str, before: str, then: str) -> Callable[[Scene, Attack], Outcome]:
    """Return an attack that loads a library and looks whether it runs on after its command.

    Args:
        source: of the library.
        before: what the shell is told first.
        then: what is done after the command: ``sweep``, ``read`` a file, or just ``wait``; with
            ``sweep at once`` the command does not wait until the library has begun.
    """
    pause = "" if then == "sweep at once" else "; sleep .2"

    def act(scene: Scene, attack: Attack) -> Outcome:
        if not _compiler():
            pytest.skip("there is no compiler")
        library = scene.folder / "loaded.so"
        options = ["-shared", "-fPIC", "-w", "-Wl,-z,nodelete", "-x", "c", "-", "-lpthread", "-lrt"]
        subprocess.run(
            [_compiler() or "cc", "-o", library, *options],
            input=(TICK + source).encode(),
            check=True,
            timeout=30,
        )
        scene.box.write_bytes(scene.inside("loaded.so"), library.read_bytes())
        with scene.box.shell() as shell:
            path, ticks = scene.inside("loaded.so"), scene.inside("ticks")
            shell.run(f"export TICKS={ticks}; {before}enable -f {path} loaded{pause}", timeout=4)
            if then.startswith("sweep") and not scene.naive:
                shell.sweep()
            began = _wait_for_rest(scene) if then == "wait" else _count(scene)
            time.sleep(0.5)
            if (ended := _peek(scene)) > began:
                return broke(f"it ran {ended - began} times after its command")
            if not began:
                return Outcome("INVALID", "it never ran at all")
            # The shell itself is as good as before, unless it had to be killed.
            again = shell.run("echo $TICKS", timeout=4)
            if again.stdout.decode() != f"{ticks}\n" and source not in (HELPERS, CONTINUED):
                return broke(f"the shell is lost: {again.stdout!r}")
        return held("it ran during its command only")

    return act


def _count(scene: Scene) -> int:
    return len(scene.box.read_bytes(scene.inside("ticks")))


def _peek(scene: Scene) -> int:
    """Count without asking the sandbox, which would stop the shell."""
    if scene.naive:
        return _count(scene)
    root = scene.box._root("/workspace")
    file = os.open("ticks", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=root)
    try:
        return os.fstat(file).st_size
    finally:
        os.close(file)


def _wait_for_rest(scene: Scene) -> int:
    """Return the count once it stays the same, or after a while."""
    seen = -1
    for _ in range(15):
        if seen == (seen := _peek(scene)):
            break
        time.sleep(0.2)
    return seen


ATTACKS = tuple(
    Attack(
        name=f"load_{name}_into_the_shell",
        threat="the time between commands, in which gradings take place",
        act=_load(source, before, then),
        cannot_succeed_unboxed=unboxed if _compiler() else "there is no compiler",
        policy={"pids": 64},
    )
    for name, source, before, then, unboxed in (
        ("a_thread", THREAD, "", "sweep", ""),
        ("a_thread_that_waits", THREAD, "", "wait", ""),
        ("a_thread_that_sees_files_read", THREAD, "", "read", ""),
        ("a_timer", TIMER, "", "sweep", ""),
        ("a_threads_child", CHILDREN, UNTOLD, "sweep", ""),
        ("a_timer_that_continues_it", CONTINUED, "", "sweep", ""),
        ("a_timer_that_continues_a_shell_that_waits", CONTINUED, "", "wait", ""),
        ("helpers", HELPERS, UNTOLD, "sweep", FILLS),
        # The shell is alive when they are swept: it has no process to start for a pause.
        ("helpers_that_are_swept_at_once", HELPERS, UNTOLD, "sweep at once", FILLS),
    )
)
