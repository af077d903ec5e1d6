"""Graders for ``openenv validate``: the checks of OpenEnv's RFC 008 that it leaves to others.

OpenEnv's registry of graders finds them by the entry points ``openenv.validation.graders``, one for
each check, whatever package is validated. ``static`` reads the package, ``runtime`` talks to the
running server, and ``semantic`` looks at what rewards mean. Not here are the checks that need two
builds or two machines (``static.reproducible_build``, ``semantic.verifier_portability``) and
``runtime.rubric_introspectable``, which no message of the protocol can answer.
"""
