"""The systems of equations of peers.py: what JAX, py-pde and pystencils do for them."""

from peers_work import Work


class Systems(Work):
    """A work of `steps` steps of a system on a grid; `steps` are those of the others."""

    compiles = True

    def __init__(self, name, shape, precision, scheme, steps, config, unit="G point-steps/s",
                 sets=()):
        super().__init__(name, unit, shape, precision, steps, config=config,
                         sets=(f"precision={precision}", *sets))
        self.scheme = scheme


class FirstStep(Systems):
    """From nothing to the first step of a system: its analysis, its kernels and the step.

    New: what was compiled before is not there. Cached: it is, on disk. Of gridstride it is what a
    run of one step takes from the start of the program, without the opening of the GPU.
    """

    def __init__(self, name, shape, config, is_new, sets=()):
        age = "new" if is_new else "cached"
        super().__init__(f"first step of {name}, {age}", shape, "float32", "euler", 1, config,
                         unit="s", sets=(f"time.end={0.5**10}", *sets))
        self.is_new = is_new


TIME_STEP = 1e-4  # of the others: small, so that random data stay as they are


def plane(name, precision, scheme, steps, config, sets=()):
    return Systems(f"{name} 8192^2", (8192, 8192), precision, scheme, steps, config, sets=sets)


def both(make):
    return (make("float32"), make("float64"))


WORKS = (
    *both(lambda p: plane("Gray-Scott", p, "euler", 50, "pde_gray_scott")),
    *both(lambda p: plane("Cahn-Hilliard", p, "euler", 50, "pde_cahn_hilliard")),
    plane("Burgers", "float32", "ssprk3", 20, "pde_burgers"),
    plane("Schroedinger", "float64", "rk4", 10, "pde_schroedinger"),
    plane("shallow water, upwind, walls", "float32", "ssprk3", 10, "pde_shallow_water"),
    *both(lambda p: Systems("Gray-Scott 512^3", (512, 512, 512), p, "euler", 20,
                            "pde_gray_scott_3d")),
    plane("heat as pde", "float32", "euler", 50, "pde_heat"),
    plane("heat with a field of diffusivity", "float32", "euler", 50, "pde_heat_diffusivity"),
    plane("heat as pde, rk4", "float32", "rk4", 20, "pde_heat",
          ("time.scheme=rk4", "time.end=2000")),
    Systems("Gray-Scott 256^2", (256, 256), "float32", "euler", 20000, "pde_gray_scott_small",
            unit="steps/s"),
    *(FirstStep("Gray-Scott 256^2", (256, 256), "pde_gray_scott_small", is_new)
      for is_new in (True, False)),
    *(FirstStep("Cahn-Hilliard 256^2", (256, 256), "pde_cahn_hilliard", is_new,
                ("grid={points: [256, 256], upper: [256, 256]}",)) for is_new in (True, False)),
)


def laplacian(numpy, u):
    around = sum(numpy.roll(u, shift, axis) for axis in range(u.ndim) for shift in (1, -1))
    return around - 2 * u.ndim * u


def slope(numpy, u, axis):
    return 0.5 * (numpy.roll(u, -1, axis) - numpy.roll(u, 1, axis))


def gray_scott(numpy, state):
    u, v = state
    r = u * v * v
    return (0.2 * laplacian(numpy, u) - r + 0.04 * (1 - u),
            0.1 * laplacian(numpy, v) + r - 0.1 * v)


def cahn_hilliard(numpy, state):
    c, = state
    slope_of_f = 10 * (c - 0.3) * (0.7 - c) * (1 - 2 * c)
    return 5 * laplacian(numpy, slope_of_f - 2 * laplacian(numpy, c)),


def burgers(numpy, state):
    u, v = state
    carried = [u * slope(numpy, w, 1) + v * slope(numpy, w, 0) for w in state]
    return tuple(0.5 * laplacian(numpy, w) - c for w, c in zip(state, carried))


def schroedinger(numpy, state):
    a, b = state
    n = a * a + b * b
    return (-0.5 * laplacian(numpy, b) + n * b, 0.5 * laplacian(numpy, a) - n * a)


def heat(numpy, state):
    return 0.5 * laplacian(numpy, state[0]),


def heat_diffusivity(numpy, state, diffusivity):
    u, rate = state[0], 0
    for axis in (0, 1):
        face = 0.5 * (diffusivity + numpy.roll(diffusivity, -1, axis))
        flux = face * (numpy.roll(u, -1, axis) - u)
        rate = rate + flux - numpy.roll(flux, 1, axis)
    return 0.3 * rate,


