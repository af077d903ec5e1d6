from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp, mpf

from ludus.kernel import math as kernel_math

INF, NAN = math.inf, math.nan
TINY, LEAST, MOST = 5e-324, 2.0**-1022, 1.7976931348623157e308
ONE_ARGUMENT = ("atan", "cos", "exp", "floor", "log", "sin", "sqrt", "tan", "tanh")
ALL = (*ONE_ARGUMENT, "atan2", "sincos")
EDGES = [
    sign * size
    for size in (0.0, TINY, 3e-310, LEAST, 1e-300, 1e-20, 0.5, 1.0, 1.5, 2.5, 20.0, 22.0, 709.78)
    + (709.79, 708.4, 745.1, 745.2, 746.0, 2.0**18, 2.0**40, 2.0**41, 2.0**51, 2.0**52 - 0.5)
    + (2.0**52, 2.0**53 + 2, 1e22, 1e300, MOST, INF, NAN)
    for sign in (1.0, -1.0)
]


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def near_quarter_turns(counts: Any) -> np.ndarray:
    """The doubles around multiples of pi/2, where a careless reduction loses every digit."""
    with mp.workprec(200):
        nearest = np.array([float(int(n) * mp.pi / 2) for n in counts])
    return np.concatenate([nearest, np.nextafter(nearest, INF), np.nextafter(nearest, 0.0)])


def both_signs(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, -values])


def spread(low: float, high: float, n: int) -> np.ndarray:
    """Numbers of all magnitudes between two powers of two."""
    return np.exp2(rng().uniform(low, high, n))


N = 3000
# The nearest misses of pi/2's multiples up to 2**18, relative to their number and at all.
WORST_TURNS = (204551, 58285, 29)
ANGLES = {
    "|x| < pi/4": rng().uniform(-0.785, 0.785, N),
    "|x| < 10": rng().uniform(-10, 10, 2 * N),
    "|x| < 4e5": rng().uniform(-4e5, 4e5, N),
    "every size": both_signs(spread(-1074, 18, N)),
    "near pi/2": both_signs(
        near_quarter_turns([*range(1, 300), *rng().integers(1, 2**18, 300), *WORST_TURNS])
    ),
    "near pi/4": np.outer(np.arange(-49, 50, 2) * math.pi / 4, 1 + rng().uniform(-1e-3, 1e-3, 60)),
}
# Function, its exact twin, range, arguments, bound on the error in ulp of the exact value.
ACCURACY = [
    *(
        (name, getattr(mpmath, name), label, angles.ravel(), bound)
        for name, bound in (("sin", 1.05), ("cos", 1.05), ("tan", 0.9))
        for label, angles in ANGLES.items()
    ),
    ("exp", mpmath.exp, "|x| < 1", rng().uniform(-1, 1, N), 0.9),
    ("exp", mpmath.exp, "normal", rng().uniform(-708.3, 709.78271289338, N), 0.9),
    ("exp", mpmath.exp, "subnormal", rng().uniform(-745.1, -708.4, N), 0.9),
    ("exp", mpmath.exp, "tiny", both_signs(spread(-1074, 0, N)), 0.9),
    ("log", mpmath.log, "every size", spread(-1074, 1024, 2 * N), 0.9),
    ("log", mpmath.log, "near 1", rng().uniform(0.5, 2, N), 0.9),
    ("log", mpmath.log, "very near 1", 1.0 + both_signs(spread(-52, -2, N)), 0.9),
    ("tanh", mpmath.tanh, "|x| < 1", rng().uniform(-1, 1, N), 0.9),
    ("tanh", mpmath.tanh, "|x| < 22", rng().uniform(-22, 22, N), 0.9),
    ("tanh", mpmath.tanh, "every size", both_signs(spread(-1074, 10, N)), 0.9),
    ("atan", mpmath.atan, "|x| < 5", rng().uniform(-5, 5, N), 0.7),
    ("atan", mpmath.atan, "every size", both_signs(spread(-1074, 1024, N)), 0.7),
    ("sqrt", mpmath.sqrt, "every size", spread(-1074, 1024, N), 0.5),
]


def error(value: float, exact: Any) -> float:
    """The distance of a double from an exact value in units of that value's last place."""
    exponent = max(mpmath.frexp(exact)[1] - 53, -1074)
    return float(mpmath.ldexp(abs(mpf(value) - exact), -exponent))


