"""Systems of equations whose steps several processes share: the same bits as of one process."""

import json
import random
import re
import struct

import support
from support import FAILED
from shared import NeedsGpu, REACTION, Shared, pde


def random_system(rng):
    """A system in 1D to 3D with some of what a file may have."""
    dims = rng.randint(1, 3)
    axes = "xyz"[:dims]
    points = [rng.randint(6, 9) for _ in axes]
    points[-1] = rng.randint(30, 48)
    place, time = "(" + " + ".join(axes) + ")", rng.choice(("0.3", "sin(20*t)"))
    kinds = [{"dirichlet": f"0.5 + 0.1*{place}*{time}"}, {"neumann": f"0.1*{place}*{time}"},
             {"robin": [f"1 + 0.2*{place}", f"0.3*{place} + {time}"]}, "outflow"]
    field = f"(1 + 0.3*sin(3*{place})*{time})"
    equations = rng.choice((
        REACTION,
        {"u": f"div({field}*0.02*grad(u)) - u^3 + u"},
        {"u": f"0.03*laplace(u) - 0.2*u*d_d{axes[-1]}(u) + 0.1*cos{place}*{time}"},
        {"u": f"0.01*laplace(u) + v - u", "v": f"-0.3*d_d{axes[-1]}(u) + 0.02*laplace(v)",
         "w": "div((0.01 + u^2*0.01)*grad(w)) + 0.1*exp(-w^2)"},
        {"u": "0.02*laplace(u) - 1e-5*laplace(laplace(u))"},
        {"u": f"(0.01 + 0.01*mean(u^2))*laplace(u) - u + integral({field}*d_d{axes[-1]}(u)^2)/max(u)",
         "v": "0.02*laplace(v) + min(v) - mean((u - mean(u))*v)"}))
    sides = {axis: "periodic" if rng.random() < 0.5 else
             {"lower": rng.choice(kinds), "upper": rng.choice(kinds)} for axis in axes}
    config = pde(equations, grid={"points": points if dims > 1 else points[0]}, boundary=sides,
                 initial={name: f"0.5 + 0.3*sin(5*{place} + {i})" for i, name in enumerate(equations)},
                 precision=rng.choice(("float32", "float64")),
                 time={"end": 0.05, "scheme": rng.choice(("euler", "ssprk2", "ssprk3", "rk4"))})
    if rng.random() < 0.3:
        config["events"] = [{"at": [0.01, 0.033], "set": {"u": "u*0.9 + 0.01*max(u)"}}]
    if rng.random() < 0.3:
        config["stop"] = {"when": "max(u) > 0.85"}
    if rng.random() < 0.3:
        config["output"] = {**config["output"], "derived": {"g": "d_dx(u) + u^2"}}
    return config


def lasting_systems():
    """Formulas of space that arrays hold, also beyond sides and of names with sides."""
    yield pde({"u": "div(exp(-(x - y)^2)/(1 + sqrt(x*y + 1))*0.02*grad(u))"},
              boundary={"x": {"robin": ["1 + y", "x"]}, "y": {"neumann": 0}})
    for precision in ("float32", "float64"):
        yield pde({"u": "div((1 + 0.3*sin(3*x + y))*0.02*grad(u))"}, grid={"points": [9, 8, 20]}, precision=precision,
                  boundary={"x": "periodic", "y": {"dirichlet": "x"}, "z": {"neumann": "0.1*x"}}, initial={"u": "uniform(5)"},
                  time={"end": 0.2, "scheme": "rk4"})
        yield pde({"u": "div((1 + 0.3*sin(3*x + y)*t)*0.02*grad(u)) + 0.01*d_dx(exp(x*y)*0.7*d_dy(u))"},
                  grid={"points": [40, 50]}, precision=precision, boundary={"x": {"dirichlet": "y"}, "y": "periodic"},
                  initial={"u": "uniform(5)"}, time={"end": 0.02, "scheme": "ssprk2"})
    sides = {"x": "periodic", "y": {"neumann": "0.1*x"}}
    yield pde({"u": "laplace(0.02*w) + 0.1*u*exp(-x*y)"}, let={"w": "sin(3*x + y)*0.3*u + u^3"}, boundary={"u": sides, "w": sides},
              precision="float32", time={"end": 0.05, "scheme": "rk4"})


