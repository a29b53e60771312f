"""Implicit steps by multigrid that several ranks share: the same bits as in one process."""

import json

import support
from support import BAD_INPUT, FAILED
from test_shared_implicit import ADAPTIVE, FIELD, implicit as heat
from shared import NeedsGpu, Parts, Shared, pde

LAYERS = {"u": "div((0.1 + 0.05*sin(3*x)*y)*grad(u)) - (2 + x)*u + u^2*(1 - u)"}
WALLS = {"x": {"lower": {"dirichlet": "1 + 0.2*sin(6*t)"}, "upper": {"robin": ["1 + y", 0.3]}},
         "y": {"lower": {"neumann": "x*t"}, "upper": {"dirichlet": "x"}}}
PLAIN = {"u": "0.05*laplace(u) - u*v^2 + 0.04*(1 - u)", "v": "0.02*laplace(v) + u*v^2 - 0.1*v"}
HELD = {"x": {"dirichlet": "y"}, "y": {"lower": {"dirichlet": "x + t"}, "upper": {"neumann": 0.1}}}
# Nothing of w diffuses, and what is carried along reaches further than what diffuses.
MIXED = {"u": "div((0.1 + 0.05*t*y)*grad(u)) - div([1, 0.5]*u) - 0.5*w", "w": "u - 2*w"}


def implicit(equations, points, sides, scheme="imex_bdf2", step=0.013, **changes):
    time = {"scheme": scheme, "end": 0.06, "step": step}
    if step == "adaptive":
        time["tolerance"] = 1e-3
    return pde(equations, grid={"points": points}, boundary=sides, time=time,
               **{"implicit": {"solver": "multigrid"}, **changes})


def conducted(points, sides, time, diffusivity, precision, **changes):
    config = heat(points, sides, time, diffusivity, "x*y", precision=precision, **changes)
    config["parameters"]["solver"] = "multigrid"
    return config


class Bits(Shared):
    def test_fields(self):
        for count, points, sides, scheme, precision in (
                (2, [17, 21], WALLS, "imex_euler", "float64"),
                (3, [12, 26], {"x": HELD["x"], "y": "periodic"}, "imex_bdf2", "float32"),
                (5, [19, 33], WALLS, "ark3", "float64")):
            self.assert_shared(implicit(LAYERS, points, sides, scheme, precision=precision), (count,))

    def test_numbers(self):
        for count, points, sides, scheme, precision in (
                (2, [16, 32], {"x": "periodic", "y": "periodic"}, "imex_bdf2", "float32"),
                (8, [9, 33], HELD, "ark3", "float64")):
            self.assert_shared(implicit(PLAIN, points, sides, scheme, precision=precision), (count,))

    def test_volumes(self):
        ends = {**HELD, "z": {"lower": {"robin": [2, "x*t"]}, "upper": {"dirichlet": "y"}}}
        for count, equations, sides, scheme in (
                (3, {"u": "div((0.1 + x*z)*grad(u)) - u + y"}, ends, "imex_bdf2"),
                (2, PLAIN, {"x": "periodic", "y": {"neumann": 0}, "z": "periodic"}, "ark3")):
            self.assert_shared(implicit(equations, [7, 9, 14], sides, scheme), (count,))

    def test_what_is_explicit(self):
        sides = {"x": {"neumann": 0}, "y": {"dirichlet": "1 + x*t"}}
        for count, scheme in ((2, "imex_bdf2"), (3, "ark3")):
            self.assert_shared(implicit(MIXED, [11, 24], sides, scheme,
                                        space={"convection": "upwind"}), (count,))
        self.assert_shared(implicit({"u": "0.1*laplace(u) - u*mean(u^2)"}, [9, 40], HELD, "ark3",
                                    events=[{"at": 0.02, "set": {"u": "u + x*y"}}]), (4,))

    def test_levels_that_are_cut(self):
        for count, equations, sides, points in (
                (2, LAYERS, WALLS, [190, 201]),
                (3, {"u": "0.05*laplace(u) + x - u^2"}, {"x": {"neumann": 0}, "y": "periodic"}, [129, 272])):
            self.assert_shared(implicit(equations, points, sides, "imex_bdf2", 0.03), (count,))

    def test_steps_that_follow_their_error(self):
        self.assert_shared(implicit(LAYERS, [15, 22], WALLS, "ark3", "adaptive"), (3,))
        self.assert_shared(implicit(PLAIN, [12, 16], {"x": "periodic", "y": "periodic"}, "ark3",
                                    "adaptive", precision="float32"), (2,))

    def test_heat(self):
        ends = {**HELD, "z": {"lower": {"neumann": "x*t"}, "upper": {"dirichlet": "y"}}}
        for count, points, sides, time, diffusivity, precision in (
                (2, [12, 17], HELD, "backward_euler", FIELD, "float32"),
                (5, [9, 31], {"x": {"neumann": "y"}, "y": "periodic"}, "crank_nicolson", "0.1", "float64"),
                (3, [8, 7, 12], ends, "tr_bdf2", FIELD, "float64"),
                (4, [16, 24], HELD, ADAPTIVE, FIELD, "float32")):
            self.assert_shared(conducted(points, sides, time, diffusivity, precision), (count,))


