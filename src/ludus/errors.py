"""The exceptions of Ludus, below :class:`Error` unless Gymnasium has them elsewhere."""

from __future__ import annotations


class Error(Exception):
    """Base class of Ludus's exceptions."""


class UnregisteredEnv(Error):
    """There is no environment of this id."""


class NamespaceNotFound(UnregisteredEnv):
    """There is no environment in the id's namespace."""


class NameNotFound(UnregisteredEnv):
    """There is no environment of this name in the namespace."""


class VersionNotFound(UnregisteredEnv):
    """The environment has no version this new."""


class DeprecatedEnv(Error):
    """The requested version is older than all registered ones."""


class RegistrationError(Error):
    """The spec is invalid or conflicts with a registered one."""


class DependencyNotInstalled(Error, ImportError):
    """A required package is missing; the message says what to install."""


class UnsupportedMode(Error):
    """The environment does not support the render mode."""


class InvalidMetadata(Error):
    """The environment's ``metadata`` is invalid."""


class ResetNeeded(Error, RuntimeError):
    """``step`` or ``render`` was called before the first ``reset``."""


class InvalidAction(Error, ValueError, AssertionError):
    """The action is not in the action space."""


class MissingArgument(Error):
    """A required argument is missing."""


class InvalidArgument(Error, TypeError):
    """The entry point does not accept an argument."""


class InvalidProbability(Error):
    """A probability is outside its interval."""


class InvalidBound(Error):
    """A lower bound is not below its upper bound."""


class KernelError(Error):
    """A kernel's functions are invalid, or use Python that cannot be compiled.

    ``rule`` is the id of the violated rule, ``None`` if the error is about the whole kernel;
    ``file``, ``line`` and ``function`` say where.
    """

    def __init__(
        self,
        message: str,
        *,
        rule: str | None = None,
        file: str | None = None,
        line: int | None = None,
        function: str | None = None,
    ) -> None:
        super().__init__(message)
        self.rule, self.file, self.line, self.function = rule, file, line, function


class StateError(Error):
    """The state cannot be saved, or does not belong to this environment."""


class StateFileError(StateError):
    """The file has no readable state, or the state of another environment."""