@pytest.mark.parametrize(
    ("name", "exact", "arguments", "bound"),
    [pytest.param(n, e, a, b, id=f"{n} {label}") for n, e, label, a, b in ACCURACY],
)
def test_accuracy(
    name: str, exact: Callable[[Any], Any], arguments: np.ndarray, bound: float
) -> None:
    function = getattr(kernel_math, name)
    with mp.workprec(200):
        for x in arguments.tolist():
            value, truth = function(x), exact(mpf(x))
            assert error(value, truth) <= bound, x
            assert abs(value - float(truth)) <= math.ulp(float(truth)), x


@pytest.mark.parametrize("size", ["near 1", "every size"])
def test_accuracy_of_atan2(size: str) -> None:
    points = rng().normal(size=(N, 2))
    if size == "every size":
        points = np.exp2(rng().uniform(-1074, 1024, (N, 2))) * np.sign(points)
    with mp.workprec(200):
        for y, x in points.tolist():
            truth = mpmath.atan2(mpf(y), mpf(x))
            assert error(kernel_math.atan2(y, x), truth) <= 0.7, (y, x)


def test_large_angles_belong_to_a_neighbour() -> None:
    with mp.workprec(200):
        for x in both_signs(spread(18.7, 40, N)).tolist():
            s, c = kernel_math.sincos(x)
            around = mpmath.atan2(mpf(s), mpf(c)) - mpf(x)
            turns = mpmath.nint(around / (2 * mp.pi))
            assert abs(around - turns * 2 * mp.pi) <= math.ulp(x) + 2.0**-52, x
            assert abs(s) <= 1.0 >= abs(c)
            assert abs(s * s + c * c - 1.0) < 1e-11


@pytest.mark.parametrize("k", range(-540, 541, 5))
def test_powers_of_two(k: int) -> None:
    for whole in range(k, k + 5):
        assert kernel_math._power_of_two(float(whole)) == 2.0**whole


def bits(values: Any) -> list[int]:
    """The bits of doubles, so that NaNs and signed zeros can be compared."""
    return np.atleast_1d(np.asarray(values, np.float64)).view(np.int64).tolist()


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        *(
            (name, x, x)
            for name in ("sin", "tan", "tanh", "atan")
            for x in (0.0, -0.0, TINY, -TINY)
        ),
        *((name, x, NAN) for name in ("sin", "cos", "tan") for x in (INF, -INF, NAN, -NAN, 2e12)),
        *(("cos", x, 1.0) for x in (0.0, -0.0, TINY, 1e-9)),
        *(("exp", x, 1.0) for x in (0.0, -0.0, TINY, -1e-17)),
        *(("exp", x, INF) for x in (709.7827128933841, 1e9, MOST, INF)),
        *(("exp", x, 0.0) for x in (-745.1332191019412, -1e9, -MOST, -INF)),
        ("exp", -745.1332191019411, TINY),
        ("exp", -NAN, NAN),
        *(("log", x, NAN) for x in (-TINY, -1.0, -INF, NAN, -NAN)),
        *(("log", x, -INF) for x in (0.0, -0.0)),
        ("log", 1.0, 0.0),
        ("log", INF, INF),
        *(("sqrt", x, x) for x in (0.0, -0.0, 1.0, INF)),
        *(("sqrt", x, NAN) for x in (-TINY, -1.0, -INF, NAN, -NAN)),
        *(("tanh", x, math.copysign(1.0, x)) for x in (20.0, -20.0, 1e300, INF, -INF)),
        ("tanh", -NAN, NAN),
        *(("atan", x, math.copysign(math.pi / 2, x)) for x in (1e17, -MOST, INF, -INF)),
        ("atan", -NAN, NAN),
        ("floor", -0.0, -0.0),
        ("floor", -0.3, -1.0),
        ("floor", 0.9999999999999999, 0.0),
        ("floor", -NAN, NAN),
        *(("floor", x, x) for x in (INF, -INF, MOST, -MOST, 2.0**52, -(2.0**53) - 2.0)),
    ],
)
def test_special_values(name: str, x: float, expected: float) -> None:
    assert bits(getattr(kernel_math, name)(x)) == bits(expected)


def test_atan2_of_special_points() -> None:
    ends = (0.0, -0.0, TINY, -TINY, 1.0, -1.0, MOST, -MOST, INF, -INF)
    for y in ends:
        for x in ends:
            expected = math.atan2(y, x)
            if expected != 0.0 and abs(expected) < LEAST:
                assert abs(kernel_math.atan2(y, x) - expected) <= TINY
            else:
                assert bits(kernel_math.atan2(y, x)) == bits(expected), (y, x)
        assert bits(kernel_math.atan2(y, -NAN)) == bits(kernel_math.atan2(-NAN, y)) == bits(NAN)


