"""Runs whose steps several processes share, started by mpirun: the same bits as of one process."""

import json
import re
import struct

import support
from support import FAILED
from shared import (CHANGES, FIELDS, NeedsGpu, REACTION, SIDES_IN_TIME, Shared, TURNING, advection, heat,
                    pde, wave)


class Bits(Shared):
    def test_heat_in_2d(self):
        self.assert_shared(heat(grid={"points": [17, 23]}), (2, 3, 5, 8))

    def test_heat_in_1d_float32(self):
        self.assert_shared(
            heat(grid={"points": 37}, precision="float32", initial={"u": "sin(2*pi*x)"},
                 boundary={"x": "periodic"}, verify={"exact": {"u": "exp(-4*pi^2*t)*sin(2*pi*x)"},
                                                     "tolerance": {"max": 0.1}}), (2, 5))

    def test_heat_in_3d_with_sides_in_space(self):
        self.assert_shared(
            heat(grid={"points": [7, 9, 11]}, initial={"u": "x*y + z"},
                 boundary={"x": {"dirichlet": "y + z"}, "y": {"neumann": "x*z"},
                           "z": {"lower": {"dirichlet": "x"}, "upper": {"neumann": "y"}}},
                 limits={"trip_steps": 2}), (3,))

    def test_waves(self):
        self.assert_shared(wave(), (2, 3, 8))

    def test_waves_of_order_8_around(self):
        self.assert_shared(
            wave(grid={"points": [21, 17, 16]}, initial={"u": "sin(2*pi*z)*cos(2*pi*x)"},
                 boundary={"x": "periodic", "y": "free", "z": "periodic"},
                 parameters={"speed": 1, "order": 8}), (2, 4))

    def test_waves_behind_layers(self):
        self.assert_shared(
            wave(grid={"points": [40, 41]}, boundary={"x": "absorbing", "y": "absorbing"},
                 precision="float32",
                 parameters={"speed": 1, "order": 2, "absorbing": {"thickness": 9, "strength": 0.5}}), (3,))


