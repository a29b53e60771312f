"""Runs whose ranks cut several axes of the grid: the same bits as of one process."""

import json
import math
import struct

import support
from support import BAD_INPUT, FAILED
from shared import CHANGES, NeedsGpu, REACTION, SIDES_IN_TIME, Shared, TURNING, advection, heat, pde, wave


class Cut(Shared):
    DEVICE = "cpu"

    def assert_shared_by(self, config, *ways):
        """By so many parts along the slowest axes, as many as a way has numbers."""
        dims = len(config["grid"]["points"])
        config = {**config, "device": self.DEVICE}
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet", environment={"OMP_NUM_THREADS": "1"})
        expected = self.contents("one", "*.vti")
        self.assertGreater(len(expected), 2)
        for way in ways:
            with self.subTest(parts=way):
                parts = [1] * (dims - len(way)) + list(way)
                out, _ = self.on_ranks(math.prod(way), "run", file, "--output", "parts", "--quiet", "--overwrite",
                                       "--set", f"ranks={parts}", "--summary", "-")
                told = json.loads(out)["chosen"]["ranks"]
                for axis, count in zip("xyz", parts[:-1]):
                    if count > 1:
                        self.assertRegex(told, f"[ ,]{count} along {axis}")
                self.assertEqual(self.contents("parts", "*.vti"), expected)
                self.assert_same("one/case.h5", "parts/case.h5")


