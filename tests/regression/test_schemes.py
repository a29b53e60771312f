"""Explicit steps as the pages on pde, heat and wave have them, made once more in numpy from the
config's own text: results agree but for rounding, on the host and, where there is one, on a GPU."""

import math

import h5py
import numpy
import support

BEYOND = 8  # points that an array has beyond each side
FIRST = {2: (1 / 2,), 4: (8 / 12, -1 / 12), 6: (45 / 60, -9 / 60, 1 / 60)}
SECOND = {2: (1,), 4: (16 / 12, -1 / 12), 6: (270 / 180, -27 / 180, 2 / 180),
          8: (8 / 5, -1 / 5, 8 / 315, -1 / 560)}


def value(text, **names):
    """A formula of a config, of arrays."""
    functions = {name: getattr(numpy, name) for name in ("sin", "cos", "exp", "pi")}
    return eval(str(text).replace("^", "**"), {**functions, **names})  # pylint: disable=eval-used


class Gradient:
    """factor·grad(of), as it may stand in `div`."""
    __array_ufunc__ = None  # arrays leave products with it to it

    def __init__(self, of, factor=1):
        self.of, self.factor = of, factor

    def __rmul__(self, factor):
        return Gradient(self.of, factor * self.factor)


class Grid:
    """The points of a config's grid and BEYOND more at each end; axis `a` is -1 - a of an array."""

    def __init__(self, config, order):
        self.points, upper = config["grid"]["points"], config["grid"]["upper"]
        self.order, self.axes = order, range(len(self.points))
        one = next(iter(self.sides(config).values()))
        self.around = [one["xyz"[a]] == "periodic" for a in self.axes]
        self.spacing = [length / (count if around else count - 1)
                        for length, count, around in zip(upper, self.points, self.around)]
        self.inside = tuple(slice(BEYOND, BEYOND + count) for count in self.points[::-1])
        self.shape = tuple(count + 2 * BEYOND for count in self.points[::-1])
        self.coordinates = {}
        for a in self.axes:
            i = numpy.arange(-BEYOND, self.points[a] + BEYOND)
            i = i % self.points[a] if self.around[a] else i
            self.coordinates["xyz"[a]] = i.reshape([-1] + [1] * a) * self.spacing[a]

    @staticmethod
    def sides(config):
        """By fields; those of all fields for each."""
        boundary = config["boundary"]
        return boundary if set(boundary) <= set(config["initial"]) else {
            field: boundary for field in config["initial"]}

    def at(self, a, i):
        """Point i along axis a, from 0 inside."""
        return (Ellipsis, BEYOND + i) + (slice(None),) * a

    def value(self, text, **names):
        return numpy.broadcast_to(value(text, **self.coordinates, **names), self.shape)

    def beside(self, v, a, offset):
        return numpy.roll(v, -offset, -1 - a)

    def first(self, v, a):
        return sum(w * (self.beside(v, a, k) - self.beside(v, a, -k))
                   for k, w in enumerate(FIRST[self.order], 1)) / self.spacing[a]

    def second(self, v, a):
        return sum(w * (self.beside(v, a, k) - 2 * v + self.beside(v, a, -k))
                   for k, w in enumerate(SECOND[self.order], 1)) / self.spacing[a]**2

    def laplace(self, v):
        return sum(self.second(v, a) for a in self.axes)

    def div(self, flux):
        total = 0
        for a in self.axes:
            faces = ((flux.factor + self.beside(flux.factor, a, 1)) / 2
                     * (self.beside(flux.of, a, 1) - flux.of) / self.spacing[a])
            total = total + (faces - self.beside(faces, a, -1)) / self.spacing[a]
        return total

    def mean(self, v):
        """By the trapezoidal rule."""
        weights = numpy.ones(self.shape)
        for a in self.axes:
            if not self.around[a]:
                weights[self.at(a, 0)] /= 2
                weights[self.at(a, self.points[a] - 1)] /= 2
        return numpy.average(v[self.inside], weights=weights[self.inside])

    def go_on(self, v, sides, t):
        """Fills what lies beyond the sides, one axis after the other."""
        for a in self.axes:
            last, side = self.points[a] - 1, sides["xyz"[a]]
            if side == "periodic":
                for k in range(1, BEYOND + 1):
                    v[self.at(a, -k)] = v[self.at(a, last + 1 - k)]
                    v[self.at(a, last + k)] = v[self.at(a, k - 1)]
                continue
            for end, end_point, inward in (("lower", 0, 1), ("upper", last, -1)):
                kind, given = kind_of(side, end)
                at = self.at(a, end_point)
                for k in range(1, BEYOND + 1):
                    inner = v[self.at(a, end_point + inward * k)]
                    if kind in ("dirichlet", "outflow", "fixed"):
                        beyond = 2 * v[at] - inner
                    elif kind == "free":
                        beyond = inner
                    else:
                        factor, given_there = given if kind == "robin" else (0, given)
                        beyond = inner + 2 * k * self.spacing[a] * (
                            self.value(given_there, t=t)[at] - factor * v[at])
                    v[self.at(a, end_point - inward * k)] = beyond

    def hold(self, v, sides, moments):
        """Sets what Dirichlet sides hold: the weighted sum over moments; the first axis counts."""
        for a in reversed(self.axes):
            if sides["xyz"[a]] == "periodic":
                continue
            for end, point in (("lower", 0), ("upper", self.points[a] - 1)):
                kind, given = kind_of(sides["xyz"[a]], end)
                if kind in ("dirichlet", "fixed"):
                    v[self.at(a, point)] = sum(weight * self.value(given, t=t)[self.at(a, point)]
                                               for weight, t in moments)


