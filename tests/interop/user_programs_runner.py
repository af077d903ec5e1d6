"""Runs user programs in this process, each with an empty namespace, and keeps what they print.

Arguments: the library that takes gymnasium's place, the folder for outputs, and the programs.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
import traceback
import warnings
from pathlib import Path


def run(program: Path, library: str, folder: Path) -> None:
    copy = folder / program.name
    copy.write_text(re.sub(r"\bgymnasium\b", library, program.read_text()))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(str(copy), run_name="__main__")
        except BaseException as problem:
            printed.write("FAILED\n" + "".join(traceback.format_exception(problem)))
    copy.with_suffix(".out").write_text(printed.getvalue())


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[3:]:
        run(Path(name), sys.argv[1], Path(sys.argv[2]))
