"""Code that an agent loads into its shell, and that continues it while the work is graded."""

from __future__ import annotations

import shutil
import subprocess
import time

import pytest

from tests.research.env_support import FakeGrade, answer, make, size_of, write_task
from tests.research.grading.support import boxed
from tests.sandbox.support import why_not

pytestmark = [
    boxed,
    pytest.mark.skipif(shutil.which("gcc") is None, reason="compiles a library"),
]

# A thread that writes for as long as its process runs, and what has the process continued.
LIBRARY = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
static void *beat(void *nothing) {
  int file = open("/workspace/beat", O_WRONLY | O_CREAT | O_APPEND, 0666);
  for (;;) { write(file, "x", 1); usleep(5000); }
}
/* A process takes the longer to end the more memory it has. */
static void grow(void) {
  size_t size = 160 << 20;
  memset(mmap(0, size, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, size);
}
static void handle(int number) {}
static void have_it_continued(void);
__attribute__((constructor)) static void begin(void) {
  pthread_t thread;
  pthread_create(&thread, 0, beat, 0);
  have_it_continued();
}
static void have_it_continued(void) {
"""
WAYS = {
    "a_timer": r"""
  signal(SIGCONT, handle);
  struct sigevent event = {0};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGCONT;
  timer_t timer;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  struct itimerspec often = {{0, 20000000}, {0, 20000000}};
  timer_settime(timer, 0, &often, 0);
""",
    "the_end_of_a_child": r"""
  if (syscall(SYS_clone, SIGCONT, 0, 0, 0, 0) == 0) { grow(); for (;;) pause(); }
  usleep(300000);
""",
    "a_descriptor": r"""
  int ends[2];
  pipe(ends);
  if (fork() == 0) { close(ends[0]); grow(); for (;;) pause(); }
  close(ends[1]);
  fcntl(ends[0], F_SETSIG, SIGCONT);
  fcntl(ends[0], F_SETOWN, getpid());
  fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
  usleep(300000);
""",
    "a_child_without_its_first_thread": r"""
  if (fork() == 0) {
    pthread_t thread;
    pthread_create(&thread, 0, beat, 0);
    syscall(SYS_exit, 0);
  }
""",
    "a_terminal_that_hangs_up": r"""
  setsid();
  int top = posix_openpt(O_RDWR | O_NOCTTY);
  grantpt(top);
  unlockpt(top);
  int terminal = open(ptsname(top), O_RDWR);
  ioctl(terminal, TIOCSCTTY, 0);
  signal(SIGHUP, SIG_IGN);
  if (fork() == 0) { signal(SIGHUP, SIG_IGN); close(terminal); grow(); for (;;) pause(); }
  close(top);
  usleep(300000);
""",
}
# Tells bash to do without what ends the background of a command.
UNTOLD = 'builtin() { [[ $1 == kill ]] || command builtin "$@"; }; '


class Watching(FakeGrade):
    """Grades, and looks meanwhile whether a file in the workspace grows."""

    sandbox = None

    def __init__(self):
        super().__init__()
        self.grew = []

    def __call__(self, task, artefacts, split, seed, *, draw):
        time.sleep(0.1)
        before = size_of(self.sandbox, "beat")
        time.sleep(0.4)
        self.grew.append((split, size_of(self.sandbox, "beat") - before))
        return super().__call__(task, artefacts, split, seed, draw=draw)


@pytest.mark.parametrize("backend", ["bubblewrap", "podman", "docker"])
@pytest.mark.parametrize("way", WAYS)
def test_nothing_in_the_shell_runs_while_its_work_is_graded(way, backend, tmp_path):
    if reason := why_not(backend):
        pytest.skip(f"{backend}: {reason}")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-w", "-Wl,-z,nodelete", "-x", "c", "-", "-lpthread", "-lrt"]
        + ["-o", tmp_path / "loaded.so"],
        input=(LIBRARY + WAYS[way] + "}").encode(),
        check=True, timeout=60,
    )  # fmt: skip
    grade = Watching()
    with make(write_task(tmp_path / "task"), backend=backend, grade=grade) as env:
        env.reset(seed=0)
        grade.sandbox = env.sandbox
        env.sandbox.put(tmp_path / "loaded.so", "/workspace/loaded.so")
        env.step(f"{answer(0.5)}; {UNTOLD}")
        env.step("enable -f ./loaded.so loaded; sleep 0.3; validate")
        assert size_of(env.sandbox, "beat") > 0
        env.finish()
        assert grade.grew == [("validation", 0), ("test", 0)]
