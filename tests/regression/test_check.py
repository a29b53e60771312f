"""What `check` and `run` find before anything is computed, and what `check` says of a run."""

import math
import os
import unittest

import support
from support import BAD_INPUT, heat


class Refusals(support.Case):
    """`check` and `run` refuse the same, and leave nothing behind."""

    def refuse(self, config, message, *more):
        file = self.write("case.yaml", config)
        before = self.files()
        for arguments in (["check", file], ["run", file, "--quiet"], ["run", file, file]):
            _, err = self.call(*arguments, *more, code=BAD_INPUT)
            self.assertRegex(err, message)
            self.assertEqual(self.files(), before)
            self.assertFalse((self.directory / "outputs").is_dir())

    def test_steps_that_do_not_get_to_the_end(self):
        self.refuse(heat(time={"end": 1, "step": 1e-17}),
                    r"case\.yaml:\d+:\d+: time\.step: 1e-17 s is too short for an end at 1 s")
        self.refuse(heat(time={"end": 1e300}), r"time\.step: \S+ s is too short")
        self.refuse(heat(grid={"points": [17, 16], "upper": [1e-200, 1e-200]}),
                    r"time\.step: comes out as 0 s \(spacings or coefficients")

    def test_moments_without_number(self):
        self.refuse(heat(checkpoint={"every": {"time": 1e-13}}),
                    r"checkpoint\.every: makes 1e\+11 checkpoints \(at most 1e\+09 are possible\)")
        self.refuse(heat(output={"every": {"time": 1e-200}}), r"output\.every: makes \S+ outputs")

    def test_formulas_that_are_no_numbers(self):
        self.refuse(heat(initial={"u": "1/(x - 0.5)"}),
                    r"case\.yaml:\d+:\d+: initial\.u: is inf at x = 0\.5, y = 0 \(")
        self.refuse(heat(boundary={"x": {"dirichlet": "sqrt(t - 1)"}, "y": "periodic"}),
                    r"boundary\.x\.dirichlet: is nan at x = 0, y = 0, t = 0 \(")
        self.refuse(heat(parameters={"diffusivity": 1, "source": "log(x - 0.5)"}),
                    r"parameters\.source: is nan at x = 0\.0625, y = 0 \(")
        self.refuse(heat(precision="float32", initial={"u": "1e39*x"}),
                    r"initial\.u: is \S+ at x = 0\.375, y = 0 \(float32 does not reach that far\)")
        self.refuse(heat(verify={"exact": {"u": "log(x)"}, "tolerance": {"max": 1}}),
                    r"verify\.exact\.u: is -inf at x = 0, y = 0 \(")

    def test_a_tolerance_of_nothing(self):
        for exact in ({}, None):
            self.refuse(heat(verify={"exact": exact, "tolerance": {"max": 0}}),
                        r"verify\.tolerance: a tolerance needs an exact solution")
        self.refuse({"simulation": "pde", "device": "cpu", "grid": {"points": [8, 8]},
                     "boundary": {"x": "periodic", "y": "periodic"},
                     "fields": {"q": "vector"}, "equations": {"q": ["1", "2"]},
                     "initial": {"q": [0, 0]}, "time": {"end": 1},
                     "verify": {"exact": {"q": {}}, "tolerance": {"max": 0}}},
                    r"verify\.tolerance: a tolerance needs an exact solution")

    def test_equations_that_no_scheme_can_follow(self):
        """Diffusion of the wrong sign, and a grid too coarse for what damps short waves."""
        def message(growth, field):
            return (rf"case\.yaml:\d+:\d+: equations\.{field}: the shortest waves of the grid grow "
                    rf"fastest, by {growth} 1/s, and faster still on a finer grid, which no scheme")

        def case(points, upper, equations, scheme=None, **more):
            return {"simulation": "pde", "grid": {"points": points, "upper": upper},
                    "boundary": {"x": "periodic"}, "equations": equations,
                    "initial": {name: 0 for name in equations},
                    "time": {"end": 1, **(scheme or {})}, **more}
        adaptive = {"scheme": "rk45", "step": "adaptive"}
        self.refuse(case(9, 9, {"v": "laplace(v) + u", "u": "-D*laplace(u) - u"},
                         constants={"D": 0.5}), message(1, "u"))  # 0.5*4 - 1
        self.refuse(case([8, 8], [8, 8], {"q": "laplace(laplace(q))"}, adaptive,
                         boundary={"x": "periodic", "y": {"neumann": {"x": 0, "y": 0}}},
                         fields={"q": "vector"}, initial={"q": [0, 0]}), r"equations\.q: the short")
        # Of -u_xx - u_xxxx waves are damped from k = 1 on; the first grid has those up to 1/2.
        flame = {"u": "-laplace(u) - laplace(laplace(u))"}
        self.refuse(case(32, 128, flame, {"scheme": "rk4"}), message(r"0\.1875", "u"))
        self.call("check", self.write("case.yaml", case(128, 128, flame, {"scheme": "rk4"})))
        # Of each other, and by a coefficient that has the wrong sign everywhere.
        for scheme in ({"scheme": "rk4"}, adaptive):
            self.refuse(case(16, 1, {"u": "laplace(v)", "v": "laplace(u)"}, scheme),
                        r"equations\.u: together with what the equation of 'v' does the shortest "
                        r"waves of the grid grow fastest, by 1024 1/s, and faster still")
        self.refuse(case(16, 1, {"u": "-(1 + 0.1*sin(2*pi*x))*laplace(u)"}), r"equations\.u: the short")
        self.refuse(case(16, 1, {"u": "(1 + u)*laplace(v)", "v": "laplace(u)"}),
                    r"equations\.u: together with what the equation of 'v' does the short")
        for runs in ({"u": "sin(2*pi*x)*laplace(u)"}, {"u": "-(1 + u)*laplace(v)", "v": "laplace(u)"},
                     {"u": "-(1 + u)*laplace(u) - laplace(laplace(u))"}):
            self.call("check", self.write("case.yaml", case(16, 16, runs, {"scheme": "rk4"})))
        # In modes, where the matrix of a mode has the eigenvalue 0 but for rounding.
        self.call("check", self.write("case.yaml", case(
            [12, 13, 13], [1, 1, 1], {"u": "laplace(u)", "v": "d2_dxdz(u) - v^3", "w": "laplace(w)"},
            {"scheme": "imex_bdf2", "step": 0.01}, space={"derivatives": "spectral"},
            boundary={"x": "periodic", "y": "periodic", "z": "periodic"})))

    def test_grids_that_have_too_many_points_to_look_at(self):
        grid = {"points": [14, 14 * 10**12]}
        for name, parameters in (("heat", {"diffusivity": "1 + x*y"}), ("wave", {"speed": "1 + x*y"}),
                                 ("advection", {"velocity": {"x": "y", "y": "x + t"}})):
            case = {"simulation": name, "grid": grid, "parameters": parameters,
                    "initial": {"u": "x*y"}, "time": {"end": 1},
                    "output": {"formats": ["hdf5"]}}
            self.refuse(case, rf"grid\.points: {name}: u needs \d+ x 1\.4 PiB")

    def test_matrices_that_are_no_numbers(self):
        system = {"simulation": "linear_system", "parameters": {
            "matrix": {"expression": "1/(i - 3 + j)", "size": 5}, "rhs": 1}}
        self.refuse(system, r"parameters\.matrix: is inf in float64 at i = 0, j = 3 \(")
        system["parameters"]["matrix"]["expression"] = "1 + i"
        system["parameters"]["method"] = "cholesky"
        self.refuse(system, r"parameters\.method: cholesky needs a symmetric matrix")

    def test_places_that_cannot_be_written(self):
        self.write("file", "")
        self.refuse(heat(), r"output\.directory: '.*/file' is not a folder", "--output", "file")
        self.refuse(heat(), r"output\.directory: '.*/file' is not a folder",
                    "--output", "file/below/it")
        (self.directory / "taken/case.h5").mkdir(parents=True)
        self.refuse(heat(), r"'taken/case\.h5' is in the way", "--output", "taken")

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_folders_that_may_not_be_written(self):
        (self.directory / "closed").mkdir(mode=0o500)
        self.refuse(heat(), r"closed' cannot be written to \(Permission denied\)",
                    "--output", "closed/case")

    def test_references(self):
        for name, content, message in (("missing.h5", None, r"there is no file missing\.h5"),
                                       ("text.h5", "not HDF5", r"text\.h5: ")):
            if content is not None:
                self.write(name, content)
            self.refuse(heat(verify={"reference": name}), r"verify\.reference: " + message)

    def test_a_reference_of_another_grid(self):
        self.call("run", self.write("small.yaml", heat(grid={"points": [9, 9]})), "--quiet",
                  "--output", "small")
        self.refuse(heat(verify={"reference": "small/small.h5"}),
                    r"verify\.reference: small/small\.h5 holds a grid of 9 x 9 points")