class Coefficients(Shared):
    """Each rank has its planes of them, with the bits that one process has there."""

    def test_fields_of_heat(self):
        for count, points, sides in ((2, [17, 23], {"x": {"dirichlet": "y"}, "y": "periodic"}),
                                     (3, [8, 24], {"x": "periodic", "y": {"neumann": "x"}}),
                                     (5, [33, 31], {"x": {"neumann": 0}, "y": "periodic"}),
                                     (8, [5, 17], {"x": "periodic", "y": {"dirichlet": 0.5}})):
            with self.subTest(ranks=count):
                self.assert_shared(heat(grid={"points": points}, boundary=sides,
                                        initial={"u": "sin(2*pi*x)*(1 + y)"}, parameters=FIELDS),
                                   (count,))

    def test_heat_of_files(self):
        points = [9, 11, 17]
        values = [1 + 0.01 * (i * i % 89) for i in range(points[0] * points[1] * points[2])]
        for name in ("a", "f"):
            (self.directory / f"{name}.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
            values.reverse()
        files = {key: {"file": f"{name}.raw", "type": "float64", "shape": points[::-1]}
                 for key, name in (("diffusivity", "a"), ("source", "f"))}
        sides = {"x": {"dirichlet": 0}, "y": "periodic", "z": {"neumann": 1}}
        for time in ({"end": 0.002}, {"end": 0.01, "scheme": "rk4"}):
            self.assert_shared(heat(grid={"points": points}, boundary=sides, initial={"u": "x*y + z"},
                                    parameters=files, time=time), (2, 4))

    def test_heat_that_changes_in_time(self):
        changing = heat(boundary=SIDES_IN_TIME, parameters=CHANGES, grid={"points": [16, 19]})
        self.assert_shared(changing, (2, 5))
        self.assert_shared({**changing, "precision": "float32"}, (3,))

    def test_stages_of_heat(self):
        for precision, count in (("float64", 2), ("float32", 5)):
            self.assert_shared(
                heat(grid={"points": [15, 23]}, boundary=SIDES_IN_TIME, parameters=CHANGES,
                     time={"end": 0.01, "scheme": "rk4"}, precision=precision), (count,))
        self.assert_shared(
            heat(grid={"points": [9, 41]}, boundary={"x": "periodic", "y": {"neumann": "x"}},
                 parameters=FIELDS, initial={"u": "y^2"}, time={"end": 0.01, "scheme": "rk4"}),
            (8,))

    def test_heat_in_1d_and_3d(self):
        self.assert_shared(heat(grid={"points": 37}, initial={"u": "x"}, precision="float32",
                                boundary={"x": {"lower": {"dirichlet": "t"},
                                                "upper": {"neumann": "-t"}}},
                                parameters={"diffusivity": "0.1 + x^3", "source": "exp(-x)"}), (5,))
        self.assert_shared(heat(grid={"points": [5, 6, 13]}, initial={"u": "x*y + z"},
                                boundary={"x": {"neumann": "z*t"}, "y": {"dirichlet": "x"},
                                          "z": "periodic"},
                                parameters={"diffusivity": "1 + z*(1 - z)", "source": "z*t"}), (3,))

    def test_fields_of_waves(self):
        for order, count in ((2, 8), (4, 5), (6, 3), (8, 2)):
            with self.subTest(order=order):
                self.assert_shared(
                    wave(grid={"points": [13, 21]},
                         parameters={"speed": "1 + x*y^2", "order": order, "source": "x*y"},
                         precision="float32" if order % 4 else "float64"), (count,))

    def test_a_speed_from_a_file(self):
        points = [11, 7, 9]
        values = [1 + 0.01 * i for i in range(points[0] * points[1] * points[2])]
        (self.directory / "speed.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        self.assert_shared(
            wave(grid={"points": points}, boundary={"x": "free", "y": "fixed", "z": "periodic"},
                 parameters={"order": 2, "speed": {
                     "file": "speed.raw", "type": "float64", "shape": points[::-1]}}), (2, 4))

    def test_sources_of_waves(self):
        sources = [{"at": [0.31, 0.52], "frequency": 4, "amplitude": 2},
                   {"at": [0.31, 0.0], "frequency": 9, "delay": 0.01}, {"at": [0.9, 0.999],
                                                                      "frequency": 3}]
        self.assert_shared(
            wave(grid={"points": [12, 17]}, boundary={"x": "periodic", "y": "periodic"},
                 parameters={"speed": "1 + x", "order": 4, "ricker": sources,
                             "source": "sin(20*t)*x"}), (2, 3))
        self.assert_shared(
            wave(grid={"points": [30, 41]}, boundary={"x": "free", "y": "absorbing"},
                 parameters={"speed": 1, "order": 2, "ricker": sources[::2],
                             "absorbing": {"thickness": 9, "strength": 0.5}}), (5,))


class Files(Shared):
    """All ranks ask a checkpoint for what it has of files, which the first one alone has looked into."""

    def test_others_go_on_with_coefficients_of_files(self):
        values = [1 + 0.01 * (i * i % 89) for i in range(16 * 40)]
        (self.directory / "a.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        file = {"file": "a.raw", "type": "float64", "shape": [40, 16]}
        grid = {"points": [16, 40]}
        for config in (wave(grid=grid, parameters={"speed": file, "order": 4}),
                       heat(grid=grid, parameters={"diffusivity": file, "source": file}),
                       heat(grid=grid, parameters={"diffusivity": file, "source": file},
                            time={"end": 0.01, "scheme": "crank_nicolson", "step": 0.001}),
                       advection("upwind", grid=grid, parameters={"velocity": {"x": file, "y": file}})):
            name = self.write("case.yaml", config)
            half = config["time"]["end"] / 2
            for folder, ranks in (("one", (1, 1)), ("parts", (2, 3))):
                for count, more in zip(ranks, (("--overwrite", "--set", f"time.end={half}",
                                                "--set", "checkpoint.every.count=1"), ("--restart",))):
                    arguments = ("run", name, "--output", folder, "--quiet", *more)
                    self.call(*arguments) if count == 1 else self.on_ranks(count, *arguments)
            with self.subTest(config=config):
                self.assert_same("one/case.h5", "parts/case.h5")


class Advection(Shared):
    def test_velocities_of_space(self):
        for scheme, count, sides in (("weno5", 8, {"x": "periodic", "y": {"dirichlet": "x"}}),
                                     ("weno5", 3, {"x": "outflow", "y": "periodic"}),
                                     ("lax_wendroff", 5, {"x": "outflow", "y": "periodic"}),
                                     ("upwind", 2, {"x": {"dirichlet": "1 + y"}, "y": "outflow"})):
            for velocity in ({"x": 0.7, "y": -1}, {"x": "y - 0.4", "y": "0.5 - x*y"},
                             {"x": 0.2, "y": "1 + y"}):
                with self.subTest(scheme=scheme, velocity=velocity):
                    self.assert_shared(
                        advection(scheme, boundary=sides, parameters={"velocity": velocity},
                                  precision="float32" if count == 3 else "float64"), (count,))

    def test_velocities_of_files(self):
        values = [1 + 0.01 * (i * i % 89) for i in range(13 * 42)]
        (self.directory / "v.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        file = {"file": "v.raw", "type": "float64", "shape": [42, 13]}
        for velocity in ({"x": file, "y": file}, {"x": file, "y": "cos(40*t) + x"}):
            for scheme in ("weno5", "lax_wendroff"):
                self.assert_shared(advection(scheme, grid={"points": [13, 42]},
                                             parameters={"velocity": velocity}), (2,))

    def test_velocities_of_time(self):
        for scheme, step in (("weno5", "auto"), ("lax_wendroff", 0.004), ("upwind", "auto")):
            with self.subTest(scheme=scheme):
                self.assert_shared(
                    advection(scheme, parameters={"velocity": TURNING},
                              boundary={"x": {"dirichlet": "sin(20*t)*y"}, "y": "periodic"},
                              time={"scheme": scheme, "end": 0.1, "step": step}), (2, 5))
        rolls = {"x": "sin(pi*x)*cos(pi*y)*cos(3*t)", "y": "-cos(pi*x)*sin(pi*y)*cos(3*t)"}
        self.assert_shared(advection("weno5", parameters={"velocity": rolls}, grid={"points": [33, 60]},
                                     boundary={"x": "outflow", "y": "outflow"}, initial={"u": 1}), (2, 5))

    def test_in_1d_and_3d(self):
        for scheme in ("weno5", "lax_wendroff", "upwind"):
            with self.subTest(scheme=scheme):
                self.assert_shared(
                    advection(scheme, grid={"points": 83}, initial={"u": "step(x - 0.3)"},
                              boundary={"x": {"dirichlet": "t"}},
                              parameters={"velocity": {"x": "1 + x"}}), (8,))
                self.assert_shared(
                    advection(scheme, grid={"points": [6, 7, 29]}, initial={"u": "x*y + z"},
                              boundary={"x": "periodic", "y": "outflow", "z": {"dirichlet": "x*t"}},
                              parameters={"velocity": {"x": 0.3, "y": "z*t", "z": "0.5 - y"}}),
                    (3,))

    def test_the_summary_tells_the_exchanges(self):
        file = self.write("case.yaml", advection("weno5"))
        out, _ = self.on_ranks(2, "run", file, "--output", "two", "--quiet", "--summary", "-")
        self.assertRegex(json.loads(out)["chosen"]["exchanges"], r"\d+ of \d+ planes a side")

    def test_what_all_fail_in_is_told_once(self):
        # Between the moments that a check looks at.
        velocity = {"x": 1, "y": "if(abs(t - 0.03885) < 0.0012, log(-1 - x^2), 1)"}
        config = advection("weno5", parameters={"velocity": velocity})
        file = self.write("case.yaml", config)
        _, alone = self.call("run", file, "--output", "one", "--quiet", code=FAILED)
        _, err = self.on_ranks(3, "run", file, "--output", "three", "--quiet", code=FAILED)
        told = "velocity.y is"
        self.assertEqual((alone.count(told), err.count(told)), (1, 1), err)
        self.assertIn(alone.strip(), err)


class Stages(Shared):
    """Steps of advection on grids that are large enough for an exchange of each stage."""

    def assert_by_stages(self, config, count):
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet")
        out, _ = self.on_ranks(count, "run", file, "--output", "shared", "--quiet", "--summary", "-")
        self.assertIn("for each stage", json.loads(out)["chosen"]["exchanges"])
        self.assert_same("one/case.h5", "shared/case.h5")

    def test_volume(self):
        self.assert_by_stages(
            advection("weno5", grid={"points": [32, 40, 180]}, time={"end": 0.01, "scheme": "weno5"},
                      boundary={"x": "periodic", "y": "outflow", "z": "periodic"},
                      initial={"u": "x*y + sin(2*pi*z)"},
                      parameters={"velocity": {"x": 1, "y": "x", "z": -2}}), 2)

    def test_plane_with_sides_in_time(self):
        entering = {"lower": {"dirichlet": "x + sin(9*t)"}, "upper": "outflow"}
        self.assert_by_stages(
            advection("weno5", grid={"points": [400, 500]}, time={"end": 1e-3, "scheme": "weno5"},
                      boundary={"x": "outflow", "y": entering}, output={"every": {"count": 1}},
                      parameters={"velocity": {"x": "cos(90*t)", "y": 1}}), 2)


class BitsOnGpu(NeedsGpu, Bits):
    pass


class CoefficientsOnGpu(NeedsGpu, Coefficients):
    pass


class AdvectionOnGpu(NeedsGpu, Advection):
    pass


class StagesOnGpu(NeedsGpu, Stages):
    OUTPUT = {"every": {"count": 1}, "formats": ["hdf5"]}

    def test_volume(self):
        self.assert_by_stages(
            advection("weno5", device="cuda", grid={"points": [256, 257, 490]},
                      time={"end": 0.01, "scheme": "weno5"}, output=self.OUTPUT,
                      boundary={"x": "periodic", "y": "outflow", "z": "periodic"},
                      initial={"u": "x*y + sin(2*pi*z)"},
                      parameters={"velocity": {"x": 1, "y": "x", "z": -2}}), 2)

    def test_plane_with_sides_in_time(self):
        entering = {"lower": {"dirichlet": "x + sin(9*t)"}, "upper": "outflow"}
        self.assert_by_stages(
            advection("weno5", device="cuda", grid={"points": [9000, 8001]},
                      time={"end": 2e-4, "scheme": "weno5"}, output=self.OUTPUT,
                      boundary={"x": "outflow", "y": entering},
                      parameters={"velocity": {"x": "cos(90*t)", "y": 1}}), 3)


class OnGpu(NeedsGpu):
    def test_planes_that_stay_on_the_chip(self):
        """Those of GPUs that reach each other's memory, up to the last bit; else by passes."""
        devices = self.call("list", "devices")[0]
        gpus = [name for name in ("cuda:1", "cuda:2", "cuda:3") if name in devices]
        given = {"lower": {"dirichlet": "sin(9*x)"}, "upper": {"neumann": "x - 0.3"}}
        around = {"x": "periodic", "y": "periodic"}
        cases = ({"points": [517, 402]}, {"boundary": {"x": {"neumann": "y^2"}, "y": given}}), (
            {"points": [260, 97]}, {"boundary": {"x": given["upper"], "y": "periodic"}}), (
            {"points": [1024, 333]}, {"boundary": around, "initial": {"u": "sin(2*pi*(x + 3*y))"}}), (
            {"points": [999, 1203]}, {"boundary": {"x": {"dirichlet": "y"}, "y": {"dirichlet": 0}}}), (
            {"points": [96, 1500]}, {"boundary": {"x": {"dirichlet": "cos(y)"}, "y": given}})
        for number, (grid, changes) in enumerate(cases):
            for precision in ("float32", "float64"):
                step = 0.2/max(grid["points"])**2
                config = heat(grid=grid, precision=precision, device="cuda",
                              time={"end": (1000 + 7*number)*step, "step": step},
                              output={"every": {"steps": 333}}, **changes)
                file = self.write("case.yaml", config)
                self.call("run", file, "--output", "one", "--quiet", "--overwrite")
                for count in range(2, len(gpus) + 2):
                    with self.subTest(config=config, ranks=count):
                        out, _ = self.on_ranks(count, "run", file, "--output", "shared", "--quiet",
                                               "--overwrite", "--summary", "-")
                        chosen = json.loads(out)["chosen"]
                        is_large = grid["points"][1]//count >= 48
                        self.assertEqual(chosen["stencil"] == "resident", is_large, chosen)
                        self.assertEqual(chosen["exchanges"].endswith("on the chip"), is_large)
                        self.assert_same("one/case.h5", "shared/case.h5")
                with self.subTest(config=config, ranks="of one GPU"):
                    out, _ = self.on_ranks(2, "run", file, "--output", "shared", "--quiet",
                                           "--overwrite", "--summary", "-",
                                           environment={"CUDA_VISIBLE_DEVICES": "0"})
                    self.assertNotEqual(json.loads(out)["chosen"]["stencil"], "resident")
                    self.assert_same("one/case.h5", "shared/case.h5")

    def test_planes_that_go_on_on_other_chips(self):
        """With another number of ranks, and another way where one is wanted."""
        if "cuda:1" not in self.call("list", "devices")[0]:
            self.skipTest("there is one GPU")
        step = 2**-22  # whose multiples are exact, wherever a run goes on
        config = heat(grid={"points": [700, 900]}, device="cuda", precision="float32",
                      time={"end": 900*step, "step": step}, checkpoint={"every": {"steps": 250}},
                      output={"every": {"steps": 300}})
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet")
        half = ("--set", f"time.end={451*step}")
        for first, second in ((1, 2), (2, 1)):
            with self.subTest(first=first):
                folder = f"from_{first}"
                for ranks, more in ((first, half), (second, ("--restart",))):
                    words = ("run", file, "--output", folder, "--quiet", *more)
                    self.on_ranks(ranks, *words) if ranks > 1 else self.call(*words)
                self.assert_same("one/case.h5", f"{folder}/case.h5")
        for wanted, told in (("staged", "GRIDSTRIDE_TRANSPORT is staged"), ("stores", None)):
            with self.subTest(wanted=wanted):
                out, _ = self.on_ranks(2, "run", file, "--output", "two", "--quiet", "--overwrite",
                                       "--summary", "-", environment={"GRIDSTRIDE_TRANSPORT": wanted})
                chosen = json.loads(out)["chosen"]
                self.assertEqual((chosen["stencil"] == "resident", chosen.get("not resident")),
                                 (told is None, told))
                self.assert_same("one/case.h5", "two/case.h5")
        forecast, _ = self.call("check", file, "--ranks", "2")
        self.assertIn("with {} more on each side for up to {} steps".format(
            *re.search(r"of (\d+) planes a side, for up to (\d+) steps", chosen["exchanges"]).groups()),
                      forecast)

    def test_planes_made_in_parts(self):
        self.assert_shared_on_gpu(
            heat(grid={"points": [130, 97]}, kernels={"stencil": "temporal", "fused_steps": 8},
                 time={"end": 2e-3}, limits={"trip_steps": 8}))

    def test_volumes_made_in_parts(self):
        self.assert_shared_on_gpu(
            heat(grid={"points": [33, 18, 29]}, precision="float32",
                 initial={"u": "sin(2*pi*z)*x + y"}, time={"end": 5e-3},
                 boundary={"x": {"dirichlet": "z"}, "y": {"neumann": 0}, "z": "periodic"},
                 kernels={"stencil": "temporal"}, limits={"trip_steps": 2}))

    def test_several_passes_for_each_exchange(self):
        self.assert_shared_on_gpu(heat(grid={"points": [64, 90]}, limits={"trip_steps": 5}),
                                  transports=("p2p",))

    def test_waves(self):
        self.assert_shared_on_gpu(
            wave(grid={"points": [150, 121]}, kernels={"star": "temporal"}, time={"end": 0.1},
                 limits={"trip_steps": 4}))

    def test_steps_go_on_while_files_are_written(self):
        """Packed files take longer than the steps to the next output, which change nothing of them."""
        often = {"output": {"every": {"steps": 3}, "compression": 6},
                 "checkpoint": {"every": {"steps": 4}, "keep": 100}}
        events = {"at": [1.1e-3, 5.2e-3], "set": {"u": "u + 0.01*x"}}
        vectors = pde({"u": "1e-3*laplace(u) - advect(u, u)"}, fields={"u": "vector"},
                      initial={"u": ["sin(5*x)", "cos(3*y)"]}, grid={"points": [400, 401]},
                      time={"end": 2e-2, "step": 1e-3})
        for config in (
                heat(grid={"points": [700, 801]}, time={"end": 20e-8, "step": 1e-8},
                     initial={"u": "sin(99*x*y)"}, diagnostics=["norms", {"histogram": {"field": "u"}}]),
                wave(grid={"points": [600, 701]}, time={"end": 20e-4, "step": 1e-4}),
                pde(REACTION, grid={"points": [500, 601]}, time={"end": 1e-2, "step": 5e-4}, events=events,
                    stop={"steady": 1e-9}),
                vectors):
            config = {**config, **often}
            reduced = {"output": {**often["output"], "precision": "float32", "every_nth_point": 2}}
            for changes in (({}, reduced) if config["simulation"] == "heat" else ({},)):
                with self.subTest(simulation=config["simulation"], changes=changes):
                    file = self.write("case.yaml", {**config, **changes, "device": "cuda"})
                    self.call("run", file, "--output", "one", "--quiet", "--overwrite")
                    for visible in ((None,) if changes else (None, "0")):
                        environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
                        self.on_ranks(2, "run", file, "--output", "two", "--quiet", "--overwrite",
                                      environment=environment)
                        for pattern in ("*.vti", "*.checkpoint"):
                            one = self.contents("one", pattern)
                            self.assertGreater(len(one), 4)
                            self.assertTrue(one == self.contents("two", pattern), pattern)
                        self.assert_same("one/case.h5", "two/case.h5")

    def test_larger_grids_with_fields(self):
        """Parts whose marches begin elsewhere, and are as long as those of many planes."""
        turning = {"x": "cos(9*t)*(y - 0.5)", "y": "sin(5*x)*(1 + t)", "z": "0.3"}
        sources = [{"at": [0.31, 0.5], "frequency": 4}, {"at": [0.9, 0.51], "frequency": 9}]
        for config in (
                heat(grid={"points": [300, 401]}, parameters=FIELDS, time={"end": 3e-5}),
                heat(grid={"points": [131, 257]}, parameters=CHANGES, boundary=SIDES_IN_TIME,
                     time={"end": 1e-4, "scheme": "rk4"}, precision="float32"),
                wave(grid={"points": [257, 300]}, time={"end": 0.03},
                     parameters={"speed": "1 + x*y^2", "order": 8, "source": "x*sin(9*t)",
                                 "ricker": sources}),
                wave(grid={"points": [40, 52, 90]}, time={"end": 0.1}, precision="float32",
                     boundary={"x": "free", "y": "fixed", "z": "periodic"}, initial={"u": "x*y"},
                     parameters={"speed": "1 + z*(1 - z)", "order": 4, "source": "x*y"}),
                advection("weno5", grid={"points": [64, 40, 151]}, time={"end": 0.05},
                          boundary={"x": "periodic", "y": "outflow", "z": "periodic"},
                          initial={"u": "x*y + sin(2*pi*z)"}, parameters={"velocity": turning}),
                advection("lax_wendroff", grid={"points": [200, 333]}, precision="float32",
                          time={"end": 0.05, "scheme": "lax_wendroff"})):
            self.assert_shared_on_gpu(config, counts=(2,))


if __name__ == "__main__":
    support.main()
