"""Every exception Ludus raises, as one tree.

::

Error:
    ├── UnregisteredEnv
    │   ├── NamespaceNotFound
    │   ├── NameNotFound
    │   └── VersionNotFound
    ├── DeprecatedEnv              an older version than the ones registered
    ├── RegistrationError          a spec that contradicts the registry or itself
    ├── DependencyNotInstalled     (also an ImportError)
    ├── UnsupportedMode            render mode the environment does not offer
    ├── InvalidMetadata
    ├── ResetNeeded                step or render before reset
    │   └── EpisodeOver            (also an AssertionError) step after the end, autoreset disabled
    ├── InvalidAction              (also a ValueError and an AssertionError)
    ├── MissingArgument
    ├── InvalidArgument            (also a TypeError) keyword an entry point does not take
    ├── InvalidProbability
    ├── InvalidBound
    ├── KernelError                a kernel breaks its contract or cannot be compiled
    ├── StateError                 get_state/set_state impossible or inconsistent
    │   └── StateFileError         a file that holds no state, or not this environment's
    ├── CodecError                 (also a ValueError) not plain data, or not its encoding
    │   └── Inadmissible           a value from outside that does not fit what was declared
    ├── UnseedableEnv              ┐
    ├── ResetNotAllowed            │ classic Gym's names, raised by ludus.classic
    ├── DoubleWrapperError         ┘
    ├── SandboxError               a sandbox, or something asked of one, failed
    │   ├── SandboxUnavailable     the backend cannot run on this machine
    │   ├── PolicyNotEnforceable   (also a ValueError) a limit asked for would not hold here
    │   ├── SandboxClosed          the sandbox is gone: closed, out of time or dead
    │   ├── CommandFailed          a checked command ended with a non-zero status
    │   ├── SandboxViolation       hostile data came out of the sandbox
    │   │   └── ContentsExceeded   its files are more than a copy of them may hold
    │   ├── SandboxTimeout         (also a TimeoutError) the sandbox did not answer in time
    │   ├── SandboxCrashed         the sandbox ended by itself: exit, signal, out of memory
    │   └── RemoteEnvError         the environment in the sandbox raised; carries its traceback
    ├── UntrustedEnv               not to be made outside of a sandbox
    ├── RecordError                a run folder, or something asked of one, failed
    │   ├── RecordDamaged          its chain or its bytes are broken
    │   ├── RecordLocked           another process is writing it
    │   └── ReplayImpossible       the run cannot be executed again here
    ├── BenchError                 a benchmark, or something asked of one, failed
    │   ├── SuiteError             (also a ValueError) a suite's file is wrong
    │   ├── AgentFailed            the agent failed in a unit; it counts
    │   ├── ComparisonRefused      the results are not comparable
    │   ├── InfrastructureFailed   something else failed in a unit; it is retried and never counts
    │   └── StoreError             the results store refused or failed
    ├── ResearchError              a research task, or something asked of one, failed
    │   ├── TaskError              (also a ValueError) a task's folder or file is wrong
    │   ├── DataMissing            data that a task needs is not on this machine
    │   ├── SubmissionRejected     what an agent handed in is malformed; its own fault
    │   ├── GradingFailed          grading itself failed, which says nothing about the agent
    │   └── ModelServerError       a model's server failed or refused
    └── WorkerError                a vector environment's worker process failed
        ├── WorkerCrashed          it died without a Python exception
        └── WorkerRaised           the environment raised; carries the remote traceback

    AlreadyPendingCallError, NoAsyncCallError, ClosedEnvironmentError,
    CustomSpaceError               outside the tree, as in Gymnasium
    DeprecatedWrapper              an ImportError
"""

from __future__ import annotations

__all__ = [
    "AgentFailed",
    "AlreadyPendingCallError",
    "BenchError",
    "ClosedEnvironmentError",
    "CodecError",
    "CommandFailed",
    "ComparisonRefused",
    "CustomSpaceError",
    "DataMissing",
    "DependencyNotInstalled",
    "DeprecatedEnv",
    "DeprecatedWrapper",
    "DoubleWrapperError",
    "EpisodeOver",
    "Error",
    "GradingFailed",
    "Inadmissible",
    "InfrastructureFailed",
    "InvalidAction",
    "InvalidArgument",
    "InvalidBound",
    "InvalidMetadata",
    "InvalidProbability",
    "KernelError",
    "MissingArgument",
    "ModelServerError",
    "NameNotFound",
    "NamespaceNotFound",
    "NoAsyncCallError",
    "PolicyNotEnforceable",
    "RecordDamaged",
    "RecordError",
    "RecordLocked",
    "RegistrationError",
    "RemoteEnvError",
    "ReplayImpossible",
    "ResearchError",
    "ResetNeeded",
    "ResetNotAllowed",
    "SandboxClosed",
    "SandboxCrashed",
    "SandboxError",
    "SandboxTimeout",
    "SandboxUnavailable",
    "SandboxViolation",
    "StateError",
    "StateFileError",
    "StoreError",
    "SubmissionRejected",
    "SuiteError",
    "TaskError",
    "UnregisteredEnv",
    "UnseedableEnv",
    "UnsupportedMode",
    "UntrustedEnv",
    "VersionNotFound",
    "WorkerCrashed",
    "WorkerError",
    "WorkerRaised",
]


