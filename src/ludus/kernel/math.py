"""Elementary functions for kernels, the same bits everywhere.

The C library's functions differ in their last bits from one machine and version to the next, and a
call to them keeps a loop scalar. These are written in additions, subtractions, multiplications,
divisions, square roots, comparisons and signs of doubles alone, each of which IEEE 754 defines to
the last bit. So plain Python and compiled code agree bit for bit, and a compiled loop vectorises:
nothing here branches (a conditional expression chooses between values that are both at hand), loops
or turns a float into an integer.

Compile with ``forceinline=True``, since a call that is left standing keeps a loop scalar; with
``error_model="numpy"``, since no divisor here is zero but the test for it would do the same; and
without ``fastmath``, which would fuse and reorder operations.

Unless a docstring says otherwise, a result differs by at most one unit in the last place (ulp) from
the exact value rounded to a double. Nothing here raises: outside a function's domain the result is
NaN, always with the same bits.
"""

from __future__ import annotations

from math import copysign, inf, nan
from math import sqrt as _ieee_sqrt

__all__ = [
    "atan",
    "atan2",
    "cos",
    "exp",
    "floor",
    "log",
    "sin",
    "sincos",
    "sqrt",
    "tan",
    "tanh",
]

# Added to a double below 2**51 in size it leaves no bits for a fraction: subtracting it again gives
# the nearest integer. Its multiples do the same for multiples of 2 and of 4.
_ROUND = 6755399441055744.0
_ROUND_TO_2 = 2.0 * _ROUND
_ROUND_TO_4 = 4.0 * _ROUND
# Veltkamp's constants: _SPLIT cuts a double into halves whose products are exact, _LEADING keeps
# the leading bit alone.
_SPLIT = 134217729.0
_LEADING = 4503599627370497.0

# pi/2 in three parts. The first two have 18 trailing zero bits: their products with a number of
# quarter turns up to 2**18 are exact.
_TWO_OVER_PI = 0.6366197723675814
_QUARTER_1 = float.fromhex("0x1.921fb54440000p+0")
_QUARTER_2 = float.fromhex("0x1.68c234c4c0000p-39")
_QUARTER_3 = float.fromhex("0x1.98a2e03707345p-77")
# Beyond it the parts above are too short; neighbouring doubles are 0.0002 radians apart there.
_LARGEST_ANGLE = 1099511627776.0

# pi/4 in two parts. The first has three trailing zero bits: its multiples up to 4 are exact.
_EIGHTH_1 = float.fromhex("0x1.921fb54442d18p-1")
_EIGHTH_2 = float.fromhex("0x1.1a62633145c07p-55")

_LOG2_E = 1.4426950408889634
_LN2_1 = 6.93147180369123816490e-01
_LN2_2 = 1.90821492927058770002e-10


def _halves(x: float) -> tuple[float, float]:
    """Return two doubles of half the digits whose sum is x."""
    big = _SPLIT * x
    upper = big - (big - x)
    return upper, x - upper


def _divide(n: float, n_low: float, d: float, d_low: float) -> tuple[float, float]:
    """Return (n + n_low) / (d + d_low) as the nearest double and the remaining error."""
    inverse = 1.0 / d
    quotient = n * inverse
    q1, q2 = _halves(quotient)
    d1, d2 = _halves(d)
    rest = (((n - q1 * d1) - q1 * d2) - q2 * d1) - q2 * d2
    low = (rest + (n_low - quotient * d_low)) * inverse
    total = quotient + low
    return total, (quotient - total) + low


def _quarter_turns(x: float) -> tuple[float, float, float]:
    """Return n, r, t with x = n * pi/2 + r - t, n whole and |r| at most about pi/4."""
    n = (x * _TWO_OVER_PI + _ROUND) - _ROUND
    first = x - n * _QUARTER_1
    second = n * _QUARTER_2
    r = first - second
    return n, r, n * _QUARTER_3 - ((first - r) - second)


def _sine(r: float, t: float, z: float) -> float:
    """Return r - sin(r - t) for |r| up to pi/4 and z = r * r."""
    p = 2.75573137070700676789e-06 + z * (
        -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    )
    p = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * p)
    # In this order a zero keeps its sign.
    return t - (z * r) * (-1.66666666666666324348e-01 + z * p)


def _cosine(r: float, t: float, z: float) -> float:
    """Return cos(r - t) - 1 + z / 2 for |r| up to pi/4 and z = r * r."""
    p = -2.75573143513906633035e-07 + z * (
        2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    )
    p = -1.38888888888741095749e-03 + z * (2.48015872894767294178e-05 + z * p)
    p = 4.16666666666666019037e-02 + z * p
    return z * (z * p) + r * t


