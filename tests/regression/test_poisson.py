"""Coefficients and sources of `poisson` that come from files, and what only they can show."""

import importlib.util
import json
import subprocess
import sys
import unittest

import h5py
import numpy

import support
from support import BAD_INPUT, FAILED, ROOT

PICTURES = all(importlib.util.find_spec(name) for name in ("matplotlib", "h5py"))


class Poisson(support.Case):
    def config(self, points=(16, 9), **parameters):
        return {"simulation": "poisson", "device": "cpu", "grid": {"points": list(points)},
                "parameters": parameters, "output": {"formats": ["hdf5"]}}

    def solve(self, config, name):
        self.call("run", self.write(f"{name}.yaml", config), "--quiet", "--overwrite")
        return self.directory / f"outputs/{name}"

    def test_files_and_formulas_are_the_same(self):
        x = numpy.linspace(0, 1, 41)
        for name, values in (("a", 1 + x * x), ("k", x - 0.5), ("f", numpy.sqrt(x))):
            numpy.save(self.directory / f"{name}.npy", values)
        files = {"diffusivity": {"file": "a.npy"}, "reaction": {"file": "k.npy"},
                 "source": {"file": "f.npy"}}
        formulas = {"diffusivity": "1 + x*x", "reaction": "x - 0.5", "source": "sqrt(x)"}
        self.assert_same(self.solve(self.config((41,), **files), "files"),
                         self.solve(self.config((41,), **formulas), "formulas"))

    def test_a_reaction_of_zeros_leaves_the_mean_open(self):
        numpy.save(self.directory / "k.npy", numpy.zeros(20))
        config = self.config((20,), reaction={"file": "k.npy"}, source="cos(2*pi*x)", mean=4)
        config["boundary"] = {"x": "periodic"}
        without = self.config((20,), source="cos(2*pi*x)", mean=4)
        without["boundary"] = {"x": "periodic"}
        self.assert_same(self.solve(config, "zeros"), self.solve(without, "none"))

    def test_equations_of_u_with_files(self):
        x = numpy.linspace(0, 1, 41)
        for name, values in (("k", 1 + x), ("f", numpy.sqrt(x)), ("s", x * x)):
            numpy.save(self.directory / f"{name}.npy", values)
        files = {"diffusivity": "1 + u*u", "reaction": {"file": "k.npy"},
                 "source": {"file": "f.npy"}, "start": {"file": "s.npy"}}
        formulas = {"diffusivity": "1 + u*u", "reaction": "1 + x", "source": "sqrt(x)",
                    "start": "x*x"}
        self.assert_same(self.solve(self.config((41,), **files), "files"),
                         self.solve(self.config((41,), **formulas), "formulas"))
        numpy.save(self.directory / "a.npy", 1 + x)
        config = {"diffusivity": {"file": "a.npy"}, "source": "exp(u)"}
        self.assert_same(self.solve(self.config((41,), **config), "file"),
                         self.solve(self.config((41,), diffusivity="1 + x", source="exp(u)"), "one"))

    def refuse(self, message, config):
        file = self.write("case.yaml", config)
        for command in ("check", "run"):
            _, err = self.call(command, file, code=BAD_INPUT)
            self.assertRegex(err, message)

    def test_faults_of_files(self):
        numpy.save(self.directory / "a.npy", numpy.linspace(1, -1, 16))
        numpy.save(self.directory / "f.npy", numpy.full((9, 16), numpy.nan))
        source = {"file": "a.npy"}
        self.refuse(r"case\.yaml:\d+:\d+: parameters\.source: a\.npy is \[16\], the grid needs "
                    r"\[9\]\[16\]", self.config(source=source))
        self.refuse(r"parameters\.source: f\.npy has nan at ", self.config(source={"file": "f.npy"}))
        self.refuse(r"parameters\.diffusivity: is -0\.0\d+ at x = 0\.53\d* \(a diffusivity is "
                    r"positive everywhere\)", self.config((16,), source=1, diffusivity=source))
        self.refuse(r"parameters\.diffusivity: comes from a file \(of several axes fft takes a formula of one",
                    self.config(source=1, diffusivity=source, method="fft"))
        self.refuse(r"parameters\.source: is inf at x = 0\.2, y = 0\.125 ",
                    self.config(source="1/(x - 0.2)"))
        self.refuse(r"boundary\.x\.dirichlet: is nan at ",
                    {**self.config(source=1), "boundary": {"x": {"dirichlet": "log(y - 0.5)"}}})
        self.refuse(r"case\.yaml:\d+:\d+: boundary: u is not finite at x = 0, y = 0 in float64 ",
                    {**self.config(source=1), "boundary": {"x": {"dirichlet": "log(y)"}}})

    def test_numbers_that_the_precision_does_not_hold(self):
        """As mean, and as values of sides; a side's may fade away where they vary."""
        def config(boundary, **parameters):
            return {**self.config((17,), **{"source": 0, **parameters}), "precision": "float32",
                    "boundary": {"x": boundary}}
        small = r"has no value larger than {} \(float32 has all digits from 1\.2e-38 on"
        for mean in ("1e-50", "1e-43", "1e+50"):
            self.refuse(rf"parameters\.mean: {mean.replace('+', chr(92) + '+')} is beyond what float32 holds",
                        config("periodic", source="cos(2*pi*x)", mean=float(mean)))
        self.refuse(r"boundary\.x\.dirichlet: " + small.format("1e-43"), config({"dirichlet": 1e-43}))
        sides = {"lower": {"dirichlet": 0}, "upper": {"neumann": 1e-46}}
        wide = config(sides)
        wide["grid"]["upper"] = 1e9
        self.refuse(r"boundary\.x\.upper\.neumann: " + small.format("1e-46"), wide)
        fading = self.config(source=1)
        fading.update(precision="float32", boundary={axis: {"dirichlet": "exp(-200*(x + y))"} for axis in "xy"})
        self.solve(fading, "fading")

    def test_what_does_not_converge_is_written(self):
        for name, config in (("sweeps", self.config((33, 33), source=1, method="jacobi", iterations=20)),
                             ("steps", self.config((33, 33), source="9*exp(u)", iterations=8))):
            file = self.write(f"{name}.yaml", config)
            _, err = self.call("run", file, "--quiet", code=FAILED)
            self.assertRegex(err, "poisson: after .* is asked for")
            self.assertEqual(self.files(f"outputs/{name}"), [f"{name}.h5", f"{name}.log"])
            self.assertRegex(self.info(f"outputs/{name}")["head"], r"h5: the run came to its end, but poisson: after ")
            told = json.loads(self.call("info", "--json", f"outputs/{name}")[0])
            self.assertFalse(told["complete"])
            self.assertRegex(told["state"], "^the run came to its end, but poisson: after .* is asked for")

    def leaves(self, result, name, a):
        """What is left of -div(a grad u) = 1 between sides at 0, in each row of it over the sum of a at
        its faces, as numpy finds it; and u."""
        with h5py.File(result / f"{name}.h5") as file:
            u = file["VTKHDF/PointData/u"][-1]
        x, y = ((a.take(range(1, len(a)), axis) + a.take(range(len(a) - 1), axis)) / 2 for axis in (1, 0))
        left = 1 / (len(a) - 1)**2 + numpy.diff((x * numpy.diff(u, axis=1))[1:-1], axis=1) \
            + numpy.diff((y * numpy.diff(u, axis=0))[:, 1:-1], axis=0)
        faces = (x[:, 1:] + x[:, :-1])[1:-1] + (y[1:] + y[:-1])[:, 1:-1]
        return abs(left) / faces, u

    def jumping(self, a, **parameters):
        numpy.save(self.directory / "a.npy", a)
        config = self.config(a.shape, diffusivity={"file": "a.npy"}, source=1, **parameters)
        config["boundary"] = {axis: {"dirichlet": 0} for axis in "xy"}
        return config

    def squares_at_random(self):
        squares = numpy.random.default_rng(1).random((33, 33)) > 0.8
        return numpy.kron(numpy.where(squares, 1e6, 1), numpy.ones((2, 2)))[:65, :65]

    def test_squares_at_random(self):
        """Where coefficients are large in places that meet at corners cycles do not help; another
        method does, which the advice names, to what numpy makes of the same equations."""
        a = self.squares_at_random()
        _, err = self.call("run", self.write("cycles.yaml", self.jumping(a, method="mg_cg")),
                           "--quiet", code=FAILED)
        self.assertRegex(err, r"cycles have stopped to help: method: amg_cg may do")
        result = self.solve(self.jumping(a, method="amg_cg", iterations=200), "aggregates")
        left, u = self.leaves(result, "aggregates", a)
        self.assertLess(left.max(), 1e-10 * abs(u).max())

    def test_auto_goes_on_where_cycles_do_not_help(self):
        a = self.squares_at_random()
        left, u = self.leaves(self.solve(self.jumping(a), "auto"), "auto", a)
        self.assertLess(left.max(), 1e-10 * abs(u).max())
        log = (self.directory / "outputs/auto/auto.log").read_text()
        self.assertIn("mg_cg, which has not come to the tolerance after 100 cycles; amg_cg went on", log)
        self.assertRegex(log, r"method +amg_cg after mg_cg")
        by_cycles = self.solve(self.jumping(1 + a[:, ::-1] * 0), "cycles")
        with h5py.File(self.directory / "outputs/auto/auto.h5") as random, \
                h5py.File(by_cycles / "cycles.h5") as smooth:
            tables, unused = random["gridstride/tables"], smooth["gridstride/tables"]
            self.assertEqual(len(tables["iterations/iteration"]), 101)
            self.assertLess(tables["amg_cg/relative_residual"][-1], 1e-10)
            self.assertEqual(len(unused["amg_cg/iteration"]), 0)
            self.assertTrue(numpy.isnan(smooth["gridstride/diagnostics/relative_residual"][-1]))
            self.assertTrue(numpy.isnan(random["gridstride/diagnostics/estimated_error"][-1]))
        # Who asks for so many cycles gets no more.
        file = self.write("few.yaml", self.jumping(a, iterations=100))
        _, err = self.call("run", file, "--quiet", code=FAILED)
        self.assertRegex(err, "after 100 cycles .* amg_cg may do")

    def test_what_roundings_leave_is_no_failure(self):
        """In disks of 10^6 roundings of a row are larger than the tolerance times the source."""
        random = numpy.random.default_rng(5)
        y, x = numpy.indices((257, 257)) / 256
        a = numpy.ones((257, 257))
        for _ in range(30):
            (at_y, at_x), radius = random.random(2), random.uniform(0.02, 0.12)
            a[(y - at_y)**2 + (x - at_x)**2 < radius**2] = 1e6
        for precision, bound in (("float64", 1e-12), ("float32", 1e-6)):
            config = {**self.jumping(a, method="amg_cg"), "precision": precision}
            left, u = self.leaves(self.solve(config, "disks"), "disks", a)
            self.assertLess(left.max(), bound * abs(u).max())
            with h5py.File(self.directory / "outputs/disks/disks.h5") as file:
                self.assertGreater(file["gridstride/diagnostics/relative_residual"][-1], 1e-10)

    def plot(self, *arguments, code=0):
        done = subprocess.run([sys.executable, "-B", ROOT / "tools/plot_convergence.py", *arguments],
                              cwd=self.directory, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    @unittest.skipUnless(PICTURES, "matplotlib or h5py is not installed")
    def test_pictures_of_convergence(self):
        results = [self.solve(self.config((17, 17), source=1, method=method), method)
                   for method in ("sor", "multigrid")]
        results.append(self.solve(self.config((17, 17), source="exp(u)"), "newton"))
        system = {"simulation": "linear_system", "device": "cpu", "output": {"formats": ["hdf5"]},
                  "parameters": {"matrix": {"stencil": "5-point", "points": [9, 9]},
                                 "rhs": {"expression": "i + j", "count": 2}}}
        results.append(self.solve(system, "sparse"))
        self.plot(*results, "--output", "all.png")
        self.assertTrue((self.directory / "all.png").read_bytes().startswith(b"\x89PNG"))
        direct = self.solve(self.config((17,), source=1), "direct")
        self.assertIn("direct.h5: no residuals of iterations", self.plot(direct, code=1))
        self.assertIn("missing.h5: no residuals of iterations", self.plot("missing.h5", code=1))

    def test_faults_of_equations_of_u(self):
        numpy.save(self.directory / "s.npy", numpy.zeros(16))
        self.refuse(r"parameters\.start: s\.npy is \[16\], the grid needs \[9\]\[16\]",
                    self.config(source="exp(u)", start={"file": "s.npy"}))
        self.refuse(r"parameters\.diffusivity: is -0\.\d+ at x = \d.* \(a diffusivity is positive",
                    self.config(source="exp(u)", diffusivity="x - 0.1"))
        self.refuse(r"parameters\.start: is nan at ", self.config(source="exp(u)", start="log(x - 2)"))
        self.refuse(r"boundary\.x\.dirichlet: the formula depends on 'u'|unknown name 'u'",
                    {**self.config(source="exp(u)"), "boundary": {"x": {"dirichlet": "u"}}})

    def test_sources_out_of_balance(self):
        config = {**self.config(source=1), "boundary": {"x": "periodic", "y": {"neumann": 0}}}
        self.refuse(r"parameters\.source: its integral .* come to 1, 1 of the integral of the "
                    r"magnitudes", config)

    def test_grids_that_do_not_fit(self):
        self.refuse(r"grid\.points: poisson: u needs \d+ x ", self.config((10**6, 10**6), source=1))


if __name__ == "__main__":
    support.main()
