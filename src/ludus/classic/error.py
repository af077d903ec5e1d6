"""Gym's exceptions: those of Ludus where both have them, the others defined here.

``Unregistered`` and ``UnregisteredEnv`` are the same class, because only environments are
registered.
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
    """There is no benchmark of that name."""


class NotResetYet(ResetNeeded, AssertionError):
    """``step`` was called before the first ``reset``; Gym raised an ``AssertionError``."""


class APIError(Error):
    """A request to the former web service failed."""


class APIConnectionError(APIError):
    """The web service could not be reached."""


class InvalidRequestError(APIError):
    """The web service rejected the request."""


class AuthenticationError(APIError):
    """The web service rejected the key."""


class RateLimitError(APIError):
    """Too many requests to the web service."""


class VideoRecorderError(Error):
    """A video could not be recorded."""


class InvalidFrame(Error):
    """A frame that cannot be part of the video."""


class WrapAfterConfigureError(Error):
    """An environment was wrapped after it had been configured."""


class RetriesExceededError(Error):
    """An operation failed after several retries."""