def kind_of(side, end):
    """Kind of a side and what is given there."""
    side = side.get(end, side) if isinstance(side, dict) else side
    return (side, 0) if isinstance(side, str) else next(iter(side.items()))


class Equations:
    """A `pde` config, or one of `heat` as what it stands for."""

    def __init__(self, config):
        self.grid = Grid(config, config.get("space", {}).get("order", 2))
        self.sides, self.heat = self.grid.sides(config), config["simulation"] == "heat"
        self.rates = config.get("equations")
        if self.heat:
            self.diffusivity = numpy.array(self.grid.value(config["parameters"]["diffusivity"]))
            self.source = config["parameters"].get("source", 0)
        self.state = {name: numpy.array(self.grid.value(text))
                      for name, text in config["initial"].items()}
        self.hold(self.state, [(1, 0)])

    def hold(self, state, moments):
        for name, v in state.items():
            self.grid.hold(v, self.sides[name], moments)

    def rate(self, state, t):
        grid = self.grid
        for name, v in state.items():
            grid.go_on(v, self.sides[name], t)
        if self.heat:
            return {"u": self.rate_of_heat(state["u"], t)}
        operators = {name: getattr(grid, name) for name in ("laplace", "div", "mean")}
        operators |= {f"d_d{'xyz'[a]}": lambda v, a=a: grid.first(v, a) for a in grid.axes}
        operators |= {"d2_dxdy": lambda v: grid.first(grid.first(v, 0), 1), "grad": Gradient,
                      "max": lambda v: v[grid.inside].max()}
        return {name: grid.value(text, t=t, **state, **operators)
                for name, text in self.rates.items()}

    def rate_of_heat(self, u, t):
        """A Neumann side has half a cell: what enters it counts twice."""
        grid, enters, mirrored = self.grid, 0, {}
        for a in grid.axes:
            side = mirrored["xyz"[a]] = self.sides["u"]["xyz"[a]]
            if side == "periodic":
                continue
            mirrored["xyz"[a]] = {}
            for end, point in (("lower", 0), ("upper", grid.points[a] - 1)):
                kind, given = kind_of(side, end)
                mirrored["xyz"[a]][end] = "free" if kind == "neumann" else "outflow"
                if kind == "neumann":
                    enters = enters + numpy.zeros(grid.shape)
                    at = grid.at(a, point)
                    flow = 2 * self.diffusivity * grid.value(given, t=t) / grid.spacing[a]
                    enters[at] += flow[at]
        for v in (u, self.diffusivity):
            grid.go_on(v, mirrored, t)
        return grid.div(self.diffusivity * Gradient(u)) + enters + grid.value(self.source, t=t)

    def step(self, scheme, t, dt):
        """A stage is (w₀, w, t', moments): w₀·u + w·(stage before + dt·its rate at t')."""
        half, end = [(1, t + dt / 2)], [(1, t + dt)]
        if scheme == "rk4":
            slopes, stage = [], self.state
            for part, before, held in ((0, 0, None), (1 / 2, 1 / 2, half), (1 / 2, 1 / 2, half),
                                       (1, 1, end)):
                if slopes:
                    stage = {n: u + part * dt * slopes[-1][n] for n, u in self.state.items()}
                    self.hold(stage, held)
                slopes.append(self.rate(stage, t + before * dt))
            self.state = {n: u + dt / 6 * (slopes[0][n] + 2 * slopes[1][n] + 2 * slopes[2][n]
                                           + slopes[3][n]) for n, u in self.state.items()}
            return self.hold(self.state, end)
        ahead = [(-2, t), (4, t + dt / 2), (-1, t + dt)]  # g + dt·g', as the scheme sees it
        stages = {"euler": ((0, 1, t, end),), "ftcs": ((0, 1, t, end),),
                  "ssprk2": ((0, 1, t, ahead), (1 / 2, 1 / 2, t + dt, end)),
                  "ssprk3": ((0, 1, t, ahead), (3 / 4, 1 / 4, t + dt, [(.5, t), (.5, t + dt)]),
                             (1 / 3, 2 / 3, t + dt / 2, end))}[scheme]
        begin = stage = {n: u.copy() for n, u in self.state.items()}
        for old, new, moment, held in stages:
            slope = self.rate(stage, moment)
            stage = {n: old * begin[n] + new * (stage[n] + dt * slope[n]) for n in begin}
            self.hold(stage, held)
        self.state = stage
        return None