def shallow_water(numpy, state):
    """The differences of gridstride, from the same splitting; walls by padding."""
    fields = []
    for i, w in enumerate(state):
        w = numpy.pad(w, 1, mode="reflect")
        if i > 0:  # the part along the normal of the walls turns around
            axis = 2 - i
            edge = [slice(None)] * 2
            for end in (0, -1):
                edge[axis] = end
                w = w.at[tuple(edge)].multiply(-1)
        fields.append(w)
    h, q, p = fields
    pressure = 0.5 * 9.81 * h * h
    rates = [0, 0, 0]
    for axis, (along, fluxes) in enumerate((
            (p, (p, q * p / h, p * p / h + pressure)), (q, (q, q * q / h + pressure, p * q / h)))):
        speed = abs(along / h) + numpy.sqrt(9.81 * h)

        def ends(w, axis=axis):
            other = [slice(1, -1)] * 2
            lower, upper = list(other), list(other)
            lower[axis], upper[axis] = slice(None, -1), slice(1, None)
            return w[tuple(lower)], w[tuple(upper)]
        alpha = numpy.maximum(*ends(speed))
        for i, (w, flux) in enumerate(zip(fields, fluxes)):
            below, above = ends(flux)
            first, last = ends(w)
            rates[i] = rates[i] - numpy.diff(0.5 * (below + above - alpha * (last - first)),
                                             axis=axis)
    return tuple(rates)


RATES = {"Gray-Scott": gray_scott, "Cahn-Hilliard": cahn_hilliard, "Burgers": burgers,
         "Schroedinger": schroedinger, "shallow water": shallow_water, "heat as": heat}


def added(state, rates, factor):
    return tuple(u + u.dtype.type(factor) * r.astype(u.dtype) for u, r in zip(state, rates))


def step_of(scheme, rates, dt):
    def euler(s):
        return added(s, rates(s), dt)

    def ssprk3(s):
        second = tuple(0.75 * a + 0.25 * b for a, b in zip(s, euler(euler(s))))
        return tuple(a / 3 + 2 * b / 3 for a, b in zip(s, euler(second)))

    def rk4(s):
        k1 = rates(s)
        k2 = rates(added(s, k1, dt / 2))
        k3 = rates(added(s, k2, dt / 2))
        k4 = rates(added(s, k3, dt))
        return added(s, tuple(a + 2 * b + 2 * c + d for a, b, c, d in zip(k1, k2, k3, k4)), dt / 6)

    return {"euler": euler, "ssprk3": ssprk3, "rk4": rk4}[scheme]


def rates_of(work):
    """The rates that a work's name stands for, and how many fields they have."""
    rates = next(rates for name, rates in RATES.items() if name in work.name)
    return rates, {cahn_hilliard: 1, heat: 1, shallow_water: 3}.get(rates, 2)


def jax_ways(work):
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)

    def random(seed):
        return 0.5 + 0.1 * jax.random.uniform(jax.random.PRNGKey(seed), work.shape,
                                              dtype=jnp.dtype(work.precision))
    if work.name.startswith("heat with"):
        diffusivity = random(7)
        state, rates = (random(0),), lambda s: heat_diffusivity(jnp, s, diffusivity)
    else:
        rate, fields = rates_of(work)
        state, rates = tuple(map(random, range(fields))), lambda s: rate(jnp, s)
    step = step_of(work.scheme, rates, TIME_STEP)

    def compiled():
        return jax.jit(lambda s: jax.lax.fori_loop(0, work.steps, lambda _, v: step(v), s))
    if isinstance(work, FirstStep):
        if work.is_new:  # XLA keeps nothing on disk unless it is told to
            def first():
                jax.clear_caches()
                jax.block_until_ready(compiled()(state))
            yield "JAX, jitted anew", first
        return
    run = compiled()
    yield "JAX, jitted", lambda: jax.block_until_ready(run(state))


# ---------------------------------------------------------------------------------------- py-pde

PY_PDE = {
    "Gray-Scott": {"u": "0.2*laplace(u) - u*v**2 + 0.04*(1 - u)",
                   "v": "0.1*laplace(v) + u*v**2 - 0.1*v"},
    "Cahn-Hilliard": {"c": "5*laplace(10*(c - 0.3)*(0.7 - c)*(1 - 2*c) - 2*laplace(c))"},
    "Schroedinger": {"a": "-0.5*laplace(b) + (a**2 + b**2)*b",
                     "b": "0.5*laplace(a) - (a**2 + b**2)*a"},
    "heat as": {"u": "0.5*laplace(u)"},
}


