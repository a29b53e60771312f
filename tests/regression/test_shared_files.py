"""Files of runs that several processes share: each rank puts its part there, with the bytes of one process."""

import re

import numpy

import support
from support import DONE, FAILED
from shared import (CHECKPOINTS, FLOW, LARGE_2D, LARGE_3D, MPIRUN, Parts, PartsOnGpu, REACTION, SMALL, THREE_STEPS, WAVE,
                    heat, pde)


class OfTheHost(Parts):
    def test_slabs(self):
        self.assert_files(LARGE_2D, (2, 3, 5))
        self.assert_files(SMALL, (2, 3, 5))

    def test_pencils(self):
        self.assert_files(LARGE_2D, (6,), "--set", "ranks=[3,2]")
        self.assert_files(SMALL, (4,), "--set", "ranks=[2,2]")
        self.assert_files(LARGE_3D, (4,), "--set", "ranks=[1,2,2]", precisions=("float64",))

    def test_bricks(self):
        self.assert_files(LARGE_3D, (8,), "--set", "ranks=[2,2,2]")

    def test_numbers_of_the_whole(self):
        """The energy of a wave and the mass of what flows, whatever diagnostics there are."""
        self.assert_files(WAVE, (2, 5), precisions=("float64",))
        self.assert_files({**WAVE, "diagnostics": []}, (4,), "--set", "ranks=[2,2]", precisions=("float32",))
        self.assert_files(FLOW, (3,), precisions=("float64",))
        self.assert_files({**FLOW, "diagnostics": []}, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        small = {"grid": {"points": [31, 33]}, "time": {"end": 0.1}, "output": {"every": {"count": 3}}}
        self.assert_files({**WAVE, **small}, (2, 3))
        self.assert_files({**WAVE, **small}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**FLOW, **small, "grid": {"points": [23, 24, 25]}, "time": {"end": 0.03}}, (8,), "--set", "ranks=[2,2,2]")

    def test_implicit_steps(self):
        for count, parameters in ((2, {}), (3, {"solver": "multigrid"})):
            self.assert_files({**LARGE_2D, "grid": {"points": [401, 303]}, "time": {"scheme": "crank_nicolson", "step": 1e-6, "end": 2e-6},
                               "parameters": {"diffusivity": "1 + x*y", **parameters}}, (count,), precisions=("float64",))

    def test_starts_from_files(self):
        """In the order of memory, and in another one, from which the first rank has all of it for a while."""
        values = numpy.random.default_rng(7).uniform(-1, 1, (1103, 1201))
        numpy.save(self.directory / "c.npy", values)
        numpy.save(self.directory / "fortran.npy", numpy.asfortranarray(values.astype("f4")))
        for name in ("c", "fortran"):
            initial = {"u": {"file": f"{name}.npy"}}
            self.assert_files({**LARGE_2D, "initial": initial}, (3,), precisions=("float64",))
            self.assert_files({**LARGE_2D, "initial": initial}, (4,), "--set", "ranks=[2,2]", precisions=("float32",))
        wave = {**WAVE, "grid": {"points": [1201, 1103]}, "initial": initial,
                "parameters": {"speed": 1, "initial_velocity": initial["u"]}}
        self.assert_files(wave, (2,), precisions=("float64",))
        values[700, 3] = numpy.nan
        numpy.save(self.directory / "c.npy", values)
        file = self.write("case.yaml", {**LARGE_2D, "initial": {"u": {"file": "c.npy"}}})
        _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=support.BAD_INPUT)
        _, err = self.end_of(self.start_ranks(2, "run", file, "--output", "many", "--quiet", "--overwrite"),
                             support.BAD_INPUT, "a file with a value that is not finite")
        self.assertIn(one.strip(), err)

    def test_several_fields(self):
        self.assert_files(pde(REACTION, checkpoint=CHECKPOINTS, time={"end": 0.1, "scheme": "rk4"}), (2, 3))
        self.assert_files(pde(REACTION, checkpoint=CHECKPOINTS, time={"end": 0.1, "scheme": "rk4"}), (4,),
                          "--set", "ranks=[2,2]")

    def test_vectors(self):
        """Of small and large grids, in slabs, pencils and bricks, with their lengths among the norms."""
        water = {"equations": {"h": "-div(q)", "q": "-div(outer(q, q)/h + 4.9*h^2*identity) + 0.01*laplace(q)"},
                 "fields": {"q": "vector"}, "simulation": "pde", "checkpoint": CHECKPOINTS,
                 "initial": {"h": "1 + 0.1*exp(-9*(x - y)^2)", "q": {"x": "0.1*sin(3*y)", "y": "x*y"}},
                 "boundary": {"x": "periodic", "y": "periodic"}}
        small = {**water, "grid": {"points": [33, 37]}, "time": {"end": 0.01, "scheme": "ssprk3"},
                 "output": {"every": {"count": 3}}}
        large = {**water, "grid": {"points": [1103, 601]}, "time": THREE_STEPS, "output": {"every": {"count": 1}}}
        volume = {**small, "grid": {"points": [23, 29, 31]}, "boundary": {**water["boundary"], "z": "periodic"},
                  "initial": {**water["initial"], "q": {"x": "z", "y": "sin(3*x)", "z": "1e-30*(1 + y)"}}}
        self.assert_files(small, (2, 3, 5))
        tiny = {"h": "1", "q": {"x": "1e-200*(1 + y)", "y": "1e-190*x"}}
        self.assert_files({**small, "initial": tiny, "equations": {"h": "0*h", "q": "0*q"}}, (3,), precisions=("float64",))
        self.assert_files({**small, "time": {"end": 0.01, "step": "adaptive", "scheme": "rk45"}}, (3,))
        self.assert_files(volume, (3,))
        self.assert_files(large, (5,), precisions=("float64",))
        self.assert_files(large, (4,), "--set", "ranks=[2,2]", precisions=("float32",))
        self.assert_files({**volume, "diagnostics": []}, (8,), "--set", "ranks=[2,2,2]")
        self.assert_files({**large, "grid": {"points": [303, 401]},
                           "output": {**large["output"], "compression": 3, "formats": ["hdf5"]}}, (2,),
                          way=r"^the first rank \(what is packed or rounded", precisions=("float64",))
        self.assert_files({**small, "output": {**small["output"], "precision": "float32"}}, (3,),
                          way=r"^the first rank \(what is packed or rounded", precisions=("float64",))

    def test_vectors_of_lines(self):
        """One component, which files have as that of a scalar."""
        self.assert_files(pde({"h": "-div(q)", "q": "-0.01*div(outer(q, q)/h) + laplace(q)"}, fields={"q": "vector"},
                              grid={"points": 1501}, boundary={"x": "periodic"}, checkpoint=CHECKPOINTS,
                              initial={"h": "1 + 0.1*sin(2*pi*x)", "q": {"x": "0.1*cos(2*pi*x)"}},
                              time={"step": 1e-9, "end": 3e-9}), (2, 3))

    def test_vectors_from_files(self):
        """With components side by side, in the order of memory and in another one."""
        points = (41, 37)
        values = numpy.random.default_rng(5).uniform(-1, 1, (*points[::-1], 2))
        numpy.save(self.directory / "c.npy", values)
        numpy.save(self.directory / "fortran.npy", numpy.asfortranarray(values.astype("f4")))
        for name in ("c", "fortran"):
            config = pde({"q": "0.1*laplace(q) - q*dot(q, q)"}, fields={"q": "vector"}, grid={"points": [*points]},
                         initial={"q": {"file": f"{name}.npy"}}, checkpoint=CHECKPOINTS, time={"end": 0.01})
            self.assert_files(config, (2, 5))
            self.assert_files(config, (4,), "--set", "ranks=[2,2]", precisions=("float32",))
        values[30, 7, 1] = numpy.inf
        numpy.save(self.directory / "c.npy", values)
        file = self.write("case.yaml", {**config, "initial": {"q": {"file": "c.npy"}}})
        _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=support.BAD_INPUT)
        _, err = self.end_of(self.start_ranks(3, "run", file, "--output", "many", "--quiet", "--overwrite"),
                             support.BAD_INPUT, "a file with a vector that is not finite")
        self.assertIn(one.strip(), err)

    def test_vectors_that_are_not_finite(self):
        """A component, later and at first, and the length of finite ones; the first of all, with the words of one."""
        still = {"fields": {"q": "vector"}, "grid": {"points": [16, 17]}, "time": {"step": 0.1, "end": 1},
                 "output": {"every": {"steps": 1}}}
        for equations, initial in (({"q": "q*dot(q, q)^2"}, {"x": "1", "y": "1 + 30*x*y"}),
                                   ({"q": "0*q"}, {"x": "1", "y": "1/(x - 0.25)"}),
                                   ({"q": "0*q"}, {"x": "1.5e308*y", "y": "1.5e308*x"})):
            file = self.write("case.yaml", pde(equations, initial={"q": initial}, **still))
            _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=None)
            for count in (2, 3):
                process = self.start_ranks(count, "run", file, "--output", "many", "--quiet", "--overwrite")
                _, err = process.communicate(timeout=120)
                self.assertIn(one.strip().splitlines()[0], err)
                self.assertNotEqual(process.returncode, DONE)

    def test_derived_fields(self):
        """With names with sides, coordinates, rates and time, on sides and around axes; those that look farther than a
        step are gathered."""
        flow = {"simulation": "pde", "equations": {"u": "0.01*laplace(u) - w", "q": "0.01*laplace(q) - u*q"},
                "fields": {"q": "vector"}, "let": {"w": "u^2 - 0.5"}, "checkpoint": CHECKPOINTS,
                "initial": {"u": "1 + sin(6*x)*y", "q": {"x": "cos(5*y)", "y": "x"}}}
        sides = {"u": {"x": {"lower": {"dirichlet": "1 + y*cos(9*t)"}, "upper": {"neumann": 0}}},
                 "q": {"x": "wall"}, "w": {"x": {"neumann": 0}}, "y": "periodic"}
        small = {**flow, "grid": {"points": [33, 47]}, "boundary": sides, "time": {"end": 0.01, "scheme": "rk4"},
                 "output": {"every": {"count": 3}, "derived": {
                     "far": "laplace(laplace(u))", "of_name": "laplace(w)", "flux": "u*grad(w) + q",
                     "moved": "u*x*sin(y + t) + dt(u)", "spin": "d_dx(q.y) - d_dy(q.x)"}}}
        volume = {**flow, "grid": {"points": [23, 29, 31]}, "initial": {**flow["initial"], "q": {"x": "z", "y": "x", "z": "y"}},
                  "boundary": {"x": "periodic", "y": "periodic", "z": "periodic"}, "time": {"end": 0.01, "scheme": "euler"},
                  "output": {"every": {"count": 2}, "fields": ["u", "turning"],
                             "derived": {"turning": "curl(q) + x*grad(u)", "all": "div(q)"}}}
        large = {**small, "grid": {"points": [1103, 601]}, "time": THREE_STEPS, "output": {
            "every": {"count": 1}, "derived": {"slope": "grad(u)", "bend": "laplace(w)"}}}
        self.assert_files(small, (2, 3, 5))
        self.assert_files({**small, "grid": {"points": [33, 67]}, "time": {"step": "adaptive", "scheme": "rk45", "end": 0.01}},
                          (2,))
        self.assert_files({**small, "time": {"end": 0.01, "scheme": "euler"}}, (3,), way="^the first rank, of the whole grid",
                          precisions=("float64",))
        self.assert_files(pde({"u": "0.01*laplace(u) + u - u^3"}, boundary={"x": "periodic", "y": "antiperiodic"},
                              initial={"u": "cos(pi*y)*(1 + x*(1 - x))"}, checkpoint=CHECKPOINTS,
                              output={"every": {"count": 2}, "derived": {"slope": "grad(u)", "bend": "laplace(u)"}}), (3,))
        self.assert_files(volume, (3,))
        self.assert_files(volume, (8,), "--set", "ranks=[2,2,2]")
        self.assert_files(large, (3,), precisions=("float64",))
        self.assert_files(large, (4,), "--set", "ranks=[2,2]", precisions=("float32",))

    def test_some_of_the_points(self):
        """Of scalars, vectors and derived fields, in slabs, pencils and bricks, also rounded or packed; checkpoints
        have all points."""
        def thin(config, every, **output):
            return {**config, "output": {**config["output"], "every_nth_point": every, **output}}
        self.assert_files(thin(SMALL, 2), (2, 3, 5))
        self.assert_files(thin(SMALL, [3, 30]), (4,), "--set", "ranks=[2,2]")
        self.assert_files(thin({**LARGE_2D, "diagnostics": ["norms", {"probe": {"at": [0.3, 0.7]}}]}, [1, 7]), (2, 5))
        self.assert_files(thin(LARGE_2D, [2, 1]), (6,), "--set", "ranks=[3,2]", precisions=("float32",))
        self.assert_files(thin(LARGE_3D, [3, 1, 2]), (3,), precisions=("float64",))
        self.assert_files(thin(LARGE_3D, 2), (8,), "--set", "ranks=[2,2,2]", precisions=("float32",))
        self.assert_files(thin(WAVE, [5, 3]), (3,), precisions=("float64",))
        flow = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                   initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}},
                   output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}})
        self.assert_files(thin(flow, [2, 3]), (2, 3, 5))
        large = {**flow, "grid": {"points": [1103, 601]}, "time": THREE_STEPS}
        self.assert_files(thin(large, [2, 3]), (3,), precisions=("float64",))
        for output in ({"precision": "float32"}, {"compression": 1}, {"precision": "float32", "compression": 3}):
            packed = {**large, "grid": {"points": [403, 301]}, "output": {**flow["output"], "formats": ["hdf5"]}}
            self.assert_files(thin(packed, [3, 2], **output), (2,),
                              way=r"^the first rank \(what is packed or rounded", precisions=("float64",))

    def test_values_out_of_reach_at_some_points(self):
        """The point that is written is told, and what is not written may be out of reach."""
        config = pde({"u": "0*u"}, grid={"points": [16, 24]}, output={"every": {"count": 1}, "precision": "float32",
                                                                      "every_nth_point": [3, 2]})
        for initial, code in (("1 + 1e300*(x > 0.35)*(x < 0.4)*(y > 0.74)*(y < 0.76)", FAILED),
                              ("1 + 1e300*(x > 0.4)*(x < 0.5)", DONE)):
            file = self.write("case.yaml", {**config, "initial": {"u": initial}})
            _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=code)
            _, err = self.end_of(self.start_ranks(3, "run", file, "--output", "many", "--quiet", "--overwrite"), code,
                                 "values out of reach")
            self.assertIn(one.strip(), err)

    def test_derived_fields_that_are_not_finite(self):
        for value in ("1/(u - 0.5)", "[1, 1/(u - 0.5)]", "[1.5e308*u, 1.5e308*u]"):
            for initial in ("x + 0.125", "1 - x"):
                file = self.write("case.yaml", pde({"u": "-1"}, initial={"u": initial}, grid={"points": [16, 18]},
                                                   time={"step": 0.0625, "end": 0.5}, output={
                                                       "every": {"steps": 1}, "derived": {"v": value}}))
                _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=None)
                process = self.start_ranks(3, "run", file, "--output", "many", "--quiet", "--overwrite")
                _, err = process.communicate(timeout=120)
                self.assertIn(one.strip().splitlines()[0], err)
                self.assertNotEqual(process.returncode, DONE)

    def test_derived_fields_of_the_whole_grid_are_gathered(self):
        self.assert_files(pde(REACTION, output={"every": {"count": 2}, "derived": {"w": "u - mean(u)"}}), (3,),
                          way="^the first rank, of the whole grid", precisions=("float64",))

    def test_probes(self):
        """Between points of several ranks, around axes, of components, lengths and derived fields, with norms and
        without; lengths that nobody asks for may be beyond all numbers."""
        def probe(*at, **field):
            return {"probe": {"at": [*at], **field}}
        probes = [probe(0.31, 0.47), probe(0.99, 0.999), probe(0, 1)]
        self.assert_files({**SMALL, "diagnostics": ["norms", *probes]}, (2, 3, 5))
        self.assert_files({**SMALL, "diagnostics": probes}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_2D, "diagnostics": [*probes, "norms"]}, (3,), precisions=("float64",))
        small = {"grid": {"points": [31, 33]}, "time": {"end": 0.1}, "output": {"every": {"count": 3}}}
        self.assert_files({**WAVE, **small, "diagnostics": probes}, (3,), precisions=("float64",))
        flow = {**FLOW, **small, "grid": {"points": [23, 24, 25]}, "diagnostics": [probe(0.2, 0.98, 0.5), "norms"]}
        self.assert_files(flow, (8,), "--set", "ranks=[2,2,2]", precisions=("float32",))
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}}, diagnostics=[
                         probe(0.97, 0.985, field="h"), probe(0.3, 0.4, field="q.y"), probe(0.5, 0.6, field="q.magnitude"),
                         probe(0.7, 0.1, field="slope.x"), probe(0.71, 0.22, field="slope.magnitude")],
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}})
        self.assert_files(config, (2, 3))
        self.assert_files({**config, "diagnostics": ["norms", *config["diagnostics"]]}, (2, 5))
        self.assert_files(pde({"q": "0*q"}, fields={"q": "vector"}, initial={"q": {"x": "1.5e308*y", "y": "1.5e308*x"}},
                              diagnostics=[probe(0.5, 0.6, field="q.x")]), (3,), precisions=("float64",))

    def test_events(self):
        """Of scalars and vectors, several at a time, with what they look at beside a point, on sides and around axes, names
        with sides, steps of one length and adaptive ones."""
        flow = {"simulation": "pde", "grid": {"points": [33, 47]}, "fields": {"q": "vector"}, "let": {"w": "u^2 - 0.5"},
                "equations": {"u": "0.01*laplace(u) - w", "q": "0.01*laplace(q) - u*q"}, "checkpoint": CHECKPOINTS,
                "initial": {"u": "1 + sin(6*x)*y", "q": {"x": "cos(5*y)", "y": "x"}}, "output": {"every": {"count": 3}},
                "boundary": {"u": {"x": {"lower": {"dirichlet": "1 + y*cos(9*t)"}, "upper": {"neumann": 0}}, "y": {"neumann": 0}},
                             "q": {"x": "wall", "y": "wall"}, "w": {"x": {"neumann": 0}, "y": {"neumann": 0}}},
                "time": {"end": 0.01, "scheme": "rk4"}, "events": [
                    {"at": [0.002, 0.005], "set": {"u": "u + 1e-4*laplace(u) + t*y", "q": "0.9*q + 1e-3*grad(w)"}},
                    {"at": 0.005, "set": {"q": "u*q"}}, {"at": 0.0063, "set": {"u": "u*(1 + 0.1*x)"}}]}
        around = {**flow, "boundary": {"x": "periodic", "y": "periodic"}}
        self.assert_files(flow, (2, 3, 5))
        self.assert_files(around, (3,))
        self.assert_files(around, (4,), "--set", "ranks=[2,2]")
        self.assert_files(flow, (4,), "--set", "ranks=[2,2]", precisions=("float64",))
        self.assert_files({**flow, "grid": {"points": [33, 67]}, "time": {"step": "adaptive", "scheme": "rk45", "end": 0.01}},
                          (3,))
        volume = {**around, "grid": {"points": [23, 24, 25]}, "time": {"end": 3e-3, "scheme": "ssprk2"},
                  "initial": {**flow["initial"], "q": {"x": "z", "y": "x", "z": "y"}},
                  "boundary": {"x": "periodic", "y": "periodic", "z": "periodic"},
                  "events": {"at": 1e-3, "set": {"u": "u + x", "q": "q + 1e-3*curl(q)"}}}
        self.assert_files(volume, (8,), "--set", "ranks=[2,2,2]")
        self.assert_files({**flow, "grid": {"points": [1103, 601]}, "time": THREE_STEPS, "output": {"every": {"count": 1}},
                           "events": {"at": 1.5e-8, "set": {"u": "u*y"}}}, (3,), precisions=("float64",))

    def test_events_that_look_farther(self):
        """Than a step, or at the whole: the first rank does them."""
        config = pde({"u": "0.01*laplace(u) - u^3"}, checkpoint=CHECKPOINTS, time={"end": 0.01, "scheme": "euler"})
        for given in ("u - 1e-9*laplace(laplace(u))", "u - mean(u)"):
            self.assert_files({**config, "events": {"at": 0.005, "set": {"u": given}}}, (3,), precisions=("float64",))

    def test_events_that_are_not_finite(self):
        """The first value in the first field that is set, with the words of one process."""
        for given in ({"u": "u/(y - 0.5)", "v": "1/(x - x)"}, {"v": "1/(y - 0.75) + 1/(y - 0.25)", "u": "u"}):
            config = pde({"u": "0.01*laplace(u)", "v": "0*v"}, grid={"points": [16, 20]}, initial={"u": "1 + x", "v": "0"},
                         events={"at": 0.01, "set": given}, time={"end": 0.02})
            file = self.write("case.yaml", config)
            _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=None)
            self.assertIn("is not finite at", one)
            for count in (2, 3):
                process = self.start_ranks(count, "run", file, "--output", "many", "--quiet", "--overwrite")
                _, err = process.communicate(timeout=120)
                self.assertIn(one.strip().splitlines()[0], err)
                self.assertNotEqual(process.returncode, DONE)

    def test_values_over_the_whole_grid(self):
        """In the equations and in a condition that ends the run."""
        config = pde({"u": "0.1*laplace(u) - mean(u) + 0.1*u^2", "v": "0.1*laplace(v)"}, checkpoint=CHECKPOINTS,
                     initial={"u": "sin(3*x) + y", "v": "x"}, time={"scheme": "rk4", "end": 0.05},
                     stop={"when": "max(u) < 0.9"})
        self.assert_files(config, (2, 3))

    def test_limits_of_first_values(self):
        """The step is found where the first rank has never had them: at sides, around an axis, of names with sides,
        of what depends on time, from files in another order than that of memory."""
        points = [41, 37, 29]
        values = numpy.random.default_rng(3).uniform(0.2, 1, points[::-1])
        numpy.save(self.directory / "u.npy", numpy.asfortranarray(values))
        config = {"simulation": "pde", "grid": {"points": points},
                  "equations": {"u": "div(w*grad(u)) - u^3*cos(9*t)", "v": "0.1*laplace(v)/(1 + u^2) + u*d_dx(v)"},
                  "let": {"w": "0.1*u^2"}, "initial": {"u": {"file": "u.npy"}, "v": "x*y - z"},
                  "boundary": {"u": {"x": {"lower": {"dirichlet": "2 + y"}, "upper": {"robin": ["1 + y", 1]}}},
                               "v": {"x": {"neumann": 0}}, "y": "periodic", "z": {"dirichlet": 1},
                               "w": {"x": {"neumann": 0}, "z": {"neumann": 0}}},
                  "time": {"scheme": "ssprk3", "end": 2e-3}, "checkpoint": CHECKPOINTS, "output": {"every": {"count": 2}}}
        self.assert_files(config, (2, 3))
        self.assert_files(config, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        _, err = self.call("run", self.write("bad.yaml", {**config, "equations": {"u": "-u*laplace(u)", "v": "0"}}),
                           "--output", "one", "--quiet", "--overwrite", code=support.BAD_INPUT)
        _, many = self.end_of(self.start_ranks(3, "run", "bad.yaml", "--output", "many", "--quiet", "--overwrite"),
                              support.BAD_INPUT, "equations that no scheme can follow")
        self.assertIn(err.strip(), many)

    def test_lines(self):
        self.assert_files(heat(grid={"points": 1500001}, boundary={"x": "periodic"}, initial={"u": "sin(6*pi*x)"},
                               time={"step": 1e-14, "end": 3e-14}, checkpoint=CHECKPOINTS,
                               output={"every": {"count": 1}}), (3,), precisions=("float64",))

    def test_values_whose_squares_are_beyond_all_numbers(self):
        self.assert_files({**LARGE_2D, "initial": {"u": "1e150*sin(pi*x)*(1 + y)"}}, (3,), precisions=("float64",))
        self.assert_files({**SMALL, "initial": {"u": "1e-200*sin(pi*x)*(1 + y)"}}, (3,), precisions=("float64",))

    def test_what_is_packed_or_rounded_goes_through_the_first_rank(self):
        for output in ({"compression": 3}, {"precision": "float32"}):
            config = {**LARGE_2D, "output": {**LARGE_2D["output"], **output}}
            self.assert_files(config, (3,), way=r"^the first rank \(what is packed or rounded", precisions=("float64",))

    def test_others_go_on(self):
        file = self.write("case.yaml", {**LARGE_2D, "device": "cpu"})
        self.call("run", file, "--output", "one", "--quiet")
        self.on_ranks(3, "run", file, "--output", "many", "--quiet", "--set", "time.end=2e-8")
        self.on_ranks(2, "run", file, "--output", "many", "--quiet", "--restart")
        self.assert_same("one/case.h5", "many/case.h5")

    def test_others_go_on_with_vectors(self):
        file = self.write("case.yaml", pde({"q": "0.1*laplace(q) - q*dot(q, q)"}, fields={"q": "vector"},
                                           initial={"q": {"x": "sin(2*pi*x)", "y": "cos(2*pi*y)"}},
                                           checkpoint=CHECKPOINTS, output={"every": {"time": 0.05}}))
        self.call("run", file, "--output", "one", "--quiet")
        self.on_ranks(5, "run", file, "--output", "many", "--quiet", "--set", "time.end=0.05")
        self.on_ranks(2, "run", file, "--output", "many", "--quiet", "--restart")
        self.assert_same("one/case.h5", "many/case.h5")

    def test_ranks_that_see_other_files(self):
        """Another folder of the same name, with nothing in it, or with a file of the same name in it."""
        file = self.directory / self.one(LARGE_2D)
        for folder in ("elsewhere", "elsewhere/many"):
            (self.directory / folder).mkdir()
            ranks = []
            for place in (".", "elsewhere"):
                ranks += [":"] if ranks else []
                ranks += ["-n", "1", "-wdir", self.directory / place, support.PROGRAM, "run", file, "--output", "many",
                          "--quiet", "--overwrite", "--summary", "-"]
            self.assert_as_one(self.start_words(MPIRUN, *ranks),
                               r"^the first rank \(rank 1: many/case\.h5.*: opening failed \(No such file")
            self.assertEqual(self.files("elsewhere"), [])

    def test_as_on_several_machines(self):
        file = self.one(LARGE_2D)
        self.assert_as_one(self.start_on_machines((0, 0, 1), "run", file, "--output", "many", "--quiet", "--overwrite",
                                                  "--summary", "-"))

    def fill_the_disk(self, config, place, limit, shown):
        file = self.write("case.yaml", config)
        words = [MPIRUN]
        for rank in range(3):
            limited = ["bash", "-c", f'ulimit -f {limit}; exec "$0" "$@"'] if rank == place else []
            words += [":"] if rank else []
            words += ["-n", "1", *limited, support.PROGRAM, "run", file, "--output", "one", "--quiet", "--overwrite"]
        _, err = self.end_of(self.start_words(*words), FAILED, f"a full disk of rank {place}")
        self.assertEqual(len(re.findall(rf"(?m)^one/case{shown}: ", err)), 1, err)
        self.assertNotRegex(err, r"rank \d: ")

    def test_the_disk_of_a_rank_is_full(self):
        """All end with what it says, and the outputs before can be read. Of two small fields the first two ranks have
        one each."""
        config = pde(REACTION, grid={"points": [1009, 1031]}, time={"step": 1e-5, "end": 1e-4})
        for place in range(2):
            with self.subTest(rank=place):
                self.fill_the_disk({**config, "output": {"formats": ["hdf5"], "every": {"steps": 1}}}, place, 40000, r"\.h5")
                out, _ = self.call("info", "one")
                self.assertIn("did not come to its end", out)
                self.fill_the_disk({**config, "output": {"formats": [], "every": {"count": 1}},
                                    "checkpoint": {"every": {"steps": 2}}}, place, 9000, r"_\d+\.checkpoint")
                self.assertEqual([name for name in self.files("one") if "checkpoint" in name], [])

    def test_values_that_are_not_finite(self):
        """The first of all ranks, with the words of one process."""
        config = pde({"u": "u^2", "v": "v^2*(1 + x)"}, initial={"u": "1 + y*(1 - y)", "v": "1"}, time={"end": 2, "step": 0.01},
                     output={"every": {"steps": 1}})
        file = self.write("case.yaml", config)
        _, one = self.call("run", file, "--output", "one", "--quiet", code=None)
        for count in (2, 3):
            process = self.start_ranks(count, "run", file, "--output", "many", "--quiet", "--overwrite")
            _, err = process.communicate(timeout=120)
            self.assertIn(one.strip().splitlines()[0], err)
            self.assertNotEqual(process.returncode, DONE)


    def test_a_start_that_is_not_finite(self):
        """Is refused with the words of one process, also by who has no array of the whole."""
        for more in ({}, {"verify": {"exact": {"u": "1"}}}):
            file = self.write("case.yaml", heat(grid={"points": [17, 16]}, initial={"u": "1/(x - 0.5)"}, **more))
            _, one = self.call("run", file, "--output", "one", "--quiet", code=support.BAD_INPUT)
            process = self.start_ranks(3, "run", file, "--output", "many", "--quiet")
            _, err = self.end_of(process, support.BAD_INPUT, "a start that is not finite")
            self.assertIn(one.strip(), err)


class OnGpu(PartsOnGpu):
    def test_slabs(self):
        self.assert_files({**LARGE_2D, "diagnostics": []}, (2, 3))
        self.assert_files({**SMALL, "diagnostics": []}, (2, 3))

    def test_pencils_and_bricks(self):
        self.assert_files({**LARGE_2D, "diagnostics": []}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_3D, "diagnostics": []}, (8,), "--set", "ranks=[2,2,2]")

    def test_several_fields(self):
        self.assert_files(pde(REACTION, checkpoint=CHECKPOINTS, diagnostics=[]), (2,))

    def test_some_of_the_points(self):
        thin = {"every": {"count": 1}, "every_nth_point": [2, 3]}
        self.assert_files({**LARGE_2D, "diagnostics": [], "output": thin}, (2, 3))
        self.assert_files({**LARGE_2D, "diagnostics": [], "output": thin}, (4,), "--set", "ranks=[2,2]")

    def test_vectors_and_derived_fields(self):
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}}, diagnostics=[],
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)", "square": "h^2"}})
        self.assert_files(config, (2, 3))
        self.assert_files(config, (4,), "--set", "ranks=[2,2]")
        numpy.save(self.directory / "q.npy", numpy.random.default_rng(3).uniform(0.2, 1, (34, 11, 2)))
        self.assert_files({**config, "initial": {"h": "1 + x", "q": {"file": "q.npy"}}}, (3,), precisions=("float64",))

    def test_events(self):
        config = pde({"u": "0.01*laplace(u) - u*v", "v": "0.01*laplace(v)"}, checkpoint=CHECKPOINTS, diagnostics=[],
                     grid={"points": [33, 70]}, time={"end": 0.01, "scheme": "rk4"},
                     events=[{"at": [0.002, 0.005], "set": {"u": "u + 1e-4*laplace(v) + t*y"}},
                             {"at": 0.005, "set": {"v": "u*v", "u": "0.9*u"}}])
        self.assert_files(config, (2, 3))
        self.assert_files({**config, "time": {"end": 0.01, "scheme": "euler"}, "grid": {"points": [300, 401]}}, (2,))
        self.assert_files({**config, "time": {"end": 0.01, "step": "adaptive"}}, (3,))
        bad = self.write("bad.yaml", {**config, "device": self.DEVICE, "events": {"at": 0.005, "set": {"u": "1/(y - 0.5)"}}})
        _, one = self.call("run", bad, "--output", "one", "--quiet", "--overwrite", code=None)
        self.assertIn("is not finite at", one)
        _, err = self.start_many(3, "run", bad, "--output", "many", "--quiet", "--overwrite").communicate(timeout=120)
        self.assertIn(one.strip().splitlines()[0], err)

    def test_implicit_steps(self):
        for parameters in ({"diffusivity": 1}, {"diffusivity": "1 + x*y"}, {"diffusivity": "1 + x*y", "solver": "multigrid"}):
            for diagnostics in ([], ["norms"]):
                self.assert_files({**LARGE_2D, "time": {"scheme": "crank_nicolson", "step": 1e-6, "end": 2e-6},
                                   "parameters": parameters, "diagnostics": diagnostics}, (2, 3), precisions=("float64",))

    def test_numbers_of_simulations(self):
        """The energy of a wave and the mass of what flows, whatever diagnostics there are."""
        self.assert_files({**WAVE, "diagnostics": []}, (2, 3))
        self.assert_files({**WAVE, "diagnostics": ["norms"]}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**FLOW, "diagnostics": []}, (2, 3))
        self.assert_files({**FLOW, "diagnostics": ["norms"]}, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        line = {**WAVE, "grid": {"points": 400001}, "boundary": {"x": {"lower": "free", "upper": "fixed"}},
                "initial": {"u": "exp(-40*(x - 0.4)^2)"}, "parameters": {"speed": "1 + x", "order": 4}}
        self.assert_files({**line, "time": {"step": 1e-7, "end": 3e-7}}, (3,))

    def test_others_gather(self):
        whole = "^the first rank, of the whole grid"
        file = self.one({**SMALL, "diagnostics": []})
        self.assert_as_one(self.start_ranks(2, "run", file, "--output", "many", "--quiet", "--overwrite", "--summary", "-"),
                           whole)


if __name__ == "__main__":
    support.main()