def sincos(x: float) -> tuple[float, float]:
    """Return the sine and the cosine of ``x`` radians.

    Within one ulp for |x| up to 400,000. From there on the result belongs to an angle within one
    ulp of ``x``; beyond 2**40 it is NaN.
    """
    n, r, t = _quarter_turns(x)
    z = r * r
    s = r - _sine(r, t, z)
    c = 1.0 - (0.5 * z - _cosine(r, t, z))
    # n modulo 4, from -2 to 2. If it is even, 1 - |q| is the sign of both, if odd, it is zero.
    q = n - ((n + _ROUND_TO_4) - _ROUND_TO_4)
    sign = 1.0 - abs(q)
    odd = sign == 0.0
    sign = q if odd else sign
    usable = abs(x) <= _LARGEST_ANGLE
    sine = sign * (c if odd else s)
    cosine = sign * (-s if odd else c)
    return sine if usable else nan, cosine if usable else nan


def sin(x: float) -> float:
    """Return the sine of ``x`` radians; see :func:`sincos` for its reach."""
    return sincos(x)[0]


def cos(x: float) -> float:
    """Return the cosine of ``x`` radians; see :func:`sincos` for its reach."""
    return sincos(x)[1]


def tan(x: float) -> float:
    """Return the tangent of ``x`` radians; see :func:`sincos` for its reach."""
    usable = abs(x) <= _LARGEST_ANGLE
    n, r, t = _quarter_turns(x if usable else 1.0)
    # A quotient adds up the errors of sine and cosine, so both are carried beyond a double.
    r1, r2 = _halves(r)
    z = r * r
    z_low = ((r1 * r1 - z) + 2.0 * r1 * r2) + r2 * r2
    half = 0.5 * z
    low = _sine(r, t * (1.0 - half), z)
    s = r - low
    s_low = (r - s) - low
    w = 1.0 - half
    low = ((1.0 - w) - half) + (_cosine(r, t, z) - 0.5 * z_low)
    c = w + low
    c_low = (w - c) + low
    odd = n != (n + _ROUND_TO_2) - _ROUND_TO_2
    d = s if odd else c
    # Far outside the exact range the parts of an angle might cancel.
    d = d if d != 0.0 else 2.0**-60
    result = _divide(-c if odd else s, -c_low if odd else s_low, d, s_low if odd else c_low)[0]
    return (result if x != 0.0 else x) if usable else nan


def atan2(y: float, x: float) -> float:
    """Return the angle of the point (``x``, ``y``) in radians, from -pi to pi.

    Zeros and infinities of either sign are treated as C's atan2 treats them.
    """
    width = abs(x)
    height = abs(y)
    steep = height > width
    long = height if steep else width
    short = width if steep else height
    short = (1.0 if short == inf else 0.0) if long == inf else short
    long = 1.0 if long == inf else (1.0 if long == 0.0 else long)
    # Keeps the division's residue clear of overflow and underflow.
    scale = 2.0**500 if long < 2.0**400 else (2.0**-60 if long > 2.0**990 else 1.0)
    long = long * scale
    short = short * scale
    # atan(s / l) = pi/4 + atan((s - l) / (s + l)); the polynomial serves up to tan(pi/8).
    turned = short > 0.41421356237309503 * long
    less = short - long
    more = short + long
    t, t_low = _divide(
        less if turned else short,
        short - (less + long) if turned else 0.0,
        more if turned else long,
        short - (more - long) if turned else 0.0,
    )
    t_low = t_low * (1.0 - t * t) - _arctangent(t)
    # Mirror the angle, eighths * pi/4 + sign * (t + t_low), at the diagonal and at the axis.
    left = copysign(1.0, x) < 0.0
    eighths = 1.0 if turned else 0.0
    eighths = 2.0 - eighths if steep else eighths
    eighths = 4.0 - eighths if left else eighths
    sign = (1.0 if left else -1.0) if steep else (-1.0 if left else 1.0)
    base = eighths * _EIGHTH_1
    angle = base + sign * t
    low = (base - angle) + sign * t
    angle = angle + (low + (eighths * _EIGHTH_2 + sign * t_low))
    reach = width + height
    return copysign(angle, y) if reach == reach else nan


def _arctangent(t: float) -> float:
    """Return t - atan(t) for |t| up to tan(pi/8)."""
    z = t * t
    p = -3.65315727442169155270e-02 + z * 1.62858201153657823623e-02
    p = -5.83357013379057348645e-02 + z * (4.97687799461593236017e-02 + z * p)
    p = -7.69187620504482999495e-02 + z * (6.66107313738753120669e-02 + z * p)
    p = -1.11111104054623557880e-01 + z * (9.09088713343650656196e-02 + z * p)
    p = -1.99999999998764832476e-01 + z * (1.42857142725034663711e-01 + z * p)
    return (t * z) * (3.33333333333329318027e-01 + z * p)


def atan(x: float) -> float:
    """Return the angle from -pi/2 to pi/2 whose tangent is ``x``."""
    return atan2(x, 1.0)


def _power_of_two(k: float) -> float:
    """Return 2.0**k for whole k with |k| up to 540.

    An approximation of 2**(k / 512), squared nine times, is close enough that keeping its leading
    bit gives the power itself.
    """
    u = k * 0.0013538030870311430
    p = 0.17244573751325334 + u * 0.04262671077525709
    p = 1.0 + u * (0.9992062755181094 + u * (0.49986824936116625 + u * p))
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    p = p * p
    big = _LEADING * p
    return big - (big - p)