class Waves:
    """A `wave` config."""

    def __init__(self, config):
        self.grid = grid = Grid(config, config["parameters"]["order"])
        self.sides, parameters = config["boundary"], config["parameters"]
        self.speed, self.source = grid.value(parameters["speed"]), parameters.get("source", 0)
        u = numpy.array(grid.value(config["initial"]["u"]))
        self.velocity = grid.value(parameters.get("initial_velocity", 0))
        grid.hold(u, self.sides, [(1, 0)])
        self.state, self.before = {"u": u}, None

    def step(self, _, t, dt):
        grid, u = self.grid, self.state["u"]
        grid.go_on(u, self.sides, t)
        pull = dt**2 * (self.speed**2 * grid.laplace(u) + grid.value(self.source, t=t))
        if self.before is None:
            self.before = u - dt * self.velocity + pull / 2
        new = 2 * u - self.before + pull
        grid.hold(new, self.sides, [(1, t + dt)])
        self.state, self.before = {"u": new}, u


class Advection:
    """An `advection` config, with what the flow brings in through open sides."""

    def __init__(self, config):
        self.grid = grid = Grid(config, 2)
        self.sides, self.steps = config["boundary"], 0
        self.speeds = [config["parameters"]["velocity"]["xyz"[a]] for a in grid.axes]
        self.scheme = config["time"]["scheme"]
        self.degree = {"upwind": 0, "lax_wendroff": 1, "weno5": 4}[self.scheme]
        u = numpy.array(grid.value(config["initial"]["u"]))
        self.bring_in(u, 0, [(1, 0)])
        self.state = {"u": u}

    def bring_in(self, u, t, moments):
        """Sets u where the flow comes in; the first axis counts."""
        grid = self.grid
        for a in reversed(grid.axes):
            if self.sides["xyz"[a]] == "periodic":
                continue
            for end, point, inward in (("lower", 0, 1), ("upper", grid.points[a] - 1, -1)):
                at, given = grid.at(a, point), kind_of(self.sides["xyz"[a]], end)[1]
                comes = inward * grid.value(self.speeds[a], t=t)[at] > 0
                u[at] = numpy.where(comes, sum(weight * grid.value(given, t=moment)[at]
                                               for weight, moment in moments), u[at])

    def go_on(self, v, a):
        """Beyond open sides by the polynomial through the last points."""
        grid, last = self.grid, self.grid.points[a] - 1
        weights = [(-1)**k * math.comb(self.degree + 1, k + 1) for k in range(self.degree + 1)]
        for k in range(1, BEYOND + 1):
            if grid.around[a]:
                v[grid.at(a, -k)] = v[grid.at(a, last + 1 - k)]
                v[grid.at(a, last + k)] = v[grid.at(a, k - 1)]
            else:
                v[grid.at(a, -k)] = sum(w * v[grid.at(a, i + 1 - k)] for i, w in enumerate(weights))
                v[grid.at(a, last + k)] = sum(w * v[grid.at(a, last + k - 1 - i)]
                                              for i, w in enumerate(weights))

    def parabolas(self, v, a, way):
        """Value at the face after a point (way 1), or before it (-1), from where the flow comes."""
        m2, m1, c, p1, p2 = (self.grid.beside(v, a, way * k) for k in range(-2, 3))
        fourth = 4 * abs(m2 - 4 * m1 + 6 * c - 4 * p1 + p2)
        total = weights = 0
        for ideal, at_face, bend, slope in (
                (0.1, (2 * m2 - 7 * m1 + 11 * c) / 6, m2 - 2 * m1 + c, (m2 - 4 * m1 + 3 * c) / 2),
                (0.6, (-m1 + 5 * c + 2 * p1) / 6, m1 - 2 * c + p1, (p1 - m1) / 2),
                (0.3, (2 * c + 5 * p1 - p2) / 6, c - 2 * p1 + p2, (4 * p1 - 3 * c - p2) / 2)):
            varies = abs(bend) + abs(slope) + 2**-30 * fourth + 1e-300
            weight = ideal * (1 + (fourth / varies)**2)
            total, weights = total + weight * at_face, weights + weight
        return total / weights

    def change(self, u, a, dt):
        """What the fluxes along an axis change u by, as far as it matters inside."""
        grid, u = self.grid, u.copy()
        self.go_on(u, a)
        v = numpy.array(grid.value(self.speeds[a]))
        f, next_one = v * u, lambda w: grid.beside(w, a, 1)
        between = (v + next_one(v)) / 2
        if self.scheme == "upwind":
            flux = between * numpy.where(between > 0, u, next_one(u))
        elif self.scheme == "lax_wendroff":
            flux = ((f + next_one(f)) / 2
                    - dt / (2 * grid.spacing[a]) * between * (next_one(f) - f))
        elif numpy.ptp(v) == 0:
            way = numpy.sign(v.flat[0])
            flux = v * (self.parabolas(u, a, 1) if way > 0 else next_one(self.parabolas(u, a, -1)))
        else:
            fastest = abs(v[grid.inside]).max()
            flux = (self.parabolas((f + fastest * u) / 2, a, 1)
                    + next_one(self.parabolas((f - fastest * u) / 2, a, -1)))
        return -dt / grid.spacing[a] * (flux - grid.beside(flux, a, -1))

    def step(self, scheme, t, dt):
        grid, u, end = self.grid, self.state["u"], [(1, t + dt)]
        if scheme == "lax_wendroff":
            for a in grid.axes if self.steps % 2 == 0 else reversed(grid.axes):
                u = u + self.change(u, a, dt)
            self.bring_in(u, t, end)
        else:
            begin, stages = u, [(1, [(-2, t), (4, t + dt / 2), (-1, t + dt)]),
                                (1 / 4, [(.5, t), (.5, t + dt)]), (2 / 3, end)]
            for part, moments in stages if scheme == "weno5" else [(1, end)]:
                u = begin + part * (u - begin + sum(self.change(u, a, dt) for a in grid.axes))
                self.bring_in(u, t, moments)
        self.state, self.steps = {"u": u}, self.steps + 1