class Systems(Shared):
    def test_random_systems(self):
        rng = random.Random(7)
        for n in range(8):
            config = random_system(rng)
            with self.subTest(n=n, config=config):
                self.assert_shared(config, (2 + n % 2,))

    def test_many_ranks(self):
        self.assert_shared(pde(REACTION, time={"end": 1, "scheme": "euler"}), (2, 3, 5, 8))
        self.assert_shared(pde({"u": "0.02*laplace(u)"}, grid={"points": 67}, precision="float32",
                               initial={"u": "sin(9*x)"}, boundary={"x": {"dirichlet": "t"}}), (8,))

    def test_random_numbers(self):
        self.assert_shared(pde({"u": "0.02*laplace(u) + 0.1*noise(3)"}, boundary={
            "x": {"neumann": "y"}, "y": "periodic"}, initial={"u": "uniform(5)"},
            time={"end": 0.1, "scheme": "euler"}), (2, 5))

    def test_names_with_sides(self):
        self.assert_shared(
            pde({"u": "laplace(mu)"}, let={"mu": "1e-2*u - 1e-4*laplace(u) + 1e-2*u^3"},
                boundary={"u": {"x": "periodic", "y": {"lower": {"neumann": "0.1*x"},
                                                       "upper": {"dirichlet": 0.3}}},
                          "mu": {"x": "periodic", "y": {"lower": {"neumann": 0},
                                                        "upper": {"dirichlet": "x*t"}}}},
                initial={"u": "0.5 + 0.2*sin(5*x)*y"}, time={"end": 0.02}), (2, 3))

    def test_vectors_and_walls_carried_from_upwind(self):
        self.assert_shared(
            pde({"h": "-div(q)", "q": "-div(outer(q, q)/h + 4.9*h^2*identity)"},
                fields={"q": "vector"}, space={"convection": "upwind"},
                boundary={"x": "wall", "y": "wall"},
                initial={"h": "1 + 0.2*exp(-30*(x - 0.4)^2 - 40*(y - 0.3)^2)", "q": [0, 0]},
                grid={"points": [19, 41]}), (2, 3))

    def test_fluxes_through_sides(self):
        for order, count in ((2, 3), (4, 2)):
            self.assert_shared(
                pde({"u": "div((0.02 + 0.01*u*y)*grad(u))", "w": "div(0.03*grad(w)) - w*u"},
                    space={"order": order}, precision="float32" if order == 2 else "float64",
                    boundary={"x": {"lower": {"flux": "0.1*y"}, "upper": {"neumann": 0}},
                              "y": {"lower": {"flux": "0.1 + x*t"}, "upper": {"flux": "0.05*x"}}}),
                (count,))

    def test_turns_along_other_axes(self):
        self.assert_shared(pde({"u": "0.02*laplace(u) + 0.1*d_dx(u)"}, initial={"u": "cos(3*x)*y"},
                               boundary={"x": "antiperiodic", "y": "outflow"}), (4,))

    def test_turns_around_the_slowest_axis(self):
        """Odd fields beside even ones, in each way to make steps; names, too."""
        equations = {"u": "0.02*laplace(u) + 3*u*(v - u^2)/(1 + mean(u^2)) + 0.1*sin(9*t)*d_dy(u)",
                     "v": "0.01*laplace(v) + u^2 - v + 0.1*abs(d_dx(u))"}
        sides = {"u": {"x": {"lower": {"dirichlet": 0}, "upper": "outflow"}, "y": "antiperiodic"},
                 "v": {"x": {"neumann": "0.1*x"}, "y": "periodic"}}
        times = ({"end": 0.05, "scheme": "euler"}, {"end": 0.1}, {"end": 0.1, "scheme": "rk45"},
                 {"end": 0.1, "scheme": "ssprk3", "step": "adaptive", "tolerance": 1e-4})
        for n, time in enumerate(times):
            self.assert_shared(pde(equations, boundary=sides, grid={"points": [11, 133]}, time=time,
                                   precision=("float64", "float32")[n % 2]), ((2, 5), (3,), (2,), (5,))[n])
        self.assert_shared(pde(
            {"u": "0.02*laplace(u - p) + 0.1*d_dy(p)"}, let={"p": "u^3 + laplace(u)/999"},
            boundary={"p": {"x": "wall", "y": "antiperiodic"}, "u": {"x": "wall", "y": "antiperiodic"}},
            grid={"points": [9, 67]}, stop={"steady": 1e-3}), (3,))

    def test_turns_around_in_1d_and_3d(self):
        self.assert_shared(pde({"u": "0.01*laplace(u) + d_dx(u) + u - u^3"}, grid={"points": 101},
                               boundary={"x": "antiperiodic"}, initial={"u": "cos(3*x)"},
                               time={"end": 0.02, "scheme": "euler"}), (5,))
        self.assert_shared(pde({"u": "div((0.02 + 0.01*sin(2*pi*x))*grad(u))"}, grid={"points": 101},
                               boundary={"x": "antiperiodic"}, initial={"u": "cos(pi*x)"}), (3,))
        self.assert_shared(pde(
            {"u": "laplace(u) - sin(u)"}, fields={"u": {"order": 2}}, initial={"u": "cos(3*z)*x", "u_t": "y"},
            boundary={"x": "periodic", "y": "antiperiodic", "z": "antiperiodic"},
            grid={"points": [5, 6, 31]}, time={"end": 0.3, "scheme": "leapfrog"}), (2,))

    def test_fields_of_a_file(self):
        values = [0.01 * i for i in range(11 * 34)]
        (self.directory / "u.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        self.assert_shared(pde(REACTION, initial={
            "u": {"file": "u.raw", "type": "float64", "shape": [34, 11]}, "v": "u/20"}), (3,))

    def test_values_over_the_whole_grid(self):
        """Of fields, differences, the time and each other, which steps follow, too."""
        equations = {"u": "(0.01 + 0.02*mean(u^2))*laplace(u) - max(v)*u + 0.1*integral(cos(9*t)*d_dy(v)^2)",
                     "v": "0.02*laplace(v) + mean(u - mean(u*v)) - u*min(u)"}
        for precision in ("float32", "float64"):
            for sides in ("periodic", {"neumann": "x"}):
                self.assert_shared(pde(equations, precision=precision, boundary={
                    "x": sides if sides == "periodic" else {"dirichlet": "0.5 + y*t"}, "y": sides}), (2, 3))
        self.assert_shared(pde({"u": "0.02*laplace(u) - u*integral(u^2)"}, grid={"points": 67},
                               initial={"u": "1 + sin(9*x)"}, boundary={"x": {"neumann": 0}}), (4,))

    def test_values_over_the_whole_grid_of_several_steps(self):
        self.assert_shared(pde(
            {"u": "0.02*laplace(u) + u - integral(u^3)"}, grid={"points": [7, 8, 70]},
            boundary={"x": "periodic", "y": {"dirichlet": "x"}, "z": "periodic"},
            initial={"u": "uniform(3)"}, stop={"when": "mean(u) > 0.6"},
            events=[{"at": [0.03], "set": {"u": "u - mean(u)"}}],
            time={"end": 0.1, "scheme": "euler"}), (2, 4))

    def test_ends_that_all_find(self):
        """Of the planes of each rank, with what lies beside them: rates, sides that hold, names with sides."""
        decay = {"u": "0.1*laplace(u) - 3*u + 0.2*mean(u)", "v": "-v + u*p"}
        let = {"p": "u^2 + laplace(u)/99"}
        cases = (({"steady": 0.4}, {"x": {"dirichlet": "0.1*y"}, "y": {"dirichlet": "0.2*x"}}),
                 ({"steady": 1e-9, "when": "max(d2_dy2(d2_dy2(u))) < 60"}, {"x": "periodic", "y": "periodic"}),
                 ({"when": "mean(u*p) < 0.02*(1 + t) * (min(v) < 9)"}, {"x": "periodic", "y": {"neumann": 0}}))
        for n, (stop, sides) in enumerate(cases):
            names = {"p": {"y": "outflow"}} if n == 2 else {}
            self.assert_ends_alike(pde(decay, let=let, stop=stop, boundary={**sides, **names},
                                       precision=("float64", "float32")[n % 2],
                                       grid={"points": [11, 67]}, output={"every": {"time": 0.7}},
                                       time={"end": 9, "scheme": ("euler", "rk4", "ssprk2")[n]}), ((2, 5), (3,), (2,))[n])
        self.assert_ends_by_what_looks_farther()
        self.assert_ends_alike(pde({"u": "laplace(u) - 9*u"}, grid={"points": [5, 4, 31]}, stop={"steady": 1},
                                   boundary={"x": "wall", "y": "periodic", "z": {"dirichlet": 0}},
                                   initial={"u": "x + z"}, time={"end": 9}), (3,))

    def assert_ends_by_what_looks_farther(self):
        """Than a step, at a name with sides; a little below and above what it is."""
        far = "integral((laplace(laplace(laplace(laplace(w)))))^2)"
        config = pde({"u": "1e-300*laplace(u)*cos(t) + 1e-300*w"}, let={"w": "u^2 + 0.001*laplace(u)"},
                     grid={"points": [33, 37]}, initial={"u": "1 + sin(6*x)*exp(-3*y)*sin(40*y)"},
                     boundary={"x": {"neumann": 0}, "y": {"neumann": 0}, "w": {"x": {"neumann": 0}, "y": {"neumann": 0}}},
                     time={"step": 1e-4, "end": 64e-4, "scheme": "euler"}, output={"every": {"count": 1}})
        file = self.write("far.yaml", {**config, "diagnostics": [{"integral": far[len("integral("):-1]}]})
        self.call("run", file, "--output", "far", "--quiet", "--overwrite")
        found = float(re.search(r"(?m)^step 0 .* (\S+)$", (self.directory / "far/far.log").read_text())[1])
        for part, steps in ((1 + 1e-6, 32), (1 - 1e-6, 64)):
            file = self.write("far.yaml", {**config, "stop": {"when": f"{far} < {found*part!r}"}})
            for count in (1, 2, 3):
                self.on_ranks(count, "run", file, "--output", "far", "--quiet", "--overwrite")
                self.assertIn(f"step {steps} time", (self.directory / "far/far.log").read_text())

    def assert_ends_alike(self, config, counts):
        file = self.write("case.yaml", config)
        summary, _ = self.call("run", file, "--output", "one", "--quiet", "--summary", "-", "--overwrite",
                               environment={"OMP_NUM_THREADS": "1"})
        alone = json.loads(summary)
        self.assertIn("ended at t = ", alone["ending"])
        for count in counts:
            with self.subTest(ranks=count, stop=config["stop"]):
                out, _ = self.on_ranks(count, "run", file, "--output", f"of_{count}", "--quiet", "--summary", "-",
                                       "--overwrite")
                self.assertEqual(json.loads(out)["ending"], alone["ending"])
                self.assert_same("one/case.h5", f"of_{count}/case.h5")

    def test_ends_that_cannot_be_found_are_told_once(self):
        for stop, told in (({"steady": 1e-9}, "a rate of change is not finite at"),
                           ({"when": "max(1/(u - u)) < 0"}, "a value in stop.when is not finite somewhere")):
            file = self.write("case.yaml", pde(
                {"u": "0.01*laplace(u) + if(t > 0.04, log(-1 - x)*(y > 0.7), 0)"}, stop=stop, time={"end": 9},
                boundary={"x": "periodic", "y": {"neumann": 0}}, output={"every": {"count": 1}}))
            _, alone = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=FAILED)
            _, err = self.on_ranks(3, "run", file, "--output", "three", "--quiet", "--overwrite", code=FAILED)
            self.assertEqual((alone.count(told), err.count(told)), (1, 1), alone + err)
            self.assertIn(alone.strip(), err)

    def test_steps_that_follow_their_error(self):
        """By all schemes, with some that are rejected, events, ends and values in time."""
        equations = {"u": "0.01*laplace(u) + 30*u*(1 - u)*(u - 0.3)*(1 + sin(40*t)) - 0.1*mean(u)",
                     "v": "0.02*laplace(v) + u - v + 0.01*d_dy(u)^2"}
        for n, scheme in enumerate(("euler", "ssprk2", "ssprk3", "rk4", "rk45")):
            self.assert_shared(pde(
                equations, precision=("float64", "float32")[n % 2], grid={"points": [11, 64]},
                time={"end": 0.3, "scheme": scheme, "step": "adaptive", "tolerance": 1e-3},
                boundary={"x": {"dirichlet": "0.5 + 0.2*y*sin(9*t)"},
                          "y": ("periodic", {"dirichlet": "x*cos(20*t)"}, {"robin": ["1 + x", "t"]})[n % 3]},
                events=[{"at": [0.1, 0.17], "set": {"u": "u + 0.5*exp(-90*(y - 0.5)^2)"}}],
                stop={"when": "max(u) > 3"}), (2 + n % 2,))

    def test_steps_that_follow_their_error_in_1d_and_3d(self):
        burgers = {"u": "0.02*d2_dx2(u) - u*d_dx(u)"}
        self.assert_shared(pde(burgers, grid={"points": 101}, initial={"u": "sin(6*x)"},
                               boundary={"x": {"dirichlet": 0}}, time={"end": 0.05, "step": "adaptive"}), (3,))
        self.assert_shared(pde(
            {"h": "-div(q)", "q": "-div(outer(q, q)/h + 4.9*h^2*identity)"}, fields={"q": "vector"},
            space={"convection": "upwind"}, boundary={"x": "wall", "y": "wall", "z": "wall"},
            initial={"h": "1 + 0.2*exp(-30*(x - 0.4)^2 - 40*(z - 0.3)^2)", "q": [0, 0, 0]},
            grid={"points": [6, 7, 44]}, time={"end": 0.02, "scheme": "ssprk2", "step": "adaptive"}), (2,))

    def test_steps_too_short_to_go_on_are_told_once(self):
        file = self.write("case.yaml", pde(
            {"u": "0.001*laplace(u) + u^3*exp(-90*(y - 0.9)^2)"}, initial={"u": "1 + x"},
            time={"end": 9, "step": "adaptive"}, boundary={"x": "periodic", "y": {"neumann": 0}}))
        _, alone = self.call("run", file, "--output", "one", "--quiet", code=FAILED)
        _, err = self.on_ranks(3, "run", file, "--output", "three", "--quiet", code=FAILED)
        told = re.findall("at t = .*", alone)
        self.assertIn("are too short to go on", told[0])
        self.assertEqual((re.findall("at t = .*", err), len(told)), (told, 1), err)

    def test_schemes_by_their_slopes(self):
        for precision, count in (("float64", 3), ("float32", 2)):
            self.assert_shared(pde(REACTION, grid={"points": [11, 66]}, precision=precision, boundary={
                "x": {"neumann": "y*t"}, "y": "periodic"}, time={"end": 1, "scheme": "rk45"}), (count,))
            self.assert_shared(pde(
                {"u": "laplace(u) - sin(u)*(1 + 0.1*sin(30*t)) - mean(u)"}, fields={"u": {"order": 2}},
                precision=precision, boundary={"x": {"dirichlet": "0.5*cos(t)"}, "y": {"neumann": 0}},
                initial={"u": "0.5 + 0.3*sin(5*x)*cos(3*y)", "u_t": "x"},
                time={"end": 0.3, "scheme": "leapfrog"}), (count,))

    def test_what_lasts_is_found_by_each(self):
        for config in lasting_systems():
            with self.subTest(config=config):
                self.assert_shared(config, (2, 4))