class OnHost(Shared):
    def test_a_signal_stops_all_and_others_go_on(self):
        saved = {"checkpoint": {"every": {"steps": 10**9}}}
        for name, scheme, step in (("same", "imex_bdf2", 1e-3), ("error", "ark3", "adaptive")):
            config = implicit(LAYERS, [13, 24], WALLS, scheme, step, **saved)
            config["time"].update({"end": 0.25} if step != "adaptive" else {"end": 3, "tolerance": 1e-6})
            self.assert_a_signal_stops_and_others_go_on(name, config)

    def test_what_ends_a_run(self):
        for equations, message in (
                ({"u": "div((0.1 - 3*t*y)*grad(u))"}, "somewhere, and has to be positive everywhere"),
                ({"u": "div(exp(1e5*t*y)*grad(u))"}, "not finite at")):
            file = self.write("case.yaml", implicit(equations, [9, 17], HELD, "imex_euler", 0.05))
            for count in (1, 3):
                start = self.call if count == 1 else lambda *words, **rest: self.on_ranks(3, *words, **rest)
                _, err = start("run", file, "--quiet", "--overwrite", code=FAILED)
                with self.subTest(ranks=count, message=message):
                    told = [line for line in err.splitlines() if message in line]
                    self.assertEqual(len(told), 1, err)
                    first = told[0] if count == 1 else first
                    self.assertEqual(told[0], first)

    def test_what_is_refused(self):
        file = self.write("case.yaml", implicit({"u": "0.1*laplace(u)"}, 17, {"x": {"neumann": 0}},
                                                 initial={"u": "x"}))
        _, err = self.call("check", file, "--ranks", "2", code=BAD_INPUT)
        self.assertIn("with two or three axes, where they are implicit (there are 2)", err)
        file = self.write("case.yaml", implicit(PLAIN, [9, 17], HELD))
        out, _ = self.call("check", file, "--ranks", "3")
        self.assertIn("3 ranks share 17 planes", out)