def _exponential(x: float) -> tuple[float, float, float]:
    """Return k, r, s with e**x = 2**k * (1 + r + s), k whole and |r| at most ln(2) / 2."""
    k = (x * _LOG2_E + _ROUND) - _ROUND
    first = x - k * _LN2_1
    second = k * _LN2_2
    r = first - second
    p = 2.5105312729622103e-08 + r * 2.09147553258932e-09
    p = 2.755725517000089e-06 + r * (2.755727347871858e-07 + r * p)
    p = 0.0001984126987500228 + r * (2.480158732567746e-05 + r * p)
    p = 0.008333333333326084 + r * (0.0013888888888883711 + r * p)
    p = 0.1666666666666667 + r * (0.04166666666666667 + r * p)
    return k, r, ((first - r) - second) + (r * r) * (0.5 + r * p)


def exp(x: float) -> float:
    """Return e to the power of ``x``, infinity or zero where that is out of a double's range."""
    bounded = 710.0 if x > 710.0 else (-746.0 if x < -746.0 else x)
    k, r, s = _exponential(bounded)
    # In two equal steps, since 2**k alone may be out of range where the result is not.
    even = (k + _ROUND_TO_2) - _ROUND_TO_2
    left = k - even
    step = _power_of_two(0.5 * even)
    result = (1.0 + (r + s)) * (2.0 if left > 0.0 else (0.5 if left < 0.0 else 1.0)) * step * step
    return result if x == x else nan


def tanh(x: float) -> float:
    """Return the hyperbolic tangent of ``x``."""
    size = abs(x)
    # (e**2x - 1) / (e**2x + 1), which is 1 to the last bit from here on.
    k, r, s = _exponential(2.0 * (20.0 if size > 20.0 else size))
    power = _power_of_two(k)
    less = power - 1.0
    rise = power * r
    total = less + rise
    # Exact, since the first is the larger unless it is 0.
    low = ((less - total) + rise) + power * s
    n = total + low
    n_low = (total - n) + low
    d = n + 2.0
    d_low = ((2.0 - d) + n if n < 2.0 else (n - d) + 2.0) + n_low
    result = _divide(n, n_low, d, d_low)[0]
    return copysign(result, x) if x == x else nan


def _step(m: float, k: float, power: float, size: float) -> tuple[float, float]:
    """Return m / power, k + size if m is not below power = 2**size, else m, k."""
    inverse = 1.0 / power
    reached = m >= power
    return m * (inverse if reached else 1.0), k + (size if reached else 0.0)


def log(x: float) -> float:
    """Return the natural logarithm of ``x``: -infinity for zero, NaN below."""
    m = 1.0 if x <= 0.0 else (x if x < inf else 1.0)
    k = -1000.0 if m < 1.0 else 0.0
    m = m * (2.0**1000 if m < 1.0 else 1.0)
    k = k - (80.0 if m < 1.0 else 0.0)
    m = m * (2.0**80 if m < 1.0 else 1.0)
    m, k = _step(m, k, 2.0**512, 512.0)
    m, k = _step(m, k, 2.0**256, 256.0)
    m, k = _step(m, k, 2.0**128, 128.0)
    m, k = _step(m, k, 2.0**64, 64.0)
    m, k = _step(m, k, 2.0**32, 32.0)
    m, k = _step(m, k, 2.0**16, 16.0)
    m, k = _step(m, k, 2.0**8, 8.0)
    m, k = _step(m, k, 2.0**4, 4.0)
    m, k = _step(m, k, 2.0**2, 2.0)
    m, k = _step(m, k, 2.0, 1.0)
    upper = m > 1.4142135623730951
    f = m * (0.5 if upper else 1.0) - 1.0
    k = k + (1.0 if upper else 0.0)
    s = f / (2.0 + f)
    z = s * s
    p = 1.531383769920937332e-01 + z * 1.479819860511658591e-01
    p = 2.222219843214978396e-01 + z * (1.818357216161805012e-01 + z * p)
    p = 3.999999999940941908e-01 + z * (2.857142874366239149e-01 + z * p)
    p = z * (6.666666666666735130e-01 + z * p)
    half = 0.5 * f * f
    result = k * _LN2_1 - ((half - (s * (half + p) + k * _LN2_2)) - f)
    special = -inf if x == 0.0 else (inf if x == inf else nan)
    return (result if x < inf else special) if x > 0.0 else special


def sqrt(x: float) -> float:
    """Return the square root of ``x``, correctly rounded; NaN below zero."""
    # IEEE 754 defines the square root, and the one compiled is the machine's instruction. Python's
    # raises below zero.
    root = _ieee_sqrt(x if x >= 0.0 else 0.0)
    return root if x > 0.0 else (x if x == 0.0 else nan)


def floor(x: float) -> float:
    """Return the largest integral float that is not above ``x``; infinities stay infinite."""
    size = abs(x)
    nearest = copysign((size + 4503599627370496.0) - 4503599627370496.0, x)
    below = nearest - (1.0 if nearest > x else 0.0)
    whole = x if nearest == x else below
    return (whole if size < 4503599627370496.0 else x) if x == x else nan
