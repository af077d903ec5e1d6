"""Import time: `import ludus` against `import gymnasium`, in fresh interpreters, taking turns.

Of many runs the fastest counts: what disturbs a run only adds to it. Both find their bytecode
compiled, as installed packages do.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

RUNS = 30
CODE = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"


def seconds(package: str, cache: str) -> float:
    command = [sys.executable, "-c", CODE.format(package)]
    env = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(command, capture_output=True, check=True, text=True, env=env)
    return float(done.stdout)


def main() -> None:
    fastest = dict.fromkeys(("ludus", "gymnasium", "numpy"), float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(RUNS):
            for package in fastest:
                fastest[package] = min(fastest[package], seconds(package, cache))
    for package, best in fastest.items():
        print(f"import {package:<10} {best * 1e3:7.1f} ms (fastest of {RUNS})")
    print(f"ratio ludus / gymnasium: {fastest['ludus'] / fastest['gymnasium']:.2f}  (goal ≤ 1)")


if __name__ == "__main__":
    main()