WAVES = "0.4 + 0.3*sin(2*pi*x + 0.3)*cos(4*pi*y + 0.7)"
SINES = "0.4 + 0.3*sin(2*pi*x)*cos(4*pi*y)"  # on a grid of length 1 along x and y
GIVEN = {"x": {"lower": {"dirichlet": "0.3 + 0.2*y + 0.2*sin(7*t)"},
               "upper": {"robin": [0.7, "0.4 - 0.2*y"]}},
         "y": {"lower": {"neumann": "0.3*x + 0.1*sin(5*t)"}, "upper": "outflow"}}
HELD = {"x": {"dirichlet": "0.1 + 0.3*y"}, "y": {"dirichlet": "0.4 - 0.2*x + 0.1*sin(9*t)"}}
AROUND = {"x": "periodic", "y": {"lower": {"robin": [0.7, "0.2"]}, "upper": {"neumann": "0.1"}}}
ALL_AROUND = {"x": "periodic", "y": "periodic"}


KINDS = {"wave": Waves, "advection": Advection}


def pde(equations, boundary, scheme, order=2, points=(23, 18), steps=9, step=4e-4, **initial):
    return {"simulation": "pde", "grid": {"points": list(points), "upper": [1] * len(points)},
            "boundary": boundary, "equations": equations, "space": {"order": order},
            "initial": {"u": SINES if len(points) > 1 else "0.4 + 0.3*sin(2*pi*x)", **initial},
            "time": {"scheme": scheme, "end": steps * step, "step": step}}


