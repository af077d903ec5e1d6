"""Classic Gym's exceptions: Ludus's where both have them, the others here.

``Unregistered`` and ``UnregisteredEnv`` are one class: nothing else was ever registered but the
benchmarks of the first versions.
"""

from __future__ import annotations

from ludus.errors import (
    AlreadyPendingCallError,
    ClosedEnvironmentError,
    CustomSpaceError,
    DependencyNotInstalled,
    DeprecatedEnv,
    DoubleWrapperError,
    Error,
    InvalidAction,
    NoAsyncCallError,
    ResetNeeded,
    ResetNotAllowed,
    UnregisteredEnv,
    UnseedableEnv,
    UnsupportedMode,
)

__all__ = [
    "APIConnectionError",
    "APIError",
    "AlreadyPendingCallError",
    "AuthenticationError",
    "ClosedEnvironmentError",
    "CustomSpaceError",
    "DependencyNotInstalled",
    "DeprecatedEnv",
    "DoubleWrapperError",
    "Error",
    "InvalidAction",
    "InvalidFrame",
    "InvalidRequestError",
    "NoAsyncCallError",
    "NotResetYet",
    "RateLimitError",
    "ResetNeeded",
    "ResetNotAllowed",
    "RetriesExceededError",
    "Unregistered",
    "UnregisteredBenchmark",
    "UnregisteredEnv",
    "UnseedableEnv",
    "UnsupportedMode",
    "VideoRecorderError",
    "WrapAfterConfigureError",
]

Unregistered = UnregisteredEnv


class UnregisteredBenchmark(Unregistered):
    """No benchmark of that name."""


class NotResetYet(ResetNeeded, AssertionError):
    """``step`` before the first ``reset``; classic Gym asserted this."""


class APIError(Error):
    """A request to the former web service failed."""


class APIConnectionError(APIError):
    """The web service could not be reached."""


class InvalidRequestError(APIError):
    """The web service did not accept the request."""


class AuthenticationError(APIError):
    """The web service did not accept the key."""


class RateLimitError(APIError):
    """Too many requests to the web service."""


class VideoRecorderError(Error):
    """A video could not be recorded."""


class InvalidFrame(Error):
    """A frame that cannot be part of the video."""


class WrapAfterConfigureError(Error):
    """An environment was wrapped after it had been configured."""


class RetriesExceededError(Error):
    """An operation was tried too often without success."""