def test_floor() -> None:
    values = np.concatenate([both_signs(spread(-5, 54, N)), np.arange(-50, 50) / 4])
    assert bits([kernel_math.floor(x) for x in values.tolist()]) == bits(np.floor(values))


@cache
def compiled(function: FunctionType) -> Any:
    """Compile a function with those it calls, as the engine does."""
    numba = pytest.importorskip("numba")
    names = {
        name: compiled(value) if isinstance(value, FunctionType) else value
        for name, value in function.__globals__.items()
        if name in function.__code__.co_names
    }
    twin = FunctionType(function.__code__, names, function.__name__)
    return numba.njit(twin, error_model="numpy", forceinline=True)


@cache
def over_arrays(name: str) -> Any:
    numba = pytest.importorskip("numba")
    function = compiled(getattr(kernel_math, name))

    def single(a, b, out, other):
        for i in range(a.size):
            out[i] = function(a[i])

    def with_two_arguments(a, b, out, other):
        for i in range(a.size):
            out[i] = function(a[i], b[i])

    def with_two_results(a, b, out, other):
        for i in range(a.size):
            out[i], other[i] = function(a[i])

    loop = {"atan2": with_two_arguments, "sincos": with_two_results}.get(name, single)
    signature = "void(f8[::1], f8[::1], f8[::1], f8[::1])"
    return numba.njit(signature, error_model="numpy")(loop)


@cache
def many_arguments() -> np.ndarray:
    draw = rng()
    anything = draw.integers(-(2**63), 2**63, 40_000, np.int64).view(np.float64)
    anything[anything != anything] = NAN
    return np.concatenate(
        [
            np.array(EDGES),
            draw.uniform(-4, 4, 80_000),
            draw.uniform(-800, 800, 30_000),
            both_signs(spread(-1074, 1024, 20_000)),
            both_signs(near_quarter_turns(range(1, 2000))),
            anything,
        ]
    )


@pytest.mark.parametrize("name", ALL)
def test_plain_and_compiled_give_the_same_bits(name: str) -> None:
    loop, function = over_arrays(name), getattr(kernel_math, name)
    a = many_arguments()
    assert a.size >= 200_000
    b = rng().permutation(a)
    out, other = np.zeros_like(a), np.zeros_like(a)
    loop(a, b, out, other)
    few = rng().integers(0, a.size, 3000)
    if name == "atan2":
        plain = [function(y, x) for y, x in zip(a.tolist(), b.tolist(), strict=True)]
        scalar = [compiled(function)(a[i], b[i]) for i in few]
    elif name == "sincos":
        plain, cosines = zip(*map(function, a.tolist()), strict=True)
        assert bits(other) == bits(cosines)
        scalar = [compiled(function)(a[i])[0] for i in few]
    else:
        plain = [function(x) for x in a.tolist()]
        scalar = [compiled(function)(a[i]) for i in few]
    assert bits(out) == bits(plain)
    assert bits(out[few]) == bits(scalar)


@pytest.mark.parametrize("name", ALL)
def test_loops_vectorise_and_fuse_nothing(name: str) -> None:
    loop = over_arrays(name)
    features = pytest.importorskip("llvmlite.binding").get_host_cpu_features()
    if not features.get("avx2", False):
        pytest.skip("with two lanes the compiler may find a scalar loop cheaper")
    (signature,) = loop.signatures
    operation = "sqrt" if name == "sqrt" else "fadd"
    assert re.search(rf"{operation}[^\n]*<\d+ x double>", loop.inspect_llvm(signature))
    assert "vfm" not in loop.inspect_asm(signature)


def test_sine_and_cosine_of_one_angle_share_their_work() -> None:
    both = over_arrays("sincos")
    numba = pytest.importorskip("numba")
    sine, cosine = compiled(kernel_math.sin), compiled(kernel_math.cos)

    def loop(a, b, out, other):
        for i in range(a.size):
            x = a[i]
            out[i], other[i] = sine(x), cosine(x)

    apart = numba.njit(both.signatures, error_model="numpy")(loop)
    (signature,) = both.signatures
    counts = [f.inspect_llvm(signature).count("fmul <") for f in (apart, both)]
    assert 0 < counts[0] <= counts[1]