def heat(boundary, scheme, diffusivity, source="0", points=(21, 18), steps=12, step=3e-4):
    return {"simulation": "heat", "grid": {"points": list(points), "upper": [1] * len(points)},
            "boundary": boundary, "initial": {"u": SINES if len(points) > 1 else "sin(2*pi*x)"},
            "time": {"scheme": scheme, "end": steps * step, "step": step},
            "parameters": {"diffusivity": diffusivity, "source": source}}


def wave(boundary, order, speed, source="0", points=(25, 22), steps=15, step=0.01):
    return {"simulation": "wave", "grid": {"points": list(points), "upper": [1] * len(points)},
            "boundary": boundary, "initial": {"u": "sin(2*pi*x)*cos(2*pi*y)"},
            "time": {"end": steps * step, "step": step},
            "parameters": {"order": order, "speed": speed, "source": source,
                           "initial_velocity": "cos(2*pi*x)"}}


def advection(boundary, scheme, *velocity, points=(24, 19), steps=10, step=4e-3):
    return {"simulation": "advection", "grid": {"points": list(points), "upper": [1] * len(points)},
            "boundary": boundary, "initial": {"u": WAVES},
            "parameters": {"velocity": dict(zip("xyz", velocity))},
            "time": {"scheme": scheme, "end": steps * step, "step": step}}


