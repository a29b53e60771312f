"""The integrals of peers.py: what JAX, CuPy and scipy do for them."""


from peers_work import Work


class Integrals(Work):
    """A work of `count` samples or integrals, each run."""

    steps_in_time, compiles = False, True

    def __init__(self, name, unit, count, precision="float64", config=None, bench=None,
                 genz=None):
        super().__init__(name, unit, (count,), precision, config=config, bench=bench)
        self.genz = genz


def midpoints(precision):
    return Integrals("midpoints of e^x sin x, 2^30", "G evaluations/s", 1 << 30, precision,
                     bench=("riemann", "midpoints", "compensated"))


def genz(name):
    return Integrals(f"Genz {name} in 5D to 1e-6", "integrals/s", 1, config=f"genz_{name}",
                     genz=name)


WORKS = (
    midpoints("float64"), midpoints("float32"),
    Integrals("Monte Carlo, 6 Gaussians, 2^30", "G evaluations/s", 1 << 30, "float32",
              config="integration_monte_carlo_float32"),
    Integrals("adaptive, 10^5 of cos(k x)/(1+x^2) to 1e-10", "integrals/s", 100000,
              config="integration_family_float64"),
    genz("oscillatory"), genz("product_peak"), genz("gaussian"),
)


def jax_ways(work):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    dtype = jnp.dtype(work.precision)
    if work.name.startswith("midpoints"):
        n = work.count

        @jax.jit
        def midpoint():
            x = (jnp.arange(n).astype(dtype) + dtype.type(0.5)) * dtype.type(10 / n)
            return jnp.sum(jnp.exp(x) * jnp.sin(x)) * (10 / n)
        yield "JAX sum, fused", lambda: midpoint().block_until_ready()
    if work.name.startswith("Monte Carlo"):
        piece = 1 << 22

        @jax.jit
        def loop(key):
            def body(i, total):
                u = jax.random.uniform(jax.random.fold_in(key, i), (6, piece), dtype=dtype)
                return total + jnp.mean(jnp.prod(jnp.exp(-u * u), axis=0))
            return jax.lax.fori_loop(0, work.count // piece, body, dtype.type(0))
        key = jax.random.PRNGKey(7)
        yield "JAX random.uniform in a loop", lambda: loop(key).block_until_ready()


def cupy_ways(work):
    import cupy
    if work.name.startswith("midpoints"):
        n = 1 << 28
        step = 10 / n
        places = cupy.arange(n, dtype=work.precision)
        terms = cupy.ReductionKernel("T i, T step", "T y", "exp((i + T(0.5))*step)*sin((i + "
                                     "T(0.5))*step)", "a + b", "y = a*step", "0", "midpoints")
        repeats = work.count // n

        def run():
            for _ in range(repeats):
                terms(places, step)
            cupy.cuda.Device().synchronize()
        yield "CuPy ReductionKernel, 4 x 2^28", run
    if work.name.startswith("Monte Carlo"):
        n = 1 << 27
        product = cupy.ElementwiseKernel(
            "T a, T b, T c, T d, T e, T f", "T y",
            "y = exp(-a*a)*exp(-b*b)*exp(-c*c)*exp(-d*d)*exp(-e*e)*exp(-f*f)", "gaussians")
        generator = cupy.random.Generator(cupy.random.XORWOW(1))

        def sample():
            for _ in range(work.count // n):
                product(*generator.random((6, n), dtype=cupy.float32)).sum()
            cupy.cuda.Device().synchronize()
        yield "CuPy Generator, ElementwiseKernel", sample


def genz_function(name, numpy):
    """The function of points in rows, as the files in inputs/bench have it."""
    if name == "oscillatory":
        return lambda x: numpy.cos(2 * x.sum(axis=-1))
    if name == "product_peak":
        return lambda x: numpy.prod(1 / (0.25 + (x - 0.5)**2), axis=-1)
    return lambda x: numpy.exp(-9 * ((x - 0.5)**2).sum(axis=-1))


def scipy_ways(work):
    """On the host: scipy has no integrators for GPUs."""
    import numpy
    import scipy.integrate
    if work.name.startswith("adaptive"):
        k = numpy.linspace(0, 50, work.count)
        yield "scipy quad_vec, host", lambda: scipy.integrate.quad_vec(
            lambda x: numpy.cos(k * x) / (1 + x * x), 0, 1, epsabs=1e-10, epsrel=1e-10,
            norm="max")
    if work.genz:
        function = genz_function(work.genz, numpy)

        def run():
            scipy.integrate.cubature(function, numpy.zeros(5), numpy.ones(5), rule="genz-malik",
                                     rtol=1e-6, atol=0, max_subdivisions=1000000)
        yield "scipy cubature, genz-malik, host", run


PEERS = {"jax": jax_ways, "cupy": cupy_ways, "scipy": scipy_ways}