class Error(Exception):
    """Root of the tree: catch it to catch whatever Ludus itself reports."""


class UnregisteredEnv(Error):
    """The id names no registered environment."""


class NamespaceNotFound(UnregisteredEnv):
    """No environment is registered under the id's namespace."""


class NameNotFound(UnregisteredEnv):
    """The namespace is known, the environment's name is not."""


class VersionNotFound(UnregisteredEnv):
    """The name is known, but not in a version this new."""


class DeprecatedEnv(Error):
    """The requested version is older than every registered one."""


class RegistrationError(Error):
    """The spec cannot join the registry: it contradicts another spec or itself."""


class DependencyNotInstalled(Error, ImportError):
    """A package needed by this feature is missing; the message says what to install."""


class UnsupportedMode(Error):
    """The environment does not offer the requested render mode."""


class InvalidMetadata(Error):
    """The environment's ``metadata`` does not have the required form."""


class ResetNeeded(Error, RuntimeError):
    """``step`` or ``render`` was called before the first ``reset``."""


class InvalidAction(Error, ValueError, AssertionError):
    """The action is not a member of the action space."""


class MissingArgument(Error):
    """An argument that the call needs was not given."""


class InvalidArgument(Error, TypeError):
    """A keyword argument does not fit the entry point's signature."""


class InvalidProbability(Error):
    """A probability outside its allowed interval."""


class InvalidBound(Error):
    """A lower bound that is not below its upper bound."""


class KernelError(Error):
    """A kernel's functions do not fit the contract, or use Python that cannot be compiled.

    Attributes:
        rule: Id of the broken rule, ``None`` if the error is about the kernel as a whole.
        file: The author's file.
        line: The line in it.
        function: The name of the function there.
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
    """The file holds no readable state, or the state of another environment."""


class CodecError(Error, ValueError):
    """A value cannot be encoded, or bytes are not the encoding of a value.

    ``path`` leads to the value (``info['a'][3]``), ``position`` is the byte at which reading
    stopped; each is ``None`` where it does not apply.
    """

    def __init__(
        self, message: str, *, path: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.path = path
        self.position = position


class Inadmissible(CodecError):
    """A value from an untrusted process does not fit the declared space or the limits."""


class UnseedableEnv(Error):
    """Classic Gym: the environment cannot be seeded."""


class EpisodeOver(ResetNeeded, AssertionError):
    """A finished environment was stepped although nothing resets it by itself."""


class ResetNotAllowed(Error):
    """Classic Gym: ``reset`` in the middle of a monitored episode."""


class DoubleWrapperError(Error):
    """Classic Gym: the same wrapper was applied twice."""


class SandboxError(Error):
    """A sandbox could not be made, or could not do what it was asked to."""


class SandboxUnavailable(SandboxError):
    """The backend cannot run here; the message gives found, required and the next step."""


class PolicyNotEnforceable(SandboxError, ValueError):
    """The backend cannot hold the sandbox to some limits of the policy.

    Attributes:
        reasons: why not, by the name of the policy's field.
    """

    def __init__(self, message: str, *, reasons: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class SandboxClosed(SandboxError):
    """The sandbox no longer runs: it was closed, its time was over, or it died."""


class CommandFailed(SandboxError):
    """A command whose success was required ended otherwise; ``completed`` has all of it."""

    def __init__(self, message: str, *, completed: object = None) -> None:
        super().__init__(message)
        self.completed = completed


class SandboxViolation(SandboxError):
    """What came out of the sandbox is not what an honest sandbox sends; nothing of it was used."""


class ContentsExceeded(SandboxViolation):
    """The files of a sandbox are more than a copy may hold: whoever filled it caused this.

    Attributes:
        limit: name of the field of :class:`ludus.sandbox.SnapshotLimits`.
        allowed: its value.
        found: how much there was when the copy was given up; at least this much.
    """

    def __init__(self, message: str, *, limit: str, allowed: int, found: int) -> None:
        super().__init__(message)
        self.limit, self.allowed, self.found = limit, allowed, found


class SandboxTimeout(SandboxError, TimeoutError):
    """The sandbox did not answer in the time it was given, and was closed."""


class SandboxCrashed(SandboxError):
    """The process in the sandbox ended by itself.

    Attributes:
        exit_code: as a shell gives it, 128 + n for signal n; ``None`` if unknown.
        oom_killed: whether the sandbox ran out of memory meanwhile.
    """

    def __init__(
        self, message: str, *, exit_code: int | None = None, oom_killed: bool = False
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.oom_killed = oom_killed


class RemoteEnvError(SandboxError):
    """The environment in a sandbox raised. The sandbox goes on, unless it was about to start.

    Attributes:
        kind: name of the exception's class in the sandbox.
        remote_traceback: its traceback, printable. All of this is the sandbox's word.
    """

    def __init__(self, message: str, *, kind: str = "", remote_traceback: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.remote_traceback = remote_traceback


class UntrustedEnv(Error):
    """The environment's code is not trusted, and was asked for outside of a sandbox."""