class Pencils(Cut):
    """Along the two slowest axes."""

    def test_heat(self):
        self.assert_shared_by(heat(grid={"points": [17, 23]}), (2, 2), (3, 3), (4, 1), (2, 3))
        self.assert_shared_by(
            heat(grid={"points": [7, 13, 14]}, initial={"u": "x*y + z"}, limits={"trip_steps": 2},
                 boundary={"x": {"dirichlet": "y + z"}, "y": {"lower": {"neumann": "x*z"}, "upper": {"dirichlet": "x"}},
                           "z": {"lower": {"dirichlet": "x"}, "upper": {"neumann": "y"}}}), (2, 3))

    def test_heat_that_changes_in_time(self):
        for sides in (SIDES_IN_TIME, {"x": "periodic", "y": {"lower": {"dirichlet": "x*sin(40*t)"},
                                                              "upper": {"neumann": "t + x"}}}):
            for n, scheme in enumerate(("ftcs", "rk4")):
                self.assert_shared_by(
                    heat(boundary=sides, parameters=CHANGES, grid={"points": [16, 19]}, initial={"u": "sin(2*pi*x)*y"},
                         time={"end": 0.01, "scheme": scheme}, precision=("float64", "float32")[n]), (2, 2), (1, 4), (3, 2))

    def test_heat_in_3d_with_all_that_may_change(self):
        self.assert_shared_by(
            heat(grid={"points": [5, 12, 13]}, initial={"u": "x*y + z"},
                 boundary={"x": {"neumann": "z*t*y"}, "y": "periodic", "z": {"dirichlet": "x*sin(9*t) + y"}},
                 parameters={"diffusivity": "1 + z*(1 - z)*y", "source": "z*t + y"}), (2, 2), (3, 2))

    def test_coefficients_of_a_file(self):
        points = [6, 11, 12]
        values = [1 + 0.01 * (i * i % 89) for i in range(points[0] * points[1] * points[2])]
        (self.directory / "speed.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        speed = {"file": "speed.raw", "type": "float64", "shape": points[::-1]}
        for y in ("periodic", "fixed"):
            self.assert_shared_by(wave(grid={"points": points}, boundary={"x": "free", "y": y, "z": "periodic"},
                                       parameters={"order": 2, "speed": speed}), (2, 2), (3, 1))
        self.assert_shared_by(heat(grid={"points": points}, initial={"u": "x*y + z"},
                                   boundary={"x": "periodic", "y": {"dirichlet": 1}, "z": {"neumann": 1}},
                                   parameters={"diffusivity": speed, "source": speed},
                                   time={"end": 0.002}), (2, 2), (3, 1))

    def test_waves(self):
        for order, points in ((2, [13, 19]), (4, [21, 17]), (8, [33, 24])):
            for n, sides in enumerate(({"x": "periodic", "y": {"lower": "fixed", "upper": "free"}},
                                       {"x": "free", "y": "periodic"})):
                self.assert_shared_by(wave(grid={"points": points}, boundary=sides, precision=("float64", "float32")[n],
                                           parameters={"speed": "1 + x*y^2", "order": order, "source": "x*y"}), (2, 2), (3, 2))
        self.assert_shared_by(wave(grid={"points": [9, 17, 16]}, initial={"u": "sin(2*pi*z)*cos(2*pi*x)"},
                                   boundary={"x": "periodic", "y": "free", "z": "periodic"},
                                   parameters={"speed": 1, "order": 8}), (2, 2), (4, 2))

    def test_waves_from_points_behind_layers(self):
        sources = [{"at": [0.31, 0.52], "frequency": 4, "amplitude": 2}, {"at": [0.5, 0.0], "frequency": 9, "delay": 0.01},
                   {"at": [0.9, 0.999], "frequency": 3}]
        layers = {"thickness": 9, "strength": 0.5}
        self.assert_shared_by(
            wave(grid={"points": [40, 41]}, boundary={"x": "absorbing", "y": "absorbing"},
                 parameters={"speed": 1, "order": 2, "ricker": sources[::2], "absorbing": layers}), (2, 2), (3, 2))
        self.assert_shared_by(
            wave(grid={"points": [22, 27]}, boundary={"x": "periodic", "y": "periodic"}, precision="float32",
                 parameters={"speed": 1, "order": 4, "ricker": sources, "source": "sin(20*t)*x"}), (3, 2))

    def test_flows(self):
        for n, (scheme, sides) in enumerate((("weno5", {"x": {"lower": {"dirichlet": "y"}, "upper": "outflow"}, "y": "periodic"}),
                                             ("weno5", {"x": "periodic", "y": {"dirichlet": "x*t"}}),
                                             ("lax_wendroff", {"x": "outflow", "y": {"dirichlet": "1 + x"}}),
                                             ("lax_wendroff", {"x": "periodic", "y": "periodic"}),
                                             ("upwind", {"x": "periodic", "y": "outflow"}))):
            for velocity in ({"x": 0.7, "y": -1}, {"x": "y - 0.4", "y": "0.5 - x*y"}, {"x": -0.2, "y": "1 + y"}):
                self.assert_shared_by(
                    advection(scheme, grid={"points": [41, 37]}, boundary=sides, parameters={"velocity": velocity},
                              time={"end": 0.05, "scheme": scheme}, precision=("float64", "float32")[n % 2]),
                    (2, 2), ((4, 1), (1, 3), (3, 2))[n % 3])

    def test_flows_that_turn(self):
        """Steps follow the velocities of all ranks, or are as long as the file says."""
        for scheme, step in (("weno5", "auto"), ("lax_wendroff", 0.002), ("upwind", "auto")):
            self.assert_shared_by(
                advection(scheme, parameters={"velocity": TURNING}, grid={"points": [40, 43]},
                          boundary={"x": {"dirichlet": "sin(20*t)*y"}, "y": "periodic"},
                          time={"scheme": scheme, "end": 0.05, "step": step}), (2, 2), (4, 1), (3, 2))

    def test_flows_in_3d(self):
        for n, scheme in enumerate(("weno5", "lax_wendroff", "upwind")):
            self.assert_shared_by(
                advection(scheme, grid={"points": [6, 29, 30]}, initial={"u": "x*y + z"}, time={"end": 0.02, "scheme": scheme},
                          boundary={"x": "periodic", "y": ("outflow", "periodic")[n % 2], "z": {"dirichlet": "x*t + y"}},
                          precision=("float64", "float32")[n % 2],
                          parameters={"velocity": {"x": 0.3, "y": "z*t - 0.4", "z": "0.5 - y"}}), (2, 2), (3, 1))

    def test_what_a_flow_fails_in_is_told_once(self):
        velocity = {"x": 1, "y": "if(abs(t - 0.03885) < 0.0012, log(x - 0.7), 1)"}
        file = self.write("case.yaml", advection("upwind", parameters={"velocity": velocity}, device=self.DEVICE))
        _, alone = self.call("run", file, "--output", "one", "--quiet", code=FAILED)
        _, err = self.on_ranks(4, "run", file, "--output", "four", "--quiet", "--set", "ranks=[2,2]", code=FAILED)
        self.assertEqual((alone.count("velocity.y is"), err.count("velocity.y is")), (1, 1), err)
        self.assertIn(alone.strip(), err)

    def test_systems(self):
        self.assert_shared_by(pde(REACTION, time={"end": 1, "scheme": "euler"}, grid={"points": [19, 34]}),
                              (2, 2), (3, 3), (4, 1))
        self.assert_shared_by(
            pde({"u": "div((1 + 0.3*sin(3*x + y)*t)*0.02*grad(u)) - u^3 + 0.2*u*d_dx(u)", "v": "0.02*laplace(v) + u - v"},
                grid={"points": [5, 17, 18]}, precision="float32", time={"end": 0.02, "scheme": "rk4"},
                boundary={"x": {"neumann": "0.1*y*t"}, "y": {"robin": ["1 + 0.2*x", "0.3*z + t"]}, "z": "periodic"}), (2, 2))

    def test_systems_that_look_at_places_and_random_numbers(self):
        self.assert_shared_by(
            pde({"u": "0.02*laplace(u) + 0.1*noise(3) + x*y"}, boundary={"x": "periodic", "y": {"neumann": "x"}},
                initial={"u": "uniform(5)"}, grid={"points": [20, 21]}, time={"end": 0.1, "scheme": "euler"}), (2, 2), (3, 2))
        self.assert_shared_by(
            pde({"u": "laplace(mu)"}, let={"mu": "1e-2*u - 1e-4*laplace(u) + 1e-2*u^3"}, grid={"points": [24, 25]},
                boundary={"u": {"x": "periodic", "y": {"lower": {"neumann": "0.1*x"}, "upper": {"dirichlet": 0.3}}},
                          "mu": {"x": "periodic", "y": {"lower": {"neumann": 0}, "upper": {"dirichlet": "x*t"}}}},
                initial={"u": "0.5 + 0.2*sin(5*x)*y"}, time={"end": 0.002}), (2, 2))

    def test_vectors_by_slopes_with_events(self):
        self.assert_shared_by(
            pde({"h": "-div(q)", "q": "-div(outer(q, q)/h + 4.9*h^2*identity)"}, fields={"q": "vector"},
                space={"convection": "upwind"}, boundary={"x": "wall", "y": "wall"}, grid={"points": [29, 41]},
                initial={"h": "1 + 0.2*exp(-30*(x - 0.4)^2 - 40*(y - 0.3)^2)", "q": [0, 0]},
                events=[{"at": [0.03], "set": {"h": "h*1.01"}}], time={"end": 0.05, "scheme": "ssprk2"}), (2, 2))
        self.assert_shared_by(
            pde({"u": "0.02*laplace(u) + u^2 - u*y"}, grid={"points": [31, 39]}, boundary={"x": {"dirichlet": "y*t"},
                "y": "outflow"}, time={"end": 0.02, "scheme": "rk45", "step": 1e-3}), (2, 2), (1, 4))

    def test_steps_that_follow_their_error(self):
        """The worst one is looked for at own points, and told with its place in the whole grid."""
        for n, (equations, sides, scheme) in enumerate((
                ({"u": "0.02*laplace(u) + 3*u*(1 - u)*cos(20*t)"}, {"x": {"dirichlet": "y*t"}, "y": {"neumann": "0.1*x"}}, "rk45"),
                ({"u": "0.01*laplace(u) - u*v^2 + 0.1", "v": "0.02*laplace(v) + u*v^2 - v"}, {"x": "periodic", "y": "periodic"}, "rk45"),
                ({"u": "d_dx(v)", "v": "d_dx(u) + 0.01*d2_dy2(v)"}, {"x": "periodic", "y": "outflow"}, "rk45"))):
            self.assert_shared_by(
                pde(equations, grid={"points": [33, 37]}, boundary=sides, precision=("float64", "float32")[n % 2],
                    initial={name: "0.5 + 0.3*sin(5*x + 2)*exp(-20*(y - 0.5)^2)" for name in equations},
                    events=[{"at": [0.03], "set": {"u": "u*1.01"}}],
                    time={"end": 0.1, "scheme": scheme, "step": "adaptive"}), (2, 2), ((3, 1), (1, 3), (3, 2))[n])
        self.assert_shared_by(
            pde({"u": "div((0.02 + 0.01*u^2)*grad(u)) - u^3"}, grid={"points": [6, 25, 26]}, initial={"u": "sin(5*x + 3*y)*z"},
                boundary={"x": "periodic", "y": {"dirichlet": "x*t"}, "z": "periodic"},
                time={"end": 0.05, "scheme": "rk45", "step": "adaptive"}), (2, 2))

    def test_limits_of_the_step_are_those_of_own_points(self):
        """They follow from fields that are largest at a cut, and not from what is wrong beyond it."""
        self.assert_shared_by(
            pde({"u": "0.02*laplace(u) - d_dx(u)^2"}, grid={"points": [24, 26]}, time={"end": 0.05, "scheme": "rk4"},
                initial={"u": "exp(-40*(x - 0.5)^2 - 30*(y - 0.5)^2)"}, boundary={"x": "periodic", "y": "periodic"}),
            (2, 2), (3, 2))

    def test_others_go_on_with_other_cuts(self):
        config = heat(boundary=SIDES_IN_TIME, parameters=CHANGES, grid={"points": [31, 33]}, device=self.DEVICE,
                      time={"end": 0.5}, checkpoint={"every": {"steps": 10**9}})
        for name, first, second in (("many", (2, 2), (3, 1)), ("few", (1, 3), (2, 2))):
            self.assert_a_signal_stops_and_others_go_on(
                name, config, counts=(first[0] * first[1], second[0] * second[1]),
                options=[("--set", f"ranks={list(first)}"), ("--set", f"ranks={list(second)}")])

    def test_others_go_on_with_flows(self):
        """Where the turn of axes, and the speeds that steps follow, come from the checkpoint."""
        for name, scheme in (("turns", "lax_wendroff"), ("stages", "weno5")):
            self.assert_a_signal_stops_and_others_go_on(
                name, advection(scheme, parameters={"velocity": TURNING}, time={"end": 4, "scheme": scheme}, device=self.DEVICE,
                                grid={"points": [31, 33]}, checkpoint={"every": {"steps": 10**9}}), counts=(4, 3),
                options=[("--set", "ranks=[2,2]"), ("--set", "ranks=[3,1]")])


class Bricks(Cut):
    """Along x of 3D grids, too."""

    def test_heat(self):
        self.assert_shared_by(
            heat(grid={"points": [11, 10, 9]}, initial={"u": "x*y + z"}, limits={"trip_steps": 2},
                 boundary={"x": {"lower": {"dirichlet": "y + z"}, "upper": {"neumann": "y*z"}}, "y": "periodic",
                           "z": {"lower": {"dirichlet": "x"}, "upper": {"neumann": "y"}}}), (2, 2, 2), (3, 1, 2))
        self.assert_shared_by(
            heat(grid={"points": [14, 9, 11]}, initial={"u": "x*y + z"}, precision="float32",
                 boundary={"x": "periodic", "y": {"neumann": "z*t*x"}, "z": {"dirichlet": "x*sin(9*t) + y"}},
                 parameters={"diffusivity": "1 + z*(1 - z)*x", "source": "z*t + x"},
                 time={"end": 0.01, "scheme": "rk4"}), (2, 2, 2))

    def test_waves(self):
        """With coefficients of a file, layers along x, and points at cuts."""
        points = [13, 12, 11]
        values = [1 + 0.01 * (i * i % 89) for i in range(math.prod(points))]
        (self.directory / "speed.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        speed = {"file": "speed.raw", "type": "float64", "shape": points[::-1]}
        self.assert_shared_by(
            wave(grid={"points": points}, boundary={"x": "absorbing", "y": "periodic", "z": "free"},
                 parameters={"order": 4, "speed": speed, "absorbing": {"thickness": 3, "strength": 0.5},
                             "ricker": [{"at": [0.5, 0.5, 0.5], "frequency": 4}, {"at": [0.4, 0.9, 0.1], "frequency": 9}]}),
            (2, 2, 2))
        self.assert_shared_by(wave(grid={"points": [17, 9, 16]}, boundary={"x": "periodic", "y": "free", "z": "periodic"},
                                   initial={"u": "sin(2*pi*z)*cos(2*pi*x)"}, parameters={"speed": 1, "order": 8}), (3, 1, 2))

    def test_flows(self):
        velocity = {"x": "cos(9*t)*(y - 0.5)", "y": "z*t - 0.4", "z": "sin(5*x)*(1 + t)"}
        for scheme, points, x, parts in (("weno5", [19, 6, 20], "periodic", (2, 1, 2)),
                                         ("lax_wendroff", [9, 10, 8], {"dirichlet": "sin(20*t)*y"}, (2, 2, 2))):
            self.assert_shared_by(
                advection(scheme, grid={"points": points}, initial={"u": "x*y + z"}, time={"end": 0.02, "scheme": scheme},
                          boundary={"x": x, "y": "outflow", "z": {"dirichlet": "x*t + y"}},
                          parameters={"velocity": velocity}), parts)

    def test_others_go_on_with_other_cuts(self):
        self.assert_a_signal_stops_and_others_go_on(
            "some", heat(grid={"points": [15, 14, 13]}, initial={"u": "x*y + z"}, device=self.DEVICE,
                         boundary={"x": {"dirichlet": "y*sin(40*t)"}, "y": "periodic", "z": "periodic"},
                         time={"end": 0.5}, checkpoint={"every": {"steps": 10**9}}), counts=(4, 6),
            options=[("--set", "ranks=[2,1,2]"), ("--set", "ranks=[3,2,1]")])


class BricksOfSystems(Cut):
    def test_systems(self):
        self.assert_shared_by(
            pde({"u": "div((1 + 0.3*sin(3*x + y)*t)*0.02*grad(u)) - u^3 + 0.2*u*d_dx(u) + 0.1*noise(3)"},
                grid={"points": [9, 8, 10]}, precision="float32", time={"end": 0.02, "scheme": "euler"}, initial={"u": "uniform(5)"},
                boundary={"x": {"robin": ["1 + 0.2*y", "0.3*z + t"]}, "y": "periodic", "z": {"neumann": "0.1*x*t"}}), (2, 2, 2))
        self.assert_shared_by(
            pde({"h": "-div(q)", "q": "-div(outer(q, q)/h + 4.9*h^2*identity)"}, fields={"q": "vector"},
                space={"convection": "upwind"}, boundary={"x": "wall", "y": "wall", "z": "periodic"}, grid={"points": [13, 12, 13]},
                initial={"h": "1 + 0.2*exp(-30*(x - 0.4)^2 - 40*(y - 0.3)^2)", "q": [0, 0, 0]},
                time={"end": 0.03, "scheme": "ssprk2"}), (2, 1, 2))

    def test_what_lasts(self):
        for precision in ("float32", "float64"):
            self.assert_shared_by(
                pde({"u": "div((1 + 0.3*sin(3*x + y))*0.02*grad(u)) + 0.01*d_dz(exp(-x*z)*0.7*d_dx(u))"},
                    grid={"points": [9, 8, 10]}, precision=precision, initial={"u": "uniform(5)"}, time={"end": 0.05, "scheme": "rk4"},
                    boundary={"x": {"robin": ["1 + 0.2*y", "0.3*z"]}, "y": "periodic", "z": {"neumann": "0.1*x"}}),
                (2, 2, 2), (2, 2, 1))

    def test_steps_that_follow_their_error(self):
        """The worst one is told with its place in the whole grid."""
        self.assert_shared_by(
            pde({"u": "0.02*laplace(u) + 3*u*(1 - u)*cos(20*t) - 0.1*d_dx(u)^2"}, grid={"points": [15, 14, 16]},
                boundary={"x": {"dirichlet": "y*t"}, "y": "periodic", "z": {"neumann": "0.1*x"}},
                initial={"u": "0.5 + 0.3*sin(5*x + 2)*exp(-20*(y - 0.5)^2)*z"},
                time={"end": 0.1, "scheme": "rk45", "step": "adaptive"}), (2, 2, 2))


class Arrangements(Shared):
    def test_planes_that_are_too_few_for_slabs(self):
        """By themselves ranks cut the other axis where they are more than planes allow."""
        file = self.write("case.yaml", heat(grid={"points": [17, 9]}))
        self.call("run", file, "--output", "one", "--quiet")
        out, _ = self.on_ranks(6, "run", file, "--output", "six", "--quiet", "--summary", "-")
        self.assertRegex(json.loads(out)["chosen"]["ranks"], r"^6, \d along x and \d along y, of 9 planes")
        self.assert_same("one/case.h5", "six/case.h5")
        file = self.write("case.yaml", advection("weno5", grid={"points": [28, 20]}))
        self.call("run", file, "--output", "one", "--quiet", "--overwrite")
        out, _ = self.on_ranks(6, "run", file, "--output", "six", "--quiet", "--overwrite", "--summary", "-")
        self.assertRegex(json.loads(out)["chosen"]["ranks"], "^6, 3 along x and 2 along y, of 20 planes")
        self.assert_same("one/case.h5", "six/case.h5")

    def test_planes_that_are_too_few_for_pencils(self):
        file = self.write("case.yaml", heat(grid={"points": [25, 5, 4]}, initial={"u": "x*y + z"},
                                            boundary={"x": "periodic", "y": {"neumann": "x"}, "z": {"dirichlet": 0}}))
        self.call("run", file, "--output", "one", "--quiet")
        out, _ = self.on_ranks(8, "run", file, "--output", "eight", "--quiet", "--summary", "-")
        self.assertRegex(json.loads(out)["chosen"]["ranks"], r"^8, \d along x")
        self.assert_same("one/case.h5", "eight/case.h5")

    def test_what_cannot_be_cut_so_is_refused(self):
        for config, parts, message in (
                (heat(time={"end": 0.01, "scheme": "tr_bdf2", "step": 0.01}), [2, 2], "parts along two axes take steps of heat"),
                (advection("weno5", parameters={"velocity": {"x": "1+(" * 63 + "x" + ")" * 63, "y": 0.3}}), [2, 2],
                 "with simpler formulas"),
                (heat(parameters={"diffusivity": "1+(" * 63 + "x" + ")" * 63}), [2, 2], "with simpler formulas"),
                (pde({"u": "laplace(u)"}, time={"end": 0.1, "step": "adaptive", "scheme": "ark3"}, implicit={"solver": "multigrid"}),
                 [2, 2], "by explicit schemes"),
                (pde({"u": "laplace(u) - mean(u)"}), [2, 2], "without values over the whole grid"),
                (pde({"u": "laplace(u)"}, stop={"when": "max(u) < 0.1"}), [2, 2], "without a condition to end"),
                (pde({"u": "laplace(u)"}, stop={"steady": 1e-3}), [2, 2], "without a condition to end"),
                (pde({"u": "laplace(u)"}, boundary={"x": "antiperiodic", "y": "periodic"}), [2, 2],
                 "where no axis that is cut is antiperiodic"),
                (pde({"u": "d2_dy2(u) - 1e-4*d2_dx2(d2_dx2(u))"}), [2, 2], "that reach as far along the slowest axis"),
                (pde({"u": "laplace(u)"}, boundary={"x": "antiperiodic", "y": "periodic", "z": "periodic"}, grid={"points": [9, 9, 9]}),
                 [2, 1, 2], "parts along a third axis take steps where no axis that is cut is antiperiodic"),
                (pde({"u": "laplace(u) - 1e-4*d2_dx2(d2_dx2(u))"}, boundary={axis: "periodic" for axis in "xyz"},
                     grid={"points": [9, 9, 9]}), [2, 2, 1], "that reach as far along the slowest axis"),
                (heat(time={"end": 0.01, "scheme": "tr_bdf2", "step": 0.01}, grid={"points": [9, 9, 9]},
                      boundary={axis: {"dirichlet": 0} for axis in "xyz"}), [2, 1, 2], "parts along a third axis take steps of heat"),
                (heat(grid={"points": [9, 8, 8]}, boundary={axis: {"dirichlet": 0} for axis in "xyz"}), [5, 2, 2],
                 "5 parts are too many for 9 points along x: up to 4"),
                (heat(grid={"points": [9, 17]}), [5, 1], "5 parts are too many for 9 points along x: up to 4"),
                (heat(grid={"points": [17, 9]}), [1, 5], "5 ranks are too many for 9 points along y: up to 4"),
                (heat(grid={"points": [17, 9]}), [2, 5], "5 parts are too many for 9 points along y: up to 4")):
            with self.subTest(message=message):
                file = self.write("case.yaml", {**config, "ranks": parts})
                _, err = self.call("check", file, code=BAD_INPUT)
                self.assertIn(message, err)

    def test_a_check_tells_how(self):
        file = self.write("case.yaml", heat(grid={"points": [17, 23]}, ranks=[3, 2]))
        self.assertRegex(self.call("check", file)[0],
                         r"# 6 ranks share 23 planes of 3 parts along x, up to \d of 17 points each, up to 12 planes each")


class BricksOnGpu(NeedsGpu, Bricks):
    DEVICE = "cuda"

    def test_transports(self):
        file = self.write("case.yaml", heat(grid={"points": [67, 65, 64]}, time={"end": 2e-4}, device="cuda", initial={"u": "x*y + z"},
                                            boundary={"x": "periodic", "y": "periodic", "z": {"dirichlet": 0}}))
        self.call("run", file, "--output", "one", "--quiet", "--overwrite")
        for transport in ("p2p", "staged"):
            out, _ = self.on_ranks(8, "run", file, "--output", "eight", "--quiet", "--overwrite", "--summary", "-",
                                   "--set", "ranks=[2,2,2]", environment={"GRIDSTRIDE_TRANSPORT": transport})
            self.assertRegex(json.loads(out)["chosen"]["transport"], f"^{transport}")
            self.assert_same("one/case.h5", "eight/case.h5")


class BricksOfSystemsOnGpu(NeedsGpu, BricksOfSystems):
    DEVICE = "cuda"


class PencilsOnGpu(NeedsGpu, Pencils):
    DEVICE = "cuda"

    def test_systems_in_passes(self):
        """Threads have several columns, and no rank's lines are a multiple of as many."""
        for n, sides in enumerate(({"x": "periodic", "y": "periodic"}, {"x": {"dirichlet": "y"}, "y": {"neumann": "x"}})):
            self.assert_shared_by(pde(REACTION, grid={"points": [1404, 1401]}, precision=("float32", "float64")[n],
                                      boundary=sides, time={"end": 1e-3, "scheme": "euler"}, kernels={"system": "march"}),
                                  (2, 2), (3, 1))

    def test_transports(self):
        for config in (heat(grid={"points": [67, 65, 64]}, time={"end": 2e-4}), wave(grid={"points": [260, 263]})):
            file = self.write("case.yaml", {**config, "device": "cuda"})
            self.call("run", file, "--output", "one", "--quiet", "--overwrite")
            parts = [1] * (len(config["grid"]["points"]) - 2) + [2, 2]
            for transport in ("p2p", "staged"):
                out, _ = self.on_ranks(4, "run", file, "--output", "four", "--quiet", "--overwrite", "--summary", "-", "--set",
                                       f"ranks={parts}", environment={"GRIDSTRIDE_TRANSPORT": transport})
                self.assertRegex(json.loads(out)["chosen"]["transport"], f"^{transport}")
                self.assert_same("one/case.h5", "four/case.h5")


if __name__ == "__main__":
    support.main()
