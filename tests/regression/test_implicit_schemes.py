"""Implicit steps of heat as its page has them, and what poisson solves, with dense matrices in
numpy: results agree but for the ends of iterations, on the host and, where there is one, a GPU."""

import h5py
import numpy
import support
from test_schemes import ALL_AROUND, Equations, HELD, heat, kind_of

MIXED = {"x": {"lower": {"neumann": "0.3*y*cos(5*t)"}, "upper": {"dirichlet": "y + sin(7*t)"}},
         "y": {"lower": {"dirichlet": "x*cos(3*t)"}, "upper": {"neumann": "-0.4"}}}
TURNED = {"x": "periodic", "y": MIXED["x"] | {"lower": {"neumann": "0.2*sin(9*t)"},
                                            "upper": {"dirichlet": "0.3*cos(6*t)"}}}
FIELD = "0.5 + 0.3*sin(2*pi*x)"
LATE = "sin(2*pi*x)*cos(8*t)"


class Matrices:
    """L_a u = ∂(α ∂u/∂a)/∂a of a `heat` config for each axis a, at all points."""

    def __init__(self, config):
        self.equations = Equations(config)
        self.grid, self.sides = self.equations.grid, self.equations.sides["u"]
        self.size = numpy.prod(self.grid.points)
        self.one = numpy.eye(self.size)
        self.axes = [numpy.array([self.along(a, column) for column in self.one]).T
                     for a in self.grid.axes]
        everywhere = numpy.full(self.grid.shape, numpy.nan)
        self.grid.hold(everywhere, self.sides, [(1, 0)])
        self.held = ~numpy.isnan(self.flat(everywhere))

    def flat(self, v):
        return v[self.grid.inside].ravel()

    def along(self, a, values):
        grid, ends = self.grid, {}
        for axis in grid.axes:
            side = self.sides["xyz"[axis]]
            ends["xyz"[axis]] = side if side == "periodic" else {
                end: "free" if kind_of(side, end)[0] == "neumann" else "outflow"
                for end in ("lower", "upper")}
        u, alpha = numpy.zeros(grid.shape), self.equations.diffusivity.copy()
        u[grid.inside] = values.reshape(grid.points[::-1])
        for v in (u, alpha):
            grid.go_on(v, ends, 0)
        faces = ((alpha + grid.beside(alpha, a, 1)) / 2 * (grid.beside(u, a, 1) - u)
                 / grid.spacing[a]**2)
        return self.flat(faces - grid.beside(faces, a, -1))

    def enters(self, t):
        """Sources, and what Neumann sides let in."""
        return self.flat(self.equations.rate_of_heat(numpy.zeros(self.grid.shape), t))

    def on_sides(self, t):
        v = numpy.zeros(self.grid.shape)
        self.grid.hold(v, self.sides, [(1, t)])
        return self.flat(v)

    def solve(self, matrix, right, held):
        free, x = ~self.held, numpy.where(self.held, held, 0)
        right = right[free] - matrix[numpy.ix_(free, self.held)] @ held[self.held]
        x[free] = numpy.linalg.solve(matrix[numpy.ix_(free, free)], right)
        return x


class ImplicitHeat(Matrices):
    def __init__(self, config):
        super().__init__(config)
        self.splits = config["parameters"]["solver"] == "splitting"
        self.u = self.flat(self.equations.state["u"])

    def system(self, tau):
        """W for θ·dt = τ."""
        if not self.splits:
            return self.one - tau * sum(self.axes)
        return numpy.linalg.multi_dot([self.one] + [self.one - tau * axis for axis in self.axes])

    def trapezoidal(self, u, t, step):
        right = step * (sum(self.axes) @ u + self.enters(t + step / 2))
        return u + self.solve(self.system(step / 2), right, self.on_sides(t + step) - u)

    def backward(self, u, end, tau):
        system, enters = self.system(tau), self.enters(end)
        v = self.solve(system, u + tau * enters, self.on_sides(end))
        if not self.splits or len(self.axes) == 1:
            return v
        right = u + tau * (sum(self.axes) @ v + enters) - v
        return v + self.solve(system, right, numpy.zeros(self.size))

    def step(self, scheme, t, dt):
        if scheme == "crank_nicolson":
            self.u = self.trapezoidal(self.u, t, dt)
        elif scheme == "backward_euler":
            self.u = self.backward(self.u, t + dt, dt)
        else:
            part = 2 - 2**0.5
            between = self.trapezoidal(self.u, t, part * dt)
            u = self.u + (between - self.u) / (part * (2 - part))
            self.u = self.backward(u, t + dt, part / 2 * dt)


