"""The submission sandbox's program: imports submitted code and calls it when asked.

Submitted code shares this process and can change all of it: nothing it sends is trusted.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from ludus.codec import decode, encode
from ludus.research.grading.protocol import VALUES, Kind, borrow_kernels, claim_channel

__all__ = ["main"]

_TEXT, _TRACE = 2000, 4000


def main() -> None:
    """Serve questions until the host is gone."""
    link = claim_channel()
    borrow_kernels()
    link.send(0, Kind.HELLO)
    servant = _Servant(Path.cwd())
    while (frame := link.receive()) is not None:
        try:
            answer = servant.answer(frame.kind, decode(frame.payload, VALUES))
            payload, kind = encode(answer, VALUES, name="answer"), Kind.ANSWER
        except BaseException as problem:  # SystemExit too: any error is reported to the host
            payload, kind = _described(problem, servant.folder), Kind.RAISED
        link.send(frame.token, kind, payload)


class _Servant:
    """The submitted files of this sandbox."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._modules: dict[str, ModuleType] = {}
        self._models: dict[str, Any] = {}
        sys.path.insert(0, str(folder))

    def answer(self, kind: int, asked: Any) -> Any:
        """Return the answer to a question."""
        if kind == Kind.LOAD:
            return self._load(asked)
        if kind == Kind.RUN:
            return self._run(*asked)
        path, name, calls = asked
        function: Any = self._modules[path]
        for part in name.split("."):
            function = getattr(function, part)
        return [function(*args) for args in calls]

    def _load(self, path: str) -> list[Any]:
        if path not in self._modules:
            name = Path(path).stem
            spec = importlib.util.spec_from_file_location(name, self.folder / path)
            if spec is None or spec.loader is None:
                raise ImportError(f"{path} is no Python file")
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            self._modules[path] = module
        return []

    def _run(self, path: str, inputs: dict[str, Any]) -> list[Any]:
        if path not in self._models:
            from onnxruntime import InferenceSession  # type: ignore[import-not-found,unused-ignore]

            self._models[path] = InferenceSession(
                str(self.folder / path), providers=["CPUExecutionProvider"]
            )
        return [list(self._models[path].run(None, inputs))]


def _described(problem: BaseException, folder: Path) -> bytes:
    """Return class, message and traceback, and the last line of a submitted file on the way."""
    path, line = "", 0
    try:
        text = str(problem)[:_TEXT]
        trace = "".join(traceback.format_exception(problem))[-_TRACE:]
        path, line = _where(problem, folder)
    except BaseException:  # methods of its class may raise anything
        text = trace = "(it cannot be shown)"
    told = [type(problem).__name__, text, trace, path]
    words = [word.encode("utf-8", "replace").decode() for word in told]
    return encode([*words, line if 0 <= line < 2**31 else 0])


def _where(problem: BaseException, folder: Path) -> tuple[str, int]:
    places = [
        (frame.filename, frame.lineno) for frame in traceback.extract_tb(problem.__traceback__)
    ]
    if isinstance(problem, SyntaxError):
        places.append((problem.filename or "", problem.lineno))
    for name, line in reversed(places):
        if Path(name).is_relative_to(folder):
            return Path(name).relative_to(folder).as_posix(), line or 0
    return "", 0
