"""The systems of equations of peers.py: what JAX does for them."""


class Systems:
    """A work of `steps` steps of a system on a grid; `steps` are those of the others."""

    taps, bench, steps_in_time, compiles = 0, None, True, True

    def __init__(self, name, shape, precision, scheme, steps, config, unit="G point-steps/s",
                 sets=()):
        self.name, self.shape, self.precision, self.scheme = name, shape, precision, scheme
        self.steps, self.config, self.unit = steps, config, unit
        self.sets = (f"precision={precision}", *sets)

    @property
    def count(self):
        points = 1
        for n in self.shape:
            points *= n
        return self.steps if self.unit == "steps/s" else points * self.steps

    def key(self):
        return f"{self.name}, {self.precision}"


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
        rate = next(rate for name, rate in RATES.items() if work.name.startswith(name))
        fields = {cahn_hilliard: 1, heat: 1, shallow_water: 3}.get(rate, 2)
        state, rates = tuple(map(random, range(fields))), lambda s: rate(jnp, s)
    step = step_of(work.scheme, rates, 1e-4)
    run = jax.jit(lambda s: jax.lax.fori_loop(0, work.steps, lambda _, v: step(v), s))
    yield "JAX, jitted", lambda: jax.block_until_ready(run(state))


PEERS = {"jax": jax_ways}