def implicit(boundary, scheme, solver="splitting", diffusivity="0.4", source="0", points=(11, 9)):
    config = heat(boundary, scheme, diffusivity, source, points, steps=3, step=0.02)
    config["parameters"]["solver"] = solver
    return config


class OnHost(support.Case):
    device = "cpu"

    def found(self, config):
        """u at the end of a run."""
        config = {**config, "device": self.device, "output": {"formats": ["hdf5"]}}
        if "time" in config:
            config["output"]["every"] = {"count": 1}
        self.call("run", self.write("case.yaml", config), "--quiet", "--overwrite")
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            return file["VTKHDF/PointData/u"][-1].ravel()

    def assert_same_steps(self, *cases):
        for number, config in enumerate(cases):
            time = config["time"]
            with self.subTest(number=number, scheme=time["scheme"]):
                anew = ImplicitHeat(config)
                for n in range(3):
                    anew.step(time["scheme"], n * time["step"], time["step"])
                self.assertGreater(numpy.ptp(anew.u), 0.05)
                self.assertLess(numpy.abs(self.found(config) - anew.u).max(), 1e-10)

    def test_splitting(self):
        line = {"x": {"lower": {"neumann": "0.3*cos(5*t)"}, "upper": {"dirichlet": "sin(9*t)"}}}
        self.assert_same_steps(
            *(implicit(sides, scheme, diffusivity=FIELD, source=LATE)
              for scheme in ("backward_euler", "crank_nicolson", "tr_bdf2")
              for sides in (MIXED, TURNED)),
            implicit(ALL_AROUND, "crank_nicolson", diffusivity="0.05"),
            implicit(HELD, "crank_nicolson"),
            implicit({**MIXED, "z": "periodic"}, "tr_bdf2", points=(6, 7, 5)),
            implicit({**TURNED, "z": HELD["x"]}, "crank_nicolson", points=(7, 6, 5), source=LATE),
            implicit(line, "tr_bdf2", diffusivity=FIELD, points=(40,)),
            implicit(line, "backward_euler", points=(33,), source=LATE))

    def test_multigrid(self):
        self.assert_same_steps(
            implicit(MIXED, "backward_euler", "multigrid", FIELD, LATE),
            implicit(TURNED, "crank_nicolson", "multigrid", FIELD),
            implicit(TURNED, "tr_bdf2", "multigrid", source=LATE),
            implicit({**MIXED, "z": HELD["x"]}, "tr_bdf2", "multigrid", FIELD, points=(6, 7, 5)))

    def test_poisson(self):
        still = {"x": {"lower": {"neumann": "0.3*y"}, "upper": {"dirichlet": "0.2 + y"}},
                 "y": {"lower": {"dirichlet": "x"}, "upper": {"neumann": "-0.4"}}}
        around = {"x": "periodic", "y": {"neumann": "0.1"}}
        for boundary, diffusivity, reaction in ((still, "0.7", "0.5"), (around, "0.7", "2"),
                                                (still, FIELD, "1 + y"), (around, FIELD, "0.5")):
            parameters = {"diffusivity": diffusivity, "source": "sin(2*pi*x) + y"}
            config = {"grid": {"points": [12, 9], "upper": [1, 1]}, "boundary": boundary}
            matrices = Matrices({**config, "simulation": "heat", "initial": {"u": "0"},
                                 "parameters": parameters})
            kappa = matrices.flat(matrices.grid.value(reaction))
            expected = matrices.solve(numpy.diag(kappa) - sum(matrices.axes), matrices.enters(0),
                                      matrices.on_sides(0))
            # Transforms, and the relaxation that ends soonest, are those of a number.
            of_numbers = ("fft", "sor") if diffusivity != FIELD else ()
            for method in ("cg", "multigrid", "mg_cg", "jacobi", "gauss_seidel", *of_numbers):
                ends = {} if method == "fft" else {"tolerance": 1e-11, "iterations": 20000}
                with self.subTest(method=method, boundary=boundary, diffusivity=diffusivity):
                    found = self.found({**config, "simulation": "poisson", "parameters": {
                        **parameters, "method": method, "reaction": reaction, **ends}})
                    self.assertLess(numpy.abs(found - expected).max(), 1e-9)


class OnGpu(OnHost):
    device = "cuda"

    def setUp(self):
        super().setUp()
        self.need_gpu()


if __name__ == "__main__":
    support.main()