class RecordError(Error):
    """A run folder cannot be written or read, or cannot do what it was asked to."""


class RecordDamaged(RecordError):
    """A run folder's hash chain or bytes are broken; the message says where.

    Attributes:
        file: of the run folder, ``None`` where the folder itself is meant.
        position: the line of ``events.jsonl``, from 1, or the byte of another file.
    """

    def __init__(
        self, message: str, *, file: str | None = None, position: int | None = None
    ) -> None:
        super().__init__(message)
        self.file = file
        self.position = position


class RecordLocked(RecordError):
    """Another process is writing the run folder."""


class ReplayImpossible(RecordError):
    """The run cannot be executed again here; the message says why."""


class BenchError(Error):
    """A benchmark cannot be run, stored or reported."""


class AgentFailed(BenchError):
    """The agent raised, gave an invalid action, or took too long. It counts, and is not retried."""


class InfrastructureFailed(BenchError):
    """Something else failed: a worker, a disk, the environment. It is retried and never counts."""


class SuiteError(BenchError, ValueError):
    """A suite's file is wrong; the message names the file, the field and the fix."""


class ComparisonRefused(BenchError):
    """The results do not answer the question; the message says why and how to ask anyway.

    Attributes:
        reasons: one sentence each, by the word that allows it.
    """

    def __init__(self, message: str, *, reasons: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons = dict(reasons or {})


class StoreError(BenchError):
    """The results store refused what it was given, or failed."""


class ResearchError(Error):
    """A research task cannot be loaded, run or graded."""


class TaskError(ResearchError, ValueError):
    """A task's folder or file is wrong; the message names the file, the field and the fix."""


class DataMissing(ResearchError):
    """Data that a task needs is not here; the message says what, and how to get it."""


class SubmissionRejected(ResearchError):
    """What an agent handed in is malformed; the message says what and where.

    Attributes:
        told: What the agent may read of it after a validation. It must hold nothing that submitted
            code has chosen, since that has seen hidden data. ``None``: the message itself where no
            submitted code was asked, else nothing in particular.
    """

    def __init__(self, *args: object, told: str | None = None) -> None:
        super().__init__(*args)
        self.told = told


class GradingFailed(ResearchError):
    """Grading failed for no fault of the agent; there is no score."""


class ModelServerError(ResearchError):
    """A model's server could not be reached, failed or refused."""


class WorkerError(Error):
    """A worker process of a vector environment failed.

    The attributes say as much as is known of the moment of failure; ``None`` means unknown.
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
        self.worker = worker
        self.env_index = env_index
        self.seed = seed
        self.last_action = last_action


class WorkerCrashed(WorkerError):
    """A worker died without raising: killed by a signal, or it called exit."""

    def __init__(self, message: str, *, exit_code: int | None = None, **where: object) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]
        self.exit_code = exit_code


class WorkerRaised(WorkerError):
    """An environment raised in a worker and the original exception could not be carried over."""

    def __init__(self, message: str, *, remote_traceback: str = "", **where: object) -> None:
        super().__init__(message, **where)  # type: ignore[arg-type]
        self.remote_traceback = remote_traceback


class DeprecatedWrapper(ImportError):
    """A wrapper's old name was imported; the message gives the new one."""


class _PendingCallError(Exception):
    """Base of the two errors about asynchronous calls; ``name`` is the call's name."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


class AlreadyPendingCallError(_PendingCallError):
    """An asynchronous call was started while another one is still pending."""


class NoAsyncCallError(_PendingCallError):
    """A ``*_wait`` call without the matching ``*_async`` call before it."""


class ClosedEnvironmentError(Exception):
    """The environment was used after ``close``."""


class CustomSpaceError(Exception):
    """A custom space has no implementation of the requested operation."""