def py_pde_ways(work):
    """On a GPU by its own JAX, and on the host by numba, on a grid that the host can do."""
    equations = next((e for name, e in PY_PDE.items() if work.name.startswith(name)), None)
    solvers = {"euler": ("EulerSolver", {}), "rk4": ("RungeKuttaSolver", {"adaptive": False})}
    if equations is None or work.scheme not in solvers:
        return
    import numpy
    import pde
    solver, options = solvers[work.scheme]
    generator = numpy.random.default_rng(0)

    def stepper(backend, shape, steps):
        grid = pde.CartesianGrid([(0, n) for n in shape], shape, periodic=True)
        fields = [pde.ScalarField(grid, 0.5 + 0.1 * generator.random(shape, "float32"))
                  for _ in equations]
        state = (pde.FieldCollection(fields, dtype=work.precision) if len(fields) > 1 else
                 pde.ScalarField(grid, fields[0].data, dtype=work.precision))
        step = getattr(pde, solver)(pde.PDE(equations), backend=backend, **options).make_stepper(
            state, dt=TIME_STEP)
        return lambda: step(state, 0, steps * TIME_STEP)

    if work.unit != "steps/s" and len(work.shape) == 2:
        shape, steps = (1024, 1024), 20
        yield ("py-pde, numba on the host, 1024^2", stepper("numba", shape, steps),
               shape[0] * shape[1] * steps)
    import jax
    from pde.backends.jax.backend import JaxBackend
    jax.config.update("jax_enable_x64", work.precision == "float64")  # else it mixes both
    JaxBackend._dtype_cache.clear()  # which precisions there were
    # Each call copies the state to the GPU and back: as many steps as make that small.
    more = 1 if work.unit == "steps/s" else 20
    yield ("py-pde, JAX on the GPU", stepper("jax:gpu", work.shape, more * work.steps),
           more * work.count)


# ------------------------------------------------------------------------------------ pystencils

def moved(at, axis, by):
    return tuple(i + by if a == axis else i for a, i in enumerate(at))


def differences(value, at):
    """The Laplacian of what `value` is at places around `at`."""
    around = sum(value(moved(at, axis, by)) for axis in range(len(at)) for by in (1, -1))
    return around - 2 * len(at) * value(at)


def stencil_gray_scott(at, u, v):
    r = u(at) * v(at)**2
    return (0.2 * differences(u, at) - r + 0.04 * (1 - u(at)),
            0.1 * differences(v, at) + r - 0.1 * v(at))


def stencil_cahn_hilliard(at, c):
    def potential(at):
        return 10 * (c(at) - 0.3) * (0.7 - c(at)) * (1 - 2 * c(at)) - 2 * differences(c, at)
    return 5 * differences(potential, at),


def stencil_heat(at, u):
    return 0.5 * differences(u, at),


STENCILS = {"Gray-Scott": (stencil_gray_scott, "uv", 1),  # of which fields, reaching how far
            "Cahn-Hilliard": (stencil_cahn_hilliard, "c", 2), "heat as": (stencil_heat, "u", 1)}


def pystencils_ways(work):
    stencil = next((s for name, s in STENCILS.items() if work.name.startswith(name)), None)
    if stencil is None or work.scheme != "euler" or isinstance(work, FirstStep):
        return
    import pystencils
    import cupy
    step, keep_sides = pystencils_step(pystencils, work, *stencil, pystencils.Target.CUDA)

    def steps(each):
        def run():
            for _ in range(work.steps):
                each()
            cupy.cuda.Device().synchronize()
        return run

    def whole():
        keep_sides()
        step()
    yield "pystencils", steps(whole)
    yield "pystencils, without copies to its periodic sides", steps(step)


def pystencils_step(pystencils, work, rates, names, reach, target):
    """A step of Euler's in pystencils' own arrays, and what makes their sides periodic."""
    import numpy
    data = pystencils.create_data_handling(work.shape, periodicity=True, default_target=target,
                                           default_ghost_layers=reach)
    old = [data.add_array(name, dtype=numpy.dtype(work.precision).type) for name in names]
    new = [data.add_array_like(f"{name}_next", name) for name in names]
    generator = numpy.random.default_rng(0)
    for name in names:
        values = generator.random(data.cpu_arrays[name].shape, "float32")
        data.cpu_arrays[name][...] = 0.5 + 0.1 * values
        if target.is_gpu():
            data.to_gpu(name)
    here = (0,) * len(work.shape)
    slopes = rates(here, *((lambda at, field=field: field[at]) for field in old))
    kernel = pystencils.create_kernel(
        [pystencils.Assignment(after[here], before[here] + TIME_STEP * slope)
         for after, before, slope in zip(new, old, slopes)],
        pystencils.CreateKernelConfig(target=target, default_dtype=work.precision)).compile()

    def step():
        data.run_kernel(kernel)
        for name in names:
            data.swap(name, f"{name}_next")
    return step, data.synchronization_function(list(names))


PEERS = {"jax": jax_ways, "py-pde": py_pde_ways, "pystencils": pystencils_ways}
