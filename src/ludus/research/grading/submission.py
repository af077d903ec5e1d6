"""A submission as graders see it: strictly parsed data, and code that runs elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ludus.codec import encode
from ludus.errors import GradingFailed, SubmissionRejected
from ludus.research.grading import formats
from ludus.research.grading.answers import Returns, checked_answers
from ludus.research.grading.formats import Column, Table
from ludus.research.grading.protocol import VALUES, Kind, Link

__all__ = ["Code", "Model", "Submission"]

# A small archive unpacks to much, and a grader that runs out of memory fails without a fault of
# its own: the sandbox's memory must hold this twice, and what is computed with it.
_UNPACKED = 256 << 20


class Submission:
    """The files of one submission.

    Every method raises ``SubmissionRejected`` if the file is malformed, and ``GradingFailed`` if
    the task declares none of that name and kind.
    """

    def __init__(self, folder: Path, kinds: Mapping[str, str], link: Link) -> None:
        self._folder, self._kinds, self._asker = folder, dict(kinds), _Asker(link)
        self._unpacked: dict[str, int] = {}

    def csv(
        self,
        name: str,
        columns: Mapping[str, type | Column],
        *,
        ids: Sequence[Any] | None = None,
        rows: int | None = None,
    ) -> Table:
        """Return a table with exactly these columns; see :func:`formats.read_csv`."""
        return formats.read_csv(name, self._data(name, "csv"), columns, ids=ids, rows=rows)

    def arrays(self, name: str, *, finite: bool = True) -> dict[str, NDArray[Any]]:
        """Return the arrays of an ``.npz`` file; all such files together unpack to 256 MB."""
        others = sum(size for other, size in self._unpacked.items() if other != name)
        data = self._data(name, "npz")
        arrays = formats.read_npz(name, data, max_bytes=_UNPACKED - others, finite=finite)
        self._unpacked[name] = sum(array.nbytes for array in arrays.values())
        return arrays

    def safetensors(self, name: str, *, finite: bool = True) -> dict[str, NDArray[Any]]:
        """Return the tensors of a file."""
        return formats.read_safetensors(name, self._data(name, "safetensors"), finite=finite)

    def json(self, name: str) -> Any:
        """Return the value in a JSON file."""
        return formats.read_json(name, self._data(name, "json"))

    def text(self, name: str) -> str:
        """Return a file as text; code may be read as text too, for instance to count it."""
        return formats.read_text(name, self._data(name, "text", "code"))

    def raw(self, name: str) -> bytes:
        """Return the bytes of a file of any kind; for graders of imported tasks."""
        return self._data(name, self._kinds.get(name, ""))

    @property
    def folder(self) -> Path:
        """The folder of the files, in the grader's sandbox."""
        return self._folder

    def code(self, name: str, *, alone: bool = False) -> Code:
        """Import a file in the submission's sandbox.

        Args:
            name: the file's path.
            alone: for tasks that measure time: nothing that the code starts may run on after its
                answer. Not checked where the sandbox cannot count processes.
        """
        self._check(name, "code")
        self._asker.ask(Kind.LOAD, name, float(alone))
        return Code(name, self._asker)

    def onnx(self, name: str) -> Model:
        """Open a model with onnxruntime in the submission's sandbox."""
        self._check(name, "onnx")
        return Model(name, self._asker)

    def restart(self) -> None:
        """Give the submitted code a new sandbox without traces of earlier calls.

        Code must be imported again with :meth:`code`.
        """
        self._asker.ask(Kind.RESTART, None)

    def _check(self, name: str, *kinds: str) -> None:
        if self._kinds.get(name) not in kinds:
            raise GradingFailed(
                f"The grader asks for {name!r} of kind {' or '.join(kinds)}; the task declares "
                f"{self._kinds}."
            )

    def _data(self, name: str, *kinds: str) -> bytes:
        self._check(name, *kinds)
        return (self._folder / name).read_bytes()


class Code:
    """Submitted code in its own sandbox; ``seconds`` is the time of its calls so far."""

    def __init__(self, name: str, asker: _Asker) -> None:
        self.name, self._asker = name, asker
        self.seconds = 0.0

    def call(
        self,
        function: str,
        *args: Any,
        timeout: float | None = None,
        returns: Returns = None,
        max_bytes: int | None = None,
    ) -> Any:
        """Call a function and return its answer.

        Args:
            function: its name; ``"agent.act"`` is a method of an object in the module.
            args: plain data and NumPy arrays.
            timeout: seconds it may take.
            returns: what the answer must be. Numbers that are not finite are always refused.
            max_bytes: of the encoded answer. A grader that calls often should limit it, so that no
                answer costs it time.

        Raises:
            SubmissionRejected: the answer is not of that kind. If the code raises, ends, or is
                late, the grading ends at once, and this does not return.
        """
        return self.call_many(
            function, [args], timeout=timeout, returns=returns, max_bytes=max_bytes
        )[0]

    def call_many(
        self,
        function: str,
        calls: Iterable[Sequence[Any]],
        *,
        timeout: float | None = None,
        returns: Returns = None,
        max_bytes: int | None = None,
    ) -> list[Any]:
        """Call a function once for each list of arguments, in one message.

        ``timeout`` and ``max_bytes`` are for all of them together. Otherwise like :meth:`call`.
        """
        arguments = [list(args) for args in calls]
        answer, seconds = self._asker.ask(
            Kind.CALL, [self.name, function, arguments], timeout or 0.0
        )
        self.seconds += seconds
        what = f"{self.name}: {function}"
        return checked_answers(what, answer, len(arguments), returns, max_bytes)


class Model:
    """A submitted ONNX model in its own sandbox; ``seconds`` is the time of its runs so far."""

    def __init__(self, name: str, asker: _Asker) -> None:
        self.name, self._asker = name, asker
        self.seconds = 0.0

    def run(
        self, inputs: Mapping[str, NDArray[Any]], *, timeout: float | None = None
    ) -> list[NDArray[Any]]:
        """Return the model's outputs, arrays of finite numbers.

        Raises:
            SubmissionRejected: they are not.
        """
        answer, seconds = self._asker.ask(Kind.RUN, [self.name, dict(inputs)], timeout or 0.0)
        self.seconds += seconds
        (outputs,) = checked_answers(self.name, answer, 1, list)
        if not all(type(output) is np.ndarray for output in outputs):
            text = f"{self.name} has outputs that are no arrays."
            raise SubmissionRejected(text, told=text)
        return list(outputs)


class _Asker:
    """Asks the host, which either answers or ends everything."""

    def __init__(self, link: Link) -> None:
        self._link, self._token = link, 0

    def ask(self, kind: Kind, value: Any, number: float = 0.0) -> tuple[bytes, float]:
        """Return the answer's payload and the seconds it took."""
        self._token += 1
        self._link.send(self._token, kind, encode(value, VALUES, name="arguments"), number)
        frame = self._link.receive()
        if frame is None or frame.token != self._token or frame.kind != Kind.ANSWER:
            raise GradingFailed("The host is gone, or answered something else.")
        return frame.payload, frame.number