class OnGpu(NeedsGpu):
    def test_what_lasts_is_found_by_each(self):
        """Made by a program of its own: in the place of its array a formula would be fused otherwise."""
        for config in lasting_systems():
            with self.subTest(config=config):
                self.assert_shared_on_gpu(config, transports=("p2p",), counts=(2,))

    def test_systems(self):
        rng = random.Random(3)
        for n in range(4):
            config = random_system(rng)
            with self.subTest(n=n, config=config):
                self.assert_shared_on_gpu(config, transports=("p2p",), counts=(2,))

    def test_systems_in_passes(self):
        for precision in ("float32", "float64"):
            self.assert_shared_on_gpu(
                pde(REACTION, grid={"points": [64, 150]}, precision=precision,
                    time={"end": 4, "scheme": "euler"}, kernels={"system": "march"},
                    boundary={"x": {"dirichlet": "y"}, "y": {"neumann": "x"}}),
                transports=("p2p",))

    def test_long_lines_in_passes(self):
        """Threads have several points, and no rank's begin or end at a multiple of as many."""
        for precision, sides in (("float32", "periodic"), ("float64", {"lower": {"dirichlet": 0.5}, "upper": {"neumann": 0}})):
            self.assert_shared_on_gpu(
                pde(REACTION, grid={"points": 20000}, precision=precision, kernels={"system": "march"},
                    initial={"u": "0.5 + 0.3*sin(40*pi*x)", "v": "0.2 + 0.1*cos(6*pi*x)"},
                    boundary={"x": sides}, time={"end": 3e-5, "scheme": "euler"}),
                transports=("p2p",), counts=(3, 7))

    def test_turns_around_the_slowest_axis(self):
        for equation, scheme in (("0.02*laplace(u) + u - u^3", "euler"), ("0.02*laplace(u) - u*mean(u^2)", "rk4")):
            for precision, points in (("float64", [65, 203]), ("float32", [12, 13, 70])):
                self.assert_shared_on_gpu(pde(
                    {"u": equation}, grid={"points": points}, precision=precision,
                    boundary={"x": {"dirichlet": 0}, "y": "antiperiodic", "z": "antiperiodic"} if len(points) == 3
                    else {"x": {"dirichlet": 0}, "y": "antiperiodic"},
                    time={"end": 0.01, "scheme": scheme}), counts=(2,))

    def test_systems_in_passes_made_in_parts(self):
        """Large grids alone; between passes ranks look at the extremes that a step follows from."""
        config = pde(REACTION, grid={"points": [8192, 4801]}, time={"end": 1e-4, "scheme": "euler"},
                     output={"every": {"count": 1}, "formats": ["hdf5"]}, device="cuda")
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet")
        out, _ = self.on_ranks(2, "run", file, "--output", "shared", "--quiet", "--summary", "-")
        self.assertRegex(json.loads(out)["chosen"]["exchanges"], "in 4 parts")
        self.assert_same("one/case.h5", "shared/case.h5")

    def test_values_over_the_whole_grid(self):
        """By sums that kernels share, and by way of the host; with steps that follow them."""
        equations = {"u": "(0.01 + 0.02*mean(u^2))*laplace(u) - max(v)*u + 0.1*integral(d_dy(v)^2)",
                     "v": "0.02*laplace(v) + mean(u - mean(u*v)) - u*min(u)"}
        for precision, points in (("float32", [301, 203]), ("float64", [20, 21, 70])):
            sides = {"x": {"dirichlet": "y"}, "y": "periodic", "z": {"neumann": "x"}}
            self.assert_shared_on_gpu(
                pde(equations, grid={"points": points}, precision=precision,
                    boundary=dict(list(sides.items())[:len(points)]),
                    time={"end": 2e-3 if points[0] == 301 else 0.02}))

    def test_steps_that_follow_their_error(self):
        equations = {"u": "0.01*laplace(u) + 30*u*(1 - u)*(u - 0.3)*(1 + sin(40*t)) - 0.1*mean(u)",
                     "v": "0.02*laplace(v) + u - v + 0.01*d_dy(u)^2"}
        for n, scheme in enumerate(("euler", "ssprk2", "ssprk3", "rk4", "rk45")):
            self.assert_shared_on_gpu(pde(
                equations, precision=("float64", "float32")[n % 2], grid={"points": [70, 130]},
                time={"end": 0.05, "scheme": scheme, "step": "adaptive", "tolerance": 1e-3},
                boundary={"x": {"dirichlet": "0.5 + 0.2*y*sin(9*t)"},
                          "y": ("periodic", {"dirichlet": "x*cos(20*t)"})[n % 2]},
                events=[{"at": 0.02, "set": {"u": "u + 0.5*exp(-90*(y - 0.5)^2)"}}]), counts=(2,))

    def test_schemes_by_their_slopes(self):
        self.assert_shared_on_gpu(pde(
            REACTION, grid={"points": [70, 130]}, boundary={"x": {"neumann": "y*t"}, "y": "periodic"},
            time={"end": 0.2, "scheme": "rk45"}), transports=("p2p",))
        self.assert_shared_on_gpu(pde(
            {"u": "laplace(u) - sin(u)*(1 + 0.1*sin(30*t))"}, fields={"u": {"order": 2}},
            grid={"points": [70, 130]}, boundary={"x": {"dirichlet": "0.5*cos(t)"}, "y": {"neumann": 0}},
            initial={"u": "0.5 + 0.3*sin(5*x)*cos(3*y)", "u_t": "x"},
            time={"end": 0.1, "scheme": "leapfrog"}), transports=("p2p",))


if __name__ == "__main__":
    support.main()
