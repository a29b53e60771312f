"""The systems of peers.py in Fourier modes: what JAX and CuPy do for them by their own transforms."""

import math

from peers_work import Work


class Modes(Work):
    """A work of `steps` steps of a scheme in the modes of a periodic plane."""

    compiles = True

    def __init__(self, name, problem, scheme, side, steps, config, unit, sets=()):
        super().__init__(f"{name} {side}^2, {scheme}", unit, (side, side), "float32", steps,
                         config=config, sets=sets)
        self.problem, self.scheme = problem, scheme


KEEP = 2 / 3  # of the frequencies of each axis, so that products of two fields have no false ones
KS = {"length": 1024 * math.pi, "step": 0.1}
FLOW = {"length": 2 * math.pi, "step": 1e-4, "viscosity": 1e-6}

WORKS = (
    Modes("Kuramoto-Sivashinsky", "ks", "etdrk4", 4096, 100, "pde_ks_etdrk4",
          "G point-steps/s"),
    Modes("vorticity", "flow", "rk4", 4096, 200, "pde_navier_stokes", "steps/s"),
    Modes("vorticity", "flow", "ark3", 4096, 200, "pde_navier_stokes", "steps/s",
          ("time.scheme=ark3",)),
)


class Plane:
    """Wave numbers of a square with n points a side; x is the last axis, whose modes are halved.
    As in gridstride odd derivatives of the highest frequency are 0, and so are those not kept."""

    def __init__(self, numpy, n, length, dtype):
        import numpy as host
        self.numpy, self.shape = numpy, (n, n)

        def waves(frequencies):
            k = 2 * host.pi / length * n * frequencies
            odd = host.where(abs(frequencies) == 0.5, 0, k)
            return k, odd
        along_x, along_y = host.fft.rfftfreq(n)[None, :], host.fft.fftfreq(n)[:, None]
        kx, odd_x = waves(along_x)
        ky, odd_y = waves(along_y)
        bound = KEEP / 2 * (1 - 1e-12)
        self.kept = numpy.asarray(((abs(along_x) < bound) & (abs(along_y) < bound)).astype(dtype))
        self.square = kx**2 + ky**2  # in float64, for the coefficients
        complex_type = host.result_type(dtype, host.complex64)
        self.ix = numpy.asarray((1j * odd_x).astype(complex_type))
        self.iy = numpy.asarray((1j * odd_y).astype(complex_type))
        with host.errstate(divide="ignore"):
            inverse = host.where(self.square > 0, 1 / self.square, 0)
        self.inverse = numpy.asarray(inverse.astype(dtype))  # of −∇²
        self.dtype = dtype

    def real(self, values):
        return self.numpy.asarray(values.astype(self.dtype))

    def points(self, modes):
        return self.numpy.fft.irfft2(modes, s=self.shape)

    def modes(self, points):
        return self.numpy.fft.rfft2(points) * self.kept


def phi_coefficients(z):
    """e^z, e^(z/2) and what etdrk4 multiplies rates by, over the step: means over circles in
    float64, as by Kassam and Trefethen, a part of the plane at a time."""
    import numpy
    results = [numpy.empty_like(z) for _ in range(6)]
    roots = numpy.exp(1j * numpy.pi * (numpy.arange(16) + 0.5) / 16)
    for row in range(z.shape[0]):
        circle = z[row][:, None] + roots
        exp, cube = numpy.exp(circle), circle**3
        values = (numpy.exp(z[row]), numpy.exp(z[row] / 2),
                  (numpy.exp(circle / 2) - 1) / circle,
                  (-4 - circle + exp * (4 - 3 * circle + circle**2)) / cube,
                  2 * (2 + circle + exp * (circle - 2)) / cube,
                  (-4 - 3 * circle - circle**2 + exp * (4 - circle)) / cube)
        for result, value in zip(results, values):
            result[row] = value if value.ndim == 1 else value.mean(axis=1).real
    return results