class Forecasts(support.Case):
    def forecast(self, config, **options):
        out, _ = self.call("check", self.write("case.yaml", config), **options)
        return [line for line in out.splitlines() if line.startswith("#")]

    def test_very_many_checkpoints(self):
        lines = self.forecast(heat(checkpoint={"every": {"time": 1.1e-11}, "keep": 1}))
        self.assertTrue(any("for 909090910 checkpoints (1 stay)" in line for line in lines), lines)

    def test_everything_is_finite(self):
        for time in ({"end": 1, "step": 1e-15}, {"end": 1e-300}, {"end": 1e-9, "step": 1e-20}):
            lines = self.forecast(heat(time=time))
            text = "\n".join(line for line in lines if not line.startswith("# device"))
            self.assertRegex(text, r"# time step: \S+ s, [1-9]\d* steps?, at least \d")
            self.assertNotRegex(text, r"\b(inf|nan)\b| -\d")

    def test_adaptive_steps(self):
        """Have no number that is known before."""
        config = {"simulation": "pde", "device": "cpu", "grid": {"points": 8}, "boundary": {"x": "periodic"},
                  "equations": {"u": "-u"}, "initial": {"u": "1 + x"}, "time": {"end": 10, "step": "adaptive", "scheme": "rk45"},
                  "output": {"formats": ["hdf5"]}}
        for every, more in (({"steps": 1}, r"2 snapshots, more where steps are shorter, "), ({"count": 1}, r"2 snapshots, \d")):
            text = "\n".join(self.forecast({**config, "output": {"formats": ["hdf5"], "every": every}}))
            self.assertRegex(text, r"# time step: adaptive, at most 10 s, 1 step, more where steps are shorter, at least ")
            self.assertRegex(text, "# disk: .* for " + more)

    def test_too_little_disk_is_a_warning(self):
        config = heat(grid={"points": [300, 300]}, output={"every": {"count": 10**9}},
                      time={"end": 1e-6})
        lines = self.forecast(config)
        self.assertRegex(lines[-1], r"# warning: the results will take \d+\.\d PiB in outputs/case, "
                                    r"(the disk has \S+ \S+ free|the quota leaves)")

    def test_limits_of_memory(self):
        """Under `ulimit -v` the figures are those of the limit, and what fits is not refused."""
        limit = 1 << 30
        options = {**support.limited_to(limit), "environment": {"OMP_NUM_THREADS": "1"}}
        side = int(math.sqrt(limit / 8 / 1.5))  # one such array fits, two do not
        plain = {"initial": {"u": "x"}, "boundary": {"x": "periodic", "y": "periodic"}}
        file = self.write("case.yaml", heat(grid={"points": [side, side]}, **plain))
        _, err = self.call("check", file, code=BAD_INPUT, **options)
        self.assertRegex(err, r"heat: u needs 2 x \d+\.\d [MG]iB.*, the host has [89]\d\d\.\d MiB free\n")
        self.forecast(heat(), **options)
        side = int(math.sqrt(limit / 8 / 2.7))  # two such arrays fit, a third one aside does not
        lines = self.forecast(heat(grid={"points": [side, side]}, **plain), **options)
        self.assertIn("# output: the computation waits while fields are copied out (there is no "
                      "memory for a copy aside)", lines)


if __name__ == "__main__":
    support.main()