class InParts(Parts):
    """Each rank writes its part of fields and states, and nobody has the whole."""

    def config(self, *arguments, **changes):
        return implicit(*arguments, **{"checkpoint": {"every": {"steps": 2}, "keep": 9}, **changes})

    def test_schemes(self):
        """With what the next step takes of this one, events, derived fields and diagnostics."""
        after = {"events": {"at": 0.03, "set": {"u": "u + 1e-3*laplace(u) + 0.1*x"}},
                 "output": {"every": {"count": 3}, "derived": {"slope": "grad(u)"}},
                 "diagnostics": ["norms", {"integral": "u^2"}, {"histogram": {"field": "u", "bins": 9}}]}
        self.assert_files(self.config(LAYERS, [19, 33], WALLS, **after), (2, 3, 5))
        self.assert_files(self.config(PLAIN, [16, 35], HELD, "imex_euler"), (3,))
        self.assert_files(self.config(LAYERS, [12, 31], WALLS, "ark3", "adaptive", **after), (3,), precisions=("float64",))
        ends = {**HELD, "z": {"neumann": 0.1}}
        self.assert_files(self.config(PLAIN, [7, 9, 14], ends, step=0.005,
                                      initial={"u": "1 + x*y", "v": "u^2 + 0.1*laplace(u)"}), (3,))

    def test_limits_of_first_values(self):
        """Where what is explicit depends on the fields beside a point."""
        equations = {"u": "div((0.1 + 0.05*x)*grad(u)) - div([0.3*v, 0.5]*u) - u^2*d_dy(v)", "v": "0.1*laplace(v) - 0.2*v"}
        for scheme in ("imex_bdf2", "ark3"):
            self.assert_files(self.config(equations, [17, 31], HELD, scheme, 0.004, space={"convection": "upwind"}), (2, 3), precisions=("float64",))

    def test_others_go_on(self):
        """In the middle of steps, with another number of ranks."""
        for scheme, step in (("imex_bdf2", 0.004), ("ark3", "adaptive")):
            file = self.one(self.config(LAYERS, [19, 33], WALLS, scheme, step, output={"every": {"time": 0.02}}))
            self.on_ranks(5, "run", file, "--output", "many", "--quiet", "--overwrite", "--set", "time.end=0.02")
            self.on_ranks(2, "run", file, "--output", "many", "--quiet", "--restart")
            self.assert_same("one/case.h5", "many/case.h5")
            newest = sorted(self.contents("one", "*.checkpoint"))[-1]
            self.assertEqual(self.contents("many", newest), self.contents("one", newest))

    def test_exact_solutions_too_long_for_parts(self):
        exact = "1+(" * 63 + "x" + ")" * 63
        self.assert_files(self.config(LAYERS, [19, 33], WALLS, verify={"exact": {"u": exact}}), (3,))

    def test_memory(self):
        large = self.write("large.yaml", self.config({"u": "0.05*laplace(u) - u^3"}, [4096, 4097], HELD, initial={"u": "x"}))
        told = json.loads(self.call("check", large, "--ranks", 4, "--json")[0])
        self.assertLess(told["host_bytes"], 4096 * 4097 * 8)


class BitsOnGpu(NeedsGpu, Bits):
    pass


class OnGpu(NeedsGpu):
    def assert_shared_on_gpu(self, config, transports=("p2p",), counts=(2,)):
        super().assert_shared_on_gpu(config, transports, counts)

    def test_fields(self):
        self.assert_shared_on_gpu(implicit(LAYERS, [130, 161], WALLS))
        self.assert_shared_on_gpu(implicit(LAYERS, [65, 140], WALLS, "ark3", precision="float32"),
                                  ("staged",), (2, 3))

    def test_volumes(self):
        ends = {**HELD, "z": "periodic"}
        self.assert_shared_on_gpu(implicit(PLAIN, [40, 33, 48], ends, "ark3"))
        self.assert_shared_on_gpu(implicit({"u": "div((0.1 + x*z*(1 - z))*grad(u)) - u^2"},
                                           [33, 34, 41], ends, "imex_euler"))

    def test_levels_that_are_cut(self):
        """Also u that goes from array to array, and sums of many planes together."""
        for equations, points, sides in (
                ({"u": "0.05*laplace(u) - u^2"}, [2050, 2101], {"x": {"dirichlet": "y"}, "y": {"neumann": 0}}),
                (LAYERS, [2100, 2070], WALLS),
                ({"u": "div((0.1 + x*z)*grad(u)) - u"}, [160, 161, 192], {**HELD, "z": {"neumann": 0}}),
                ({"u": "0.1*laplace(u) - u"}, [161, 160, 190], {**HELD, "z": "periodic"})):
            self.assert_shared_on_gpu(implicit(equations, points, sides, "imex_bdf2", 0.03,
                                               output={"every": {"count": 1}, "formats": ["hdf5"]}))

    def test_steps_that_follow_their_error(self):
        self.assert_shared_on_gpu(implicit(LAYERS, [65, 98], WALLS, "ark3", "adaptive"))

    def test_heat(self):
        self.assert_shared_on_gpu(conducted([130, 161], HELD, "crank_nicolson", FIELD, "float64"))
        self.assert_shared_on_gpu(conducted([40, 33, 50], {**HELD, "z": {"neumann": 0.1}}, "tr_bdf2", "0.1",
                                            "float32"))


if __name__ == "__main__":
    support.main()