def etdrk4(linear, rate, h, real):
    e, half, push, first, middle, last = (
        real(c) for c in (lambda e, e2, *f: (e, e2, *(h * c for c in f)))(
            *phi_coefficients(h * linear)))

    def step(v):
        n0 = rate(v)
        a = half * v + push * n0
        n1 = rate(a)
        n2 = rate(half * v + push * n1)
        n3 = rate(half * a + push * (2 * n2 - n0))
        return e * v + first * n0 + middle * (n1 + n2) + last * n3
    return step


def rk4(linear, rate, h, real):
    whole = real(linear)

    def slope(v):
        return whole * v + rate(v)

    def step(v):
        k1 = slope(v)
        k2 = slope(v + h / 2 * k1)
        k3 = slope(v + h / 2 * k2)
        k4 = slope(v + h * k3)
        return v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return step


GAMMA = 1767732205903 / 4055673282236  # ARK3(2)4L[2]SA of Kennedy and Carpenter
EXPLICIT = ((1767732205903 / 2027836641118,),
            (5535828885825 / 10492691773637, 788022342437 / 10882634858940),
            (6485989280629 / 16251701735622, -4246266847089 / 9704473918619,
             10755448449292 / 10357097424841))
IMPLICIT = ((GAMMA,), (2746238789719 / 10658868560708, -640167445237 / 6845629431997),
            (1471266399579 / 7840856788654, -4482444167858 / 7529755066697,
             11266239266428 / 11593286722821))
WEIGHTS = (*IMPLICIT[2], GAMMA)


def ark3(linear, rate, h, real):
    solve, whole = real(1 / (1 - h * GAMMA * linear)), real(linear)

    def step(v):
        values, rates = v, [rate(v)]
        linears = [whole * v]
        for explicit, implicit in zip(EXPLICIT, IMPLICIT):
            right = v + h * sum(a * n for a, n in zip(explicit, rates))
            values = solve * (right + h * sum(a * n for a, n in zip(implicit, linears)))
            rates.append(rate(values))
            linears.append(whole * values)
        return v + h * sum(b * (n + m) for b, n, m in zip(WEIGHTS, rates, linears))
    return step


SCHEMES = {"etdrk4": etdrk4, "rk4": rk4, "ark3": ark3}


def ks_start(numpy, x, y):
    return numpy.cos(x / 8) * (1 + numpy.sin(y / 8))


def flow_start(numpy, x, y):
    return 2 * numpy.cos(3 * x) * numpy.cos(2 * y) + numpy.cos(5 * x + y) + numpy.sin(4 * y)


def problem(numpy, name, scheme, n, dtype="float32"):
    """The first modes, a step from modes to modes, and the plane that makes points of them."""
    import numpy as host
    settings, start = {"ks": (KS, ks_start), "flow": (FLOW, flow_start)}[name]
    plane = Plane(numpy, n, settings["length"], dtype)
    square = plane.square

    def ks_rate(v):
        gradient = plane.points(plane.ix * v), plane.points(plane.iy * v)
        return -0.5 * plane.modes(gradient[0] ** 2 + gradient[1] ** 2)

    def flow_rate(w):
        psi = plane.inverse * w
        u, v = plane.points(plane.iy * psi), plane.points(-plane.ix * psi)
        return -plane.modes(u * plane.points(plane.ix * w) + v * plane.points(plane.iy * w))
    linear, rate = {"ks": (square - square**2, ks_rate),
                    "flow": (-FLOW["viscosity"] * square, flow_rate)}[name]
    step = SCHEMES[scheme](linear, rate, settings["step"], plane.real)
    along = settings["length"] / n * host.arange(n)
    return plane.modes(plane.real(start(host, along[None, :], along[:, None]))), step, plane


def jax_ways(work):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", False)
    state, step, _ = problem(jnp, work.problem, work.scheme, work.shape[0])
    run = jax.jit(lambda s: jax.lax.fori_loop(0, work.steps, lambda _, v: step(v), s))
    yield "JAX, jitted", lambda: jax.block_until_ready(run(state))


def cupy_ways(work):
    import cupy
    first, step, _ = problem(cupy, work.problem, work.scheme, work.shape[0])

    def run():
        state = first
        for _ in range(work.steps):
            state = step(state)
        cupy.cuda.Device().synchronize()
    yield "CuPy", run


PEERS = {"jax": jax_ways, "cupy": cupy_ways}