class CodecError(Error, ValueError):
    """A value cannot be encoded, or bytes cannot be decoded.

    ``path`` leads to the value, like ``info['a'][3]``; ``position`` is the byte where decoding
    stopped. Either may be ``None``.
    """

    def __init__(
        self, message: str, *, path: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.path, self.position = path, position


class Inadmissible(CodecError):
    """A value from an untrusted process violates its space or the limits."""


class UnseedableEnv(Error):
    """Classic Gym: the environment cannot be seeded."""


class EpisodeOver(ResetNeeded, AssertionError):
    """A finished environment was stepped with autoreset disabled."""


class ResetNotAllowed(Error):
    """Classic Gym: ``reset`` was called during a monitored episode."""


class DoubleWrapperError(Error):
    """Classic Gym: the same wrapper was applied twice."""


class SandboxError(Error):
    """A sandbox could not be created, or an operation of it failed."""


class SandboxUnavailable(SandboxError):
    """The backend does not work on this machine; the message says what is required."""


class ImageMissing(SandboxError):
    """A container image is not on this machine; the message says how to get it."""


class _WithReasons(Error):
    """Base class of the errors with a dict of ``reasons``."""

    def __init__(self, message: str, *, reasons: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class PolicyNotEnforceable(_WithReasons, SandboxError, ValueError):
    """The backend cannot enforce limits of the policy; ``reasons`` are by the field's name."""


class SandboxClosed(SandboxError):
    """The sandbox was closed, timed out or died."""


class CommandFailed(SandboxError):
    """A checked command failed; ``completed`` has its result."""

    def __init__(self, message: str, *, completed: object = None) -> None:
        super().__init__(message)
        self.completed = completed


class SandboxViolation(SandboxError):
    """The sandbox returned invalid data, which was discarded."""


class ContentsExceeded(SandboxViolation):
    """The files in a sandbox exceed a limit; the code in it caused this.

    ``limit`` is a field of :class:`ludus.sandbox.SnapshotLimits` and ``allowed`` its value;
    ``found`` is the amount when copying stopped, the total may be larger.
    """

    def __init__(self, message: str, *, limit: str, allowed: int, found: int) -> None:
        super().__init__(message)
        self.limit, self.allowed, self.found = limit, allowed, found


class SandboxTimeout(SandboxError, TimeoutError):
    """The sandbox did not answer in time and was closed."""


class SandboxCrashed(SandboxError):
    """The process in the sandbox ended unexpectedly; ``oom_killed``: it ran out of memory.

    ``exit_code`` is 128 + n for signal n, ``None`` if unknown.
    """

    def __init__(
        self, message: str, *, exit_code: int | None = None, oom_killed: bool = False
    ) -> None:
        super().__init__(message)
        self.exit_code, self.oom_killed = exit_code, oom_killed


class RemoteEnvError(SandboxError):
    """The environment in a sandbox raised; the sandbox can still be used after its start.

    The sandbox reported the name of the exception's class, ``kind``, and ``remote_traceback``.
    """

    def __init__(self, message: str, *, kind: str = "", remote_traceback: str = "") -> None:
        super().__init__(message)
        self.kind, self.remote_traceback = kind, remote_traceback


class UntrustedEnv(Error):
    """The environment's code is not trusted and requires a sandbox."""


class RecordError(Error):
    """A run folder cannot be written or read, or an operation on it failed."""


class RecordDamaged(RecordError):
    """A run folder's hash chain or bytes are damaged; the message says where.

    ``file`` is ``None`` for the folder itself; ``position`` is the line of ``events.jsonl``, from
    1, or the byte of another file.
    """

    def __init__(
        self, message: str, *, file: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.file, self.position = file, position


class RecordLocked(RecordError):
    """Another process is writing the run folder."""


class ReplayImpossible(RecordError):
    """The run cannot be replayed; the message says why."""


class BenchError(Error):
    """A benchmark cannot be run, stored or reported."""


class AgentFailed(BenchError):
    """The agent raised, returned an invalid action or timed out; it counts and is not retried."""


class InfrastructureFailed(BenchError):
    """A worker, a disk or the environment failed; the unit is retried and does not count."""


class SuiteError(BenchError, ValueError):
    """A suite's file is invalid; the message names the file, the field and the fix."""


class ComparisonRefused(_WithReasons, BenchError):
    """The results are not comparable; the message says why, and how to compare them anyway.

    ``reasons`` are by the word that allows the comparison.
    """


class StoreError(BenchError):
    """The results store rejected its input, or failed."""


class ResearchError(Error):
    """A research task cannot be loaded, run or graded."""


class TaskError(ResearchError, ValueError):
    """A task's folder or file is invalid; the message names the file, the field and the fix."""


class DataMissing(ResearchError):
    """Data of a task is not on this machine; the message says what, and how to get it."""


class SubmissionRejected(ResearchError):
    """An agent's submission is malformed; the message says what and where.

    ``told`` is the text that the agent gets after a validation. It must not contain output of
    submitted code, which has seen hidden data. ``None``: the message if no submitted code was run,
    else a general text.
    """

    def __init__(self, *args: object, told: str | None = None) -> None:
        super().__init__(*args)
        self.told = told


class GradingFailed(ResearchError):
    """Grading failed through no fault of the agent; there is no score."""


class ModelServerError(ResearchError):
    """A model server could not be reached, failed or rejected a request."""


class WorkerError(Error):
    """A worker process of a vector environment failed.

    The attributes describe the moment of failure; ``None`` means unknown.
    """

    def __init__(
        self,
        message: str,
        *,
        worker: int | None = None,
        env_index: int | None = None,
        seed: int | None = None,
        last_action: object = None,
    ) -> None:
        super().__init__(message)
        self.worker, self.env_index = worker, env_index
        self.seed, self.last_action = seed, last_action


class WorkerCrashed(WorkerError):
    """A worker died without an exception: killed by a signal, or by calling exit."""

    def __init__(self, message: str, *, exit_code: int | None = None, **where: object) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]
        self.exit_code = exit_code


class WorkerRaised(WorkerError):
    """An environment raised in a worker, and the exception could not be pickled."""

    def __init__(self, message: str, *, remote_traceback: str = "", **where: object) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]
        self.remote_traceback = remote_traceback


class ViewError(Error):
    """The viewer cannot start, or a page cannot be shown."""


class ServeError(Error):
    """The server cannot start, or refuses a request."""


class UnknownName(ServeError):
    """The server does not offer an environment or task of this name."""


class BadArguments(ServeError, ValueError):
    """A client's arguments are invalid, or may not be set by clients."""


class CapacityReached(ServeError):
    """The server has as many sessions as it may have; ``active`` of ``most``."""

    def __init__(self, message: str, *, active: int = 0, most: int = 0) -> None:
        super().__init__(message)
        self.active, self.most = active, most


class SessionGone(ServeError):
    """There is no such session, or no longer; ``why`` is ``closed``, ``idle``, ``age``, ….

    It is ``unknown`` if there never was one as far as the server knows.
    """

    def __init__(self, message: str, *, why: str = "unknown") -> None:
        super().__init__(message)
        self.why = why


class DeprecatedWrapper(ImportError):
    """A wrapper's old name was imported; the message gives the new one."""


class _PendingCallError(Exception):
    """Base class of the errors about asynchronous calls; ``name`` is the name of the call."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class AlreadyPendingCallError(_PendingCallError):
    """An asynchronous call was started while another one was pending."""


class NoAsyncCallError(_PendingCallError):
    """``*_wait`` was called without ``*_async``."""


class ClosedEnvironmentError(Exception):
    """The environment was used after ``close``."""


class CustomSpaceError(Exception):
    """A custom space has no implementation of the requested operation."""


# Every class but the private ones, so that none is forgotten.
__all__ = [
    *sorted(name for name, item in globals().items() if isinstance(item, type) and name[0] != "_")
]