class OnHost(support.Case):
    device = "cpu"

    def assert_as_written(self, *cases):
        for number, config in enumerate(cases):
            with self.subTest(number=number, time=config["time"]):
                config = {**config, "device": self.device,
                          "output": {"formats": ["hdf5"], "every": {"count": 1}}}
                anew = KINDS.get(config["simulation"], Equations)(config)
                time = config["time"]
                for n in range(round(time["end"] / time["step"])):
                    anew.step(time.get("scheme"), n * time["step"], time["step"])
                self.call("run", self.write("case.yaml", config), "--quiet", "--overwrite")
                with h5py.File(self.directory / "outputs/case/case.h5") as file:
                    for name, expected in anew.state.items():
                        found = file["VTKHDF/PointData"][name][-1]
                        expected = expected[anew.grid.inside]
                        scale = max(1, numpy.abs(expected).max())
                        self.assertGreater(numpy.ptp(expected), 0.05)
                        self.assertLess(numpy.abs(found.reshape(expected.shape) - expected).max(),
                                        1e-11 * scale)

    def test_pde(self):
        spread = "0.3*laplace(u) + u - u^3"
        pushed = "(0.3 + 0.1*cos(2*pi*x))*laplace(u) + 0.2*d_dy(u^2)"
        two = {"u": "0.2*laplace(u) + 0.05*d2_dxdy(u)",
               "v": "0.1*laplace(v) + 0.1*laplace(u) + u*d_dx(v)"}
        whole = "0.3*laplace(u) + mean(u^2) - u*max(u) + cos(3*t)*cos(2*pi*x)"
        self.assert_as_written(
            pde({"u": spread}, GIVEN, "rk4"), pde({"u": spread}, ALL_AROUND, "euler", order=6),
            pde({"u": pushed}, AROUND, "ssprk3", order=4),
            pde({"u": pushed}, HELD, "ssprk2", order=6),
            pde({"u": "div((0.2 + 0.1*u^2)*grad(u))"}, GIVEN, "ssprk2"),
            pde({"u": whole}, AROUND, "rk4"), pde({"u": whole}, GIVEN, "euler"),
            pde(two, {"u": GIVEN, "v": HELD}, "rk4", v="0.2 + 0.1*x*y"),
            pde(two, {"u": AROUND, "v": {**HELD, "x": "periodic"}}, "ssprk3", order=4,
                points=(70, 45), step=5e-5, v=SINES))

    def test_pde_on_lines_and_in_volumes(self):
        ends = {"x": {"lower": {"dirichlet": "0.2*cos(4*t)"}, "upper": {"robin": [0.5, "0.3"]}}}
        along = {"lower": {"neumann": "0.2*x + 0.1*t"}, "upper": {"dirichlet": "0.2*x - 0.3*y"}}
        wind = "0.1*laplace(u) + 0.3*d_dx(u)"
        self.assert_as_written(
            pde({"u": wind}, ends, "ssprk3", points=(60,), step=1e-4),
            pde({"u": wind}, {"x": "periodic"}, "rk4", order=6, points=(37,)),
            pde({"u": wind + " + 0.1*d_dz(u)"}, {**GIVEN, "z": along}, "rk4", points=(11, 9, 13)),
            pde({"u": wind + " - mean(u)"}, {**AROUND, "z": "periodic"}, "ssprk3", order=4,
                points=(10, 12, 14)))

    def test_heat(self):
        field, late = "0.6 + 0.2*sin(2*pi*x)*y", "cos(9*t)*y + sin(2*pi*x)"
        sides = {"x": {"lower": {"neumann": "0.3*y"}, "upper": {"dirichlet": "0.2*y + sin(7*t)"}},
                 "y": {"lower": {"neumann": "x*cos(6*t)"}, "upper": {"neumann": "-0.4"}}}
        around = {"x": "periodic", "y": sides["y"]}
        self.assert_as_written(
            heat(sides, "ftcs", field, late), heat(sides, "rk4", field, late),
            heat(around, "rk4", "0.7"), heat(around, "ftcs", field),
            heat(HELD, "rk4", "0.5", late), heat(HELD, "ftcs", "0.5"),
            heat({**sides, "z": sides["x"]}, "ftcs", field, points=(9, 8, 11)))

    def test_wave(self):
        mixed = {"x": {"lower": "fixed", "upper": "free"}, "y": "periodic"}
        turned = {"x": "periodic", "y": {"lower": "free", "upper": "fixed"}}
        speed, late = "0.8 + 0.1*cos(2*pi*y)", "sin(9*t)*sin(2*pi*x)"
        self.assert_as_written(
            wave(mixed, 2, speed, late), wave(turned, 4, "0.8"), wave(mixed, 6, "0.9"),
            wave(ALL_AROUND, 8, speed), wave({"x": "fixed", "y": "free"}, 8, "0.9", late),
            wave({**turned, "z": "free"}, 4, speed, points=(12, 11, 13)))

    def test_advection(self):
        turning = "0.5 + 0.3*sin(2*pi*y)", "0.4*cos(2*pi*x) - 0.1"
        brought = {"x": {"dirichlet": "0.3 + 0.2*sin(2*pi*y)"}, "y": "periodic"}
        late = {"dirichlet": "0.3 + 0.2*sin(7*t + 2*pi*x)"}
        for scheme in ("upwind", "lax_wendroff", "weno5"):
            self.assert_as_written(
                advection(ALL_AROUND, scheme, "0.5", "-0.4"),
                advection(ALL_AROUND, scheme, *turning),
                advection(brought, scheme, "0.6", "-0.3"), advection(brought, scheme, "-0.6", "0"),
                advection({"x": "periodic", "y": "outflow"}, scheme, "0.2", "-0.5"),
                advection({**ALL_AROUND, "z": late}, scheme, "0.3", "0.1", "-0.4",
                          points=(9, 11, 13)))


    def carried(self, name, config, *more):
        config = {**config, "device": self.device, "output": {"formats": ["hdf5"]}}
        self.call("run", self.write(f"{name}.yaml", config), "--quiet", "--overwrite", *more)
        with h5py.File(self.directory / f"outputs/{name}/{name}.h5") as file:
            return file["VTKHDF/PointData/u"][-1]

    def test_small_fields_move_as_large_ones(self):
        """As formulas, files and sides have them. A step of four operations for each of three stages
        loses a rounding and a part of the least subnormal number with each of these."""
        for precision, power, least, rounding in (("float32", -119, -149, 2.0**-24),
                                                  ("float64", -996, -1074, 2.0**-53)):
            late = "t", "sin(pi*t)"  # from 0 on

            def config(unit, scheme, kind):
                initial = {"formula": f"if(x < 0.5, {unit}, 0)", "file": {"file": f"{unit}.npy"}}
                config = advection({"x": {"dirichlet": unit} if kind == "side" else "periodic"}, scheme, "1",
                                   points=(100,), steps=200, step=4e-3)
                if kind in late:
                    config["boundary"] = {"x": {"lower": {"dirichlet": f"{unit}*{kind}"}, "upper": "outflow"}}
                return {**config, "precision": precision, "initial": {"u": initial.get(kind, 0)}}
            unit = 2.0**power
            for one in (1.0, unit):
                numpy.save(self.directory / f"{one}.npy", numpy.where(numpy.arange(100) < 50, one, 0))
            for scheme, kind in (("upwind", "formula"), ("lax_wendroff", "formula"), ("weno5", "formula"),
                                 ("weno5", "side"), ("weno5", "file"),
                                 *((scheme, side) for scheme in ("upwind", "weno5") for side in late)):
                with self.subTest(precision, scheme=scheme, kind=kind):
                    large = self.carried("large", config(1.0, scheme, kind))
                    small = self.carried("small", config(unit, scheme, kind))
                    self.assertGreater(numpy.ptp(large), 0.5)
                    self.assertLess(numpy.abs(small.astype("f8") / unit - large).max(),
                                    200 * 12 * (2.0**(least - power) + rounding))
        plane = advection({"x": "periodic", "y": "periodic"}, "weno5", "1", "0.5", points=(40, 30))
        plane = {**plane, "precision": "float32", "initial": {"u": "if(x < 0.5, 1e-36, 0)"}}
        numpy.testing.assert_array_equal(self.carried("one", plane), self.carried("many", plane, "--ranks", 3))


class OnGpu(OnHost):
    device = "cuda"

    def setUp(self):
        super().setUp()
        self.need_gpu()


if __name__ == "__main__":
    support.main()
