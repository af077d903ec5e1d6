"""Every public name of Gymnasium exists here, with the same parameter names in the same order."""

from __future__ import annotations

import importlib
import inspect
import warnings

import pytest

MODULES = [
    "",
    ".core",
    ".spaces",
    ".spaces.utils",
    ".wrappers",
    ".wrappers.utils",
    ".wrappers.vector",
    ".vector",
    ".vector.utils",
    ".error",
    ".logger",
    ".envs.registration",
    ".experimental.functional",
    ".utils",
    ".utils.colorize",
    ".utils.env_checker",
    ".utils.env_match",
    ".utils.ezpickle",
    ".utils.passive_env_checker",
    ".utils.performance",
    ".utils.play",
    ".utils.record_constructor",
    ".utils.save_video",
    ".utils.seeding",
    ".utils.step_api_compatibility",
]
OPTIONAL = {"VectorEnv.close_extras"}
"""Methods whose extra keywords we accept by ``**kwargs`` in the base class."""


def public_names(module):
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return sorted(declared)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and (value is not None or name == "current_namespace")  # else a module that is missing
        and name != "TYPE_CHECKING"
        and type(value).__name__ != "TypeVar"
        and getattr(value, "__module__", module.__name__) == module.__name__
    )


def cases():
    for suffix in MODULES:
        with warnings.catch_warnings():
            # Gymnasium asks matplotlib for a window when imported, which may be refused.
            warnings.simplefilter("ignore")
            module = importlib.import_module(f"gymnasium{suffix}")
        for name in public_names(module):
            yield suffix, name


CASES = list(cases())


@pytest.mark.parametrize(("suffix", "name"), CASES, ids=lambda part: part or "gymnasium")
def test_name_exists(suffix, name):
    ours = importlib.import_module(f"ludus{suffix}")
    assert hasattr(ours, name), f"ludus{suffix}.{name} is missing"


def parameters(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def compatible(theirs, ours):
    """Whether every call that fits their signature fits ours."""
    ours_by_name = {p.name: p for p in ours}
    kinds = {p.kind for p in ours}
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    order = [p.name for p in ours if p.kind in positional]
    for index, parameter in enumerate(p for p in theirs if p.kind in positional):
        if index >= len(order):
            if inspect.Parameter.VAR_POSITIONAL not in kinds:
                return f"no parameter {parameter.name} at position {index}"
        elif order[index] != parameter.name:
            return f"position {index} is {order[index]}, theirs {parameter.name}"
    for parameter in theirs:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and (
            parameter.name not in ours_by_name and inspect.Parameter.VAR_KEYWORD not in kinds
        ):
            return f"no keyword {parameter.name}"
    required = [
        p.name
        for p in ours
        if p.default is p.empty
        and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        and p.name not in {q.name for q in theirs}
    ]
    return f"requires {required}" if required else ""


@pytest.mark.parametrize(("suffix", "name"), CASES, ids=lambda part: part or "gymnasium")
def test_parameters(suffix, name):
    theirs = getattr(importlib.import_module(f"gymnasium{suffix}"), name)
    ours = getattr(importlib.import_module(f"ludus{suffix}"), name)
    if not callable(theirs) or type(theirs).__name__ == "TypeVar":
        return
    problems = [f"{name}: {p}" if (p := compatible(parameters(theirs), parameters(ours))) else ""]
    if inspect.isclass(theirs):
        for method, function in inspect.getmembers(theirs):
            if method.startswith("_") or not callable(function) or inspect.isclass(function):
                continue
            if not hasattr(ours, method):
                problems.append(f"{name}.{method} is missing")
            elif f"{name}.{method}" not in OPTIONAL:
                problem = compatible(parameters(function), parameters(getattr(ours, method)))
                problems.append(f"{name}.{method}: {problem}" if problem else "")
    assert not [problem for problem in problems if problem]


@pytest.mark.parametrize(("suffix", "name"), CASES, ids=lambda part: part or "gymnasium")
def test_class_attributes_and_bases(suffix, name):
    theirs = getattr(importlib.import_module(f"gymnasium{suffix}"), name)
    ours = getattr(importlib.import_module(f"ludus{suffix}"), name)
    if not inspect.isclass(theirs):
        return
    missing = [
        attribute
        for attribute, value in inspect.getmembers(theirs)
        if not attribute.startswith("_") and not hasattr(ours, attribute)
    ]
    assert not set(missing) - {"name", "value"}  # of enumerations, there on their members only
    kept = {base.__name__ for base in ours.__mro__}
    exceptions = {base.__name__ for base in theirs.__mro__ if issubclass(base, BaseException)}
    contracts = {"Env", "Wrapper", "Space", "VectorEnv", "VectorWrapper", "Mapping", "Sequence"}
    assert exceptions | ({base.__name__ for base in theirs.__mro__} & contracts) <= kept
