"""A run that leaves the numbers stops, says where, and keeps what was good."""

import re

import support
from support import BAD_INPUT, FAILED, heat

MESSAGE = re.compile(r"^(NaN|infinity) in field 'u' at cell \((\d+), (\d+), (\d+)\), "
                     r"step (\d+), time (\S+)\n$")


class BlowUp(support.Case):
    def blow_up(self, config):
        """Runs the config, which must blow up. Returns the kind, the cell, the step, the time."""
        file = self.write("case.yaml", config)
        out, err = self.call("run", file, "--quiet", code=FAILED)
        self.assertEqual(out, "")
        self.assertRegex(err, MESSAGE)
        kind, *cell, step, time = MESSAGE.match(err).groups()
        return kind, tuple(map(int, cell)), int(step), float(time)

    def assert_good_until(self, config, last_output):
        """The outputs up to this one are kept, and are those of a run that ends there."""
        found = self.info("outputs/case")
        self.assertIn("did not come to its end", found["head"])
        every = config["output"]["every"]["time"]
        end = last_output * every
        self.write("good.yaml", {**config, "time": {**config["time"], "end": end}})
        self.call("run", "good.yaml", "--quiet")
        self.assert_same("outputs/case", "outputs/good")
        images = [name for name in self.files("outputs/case") if name.endswith(".vti")]
        self.assertEqual(images, [f"case_{i:06}.vti" for i in range(last_output + 1)])
        series = (self.directory / "outputs/case/case.pvd").read_text()
        self.assertEqual(re.findall(r'file="(\S+)"', series), images)

    def test_source_with_a_pole(self):
        # Infinite at t = 0.5, where x is 0.25: within the step that begins there.
        config = heat(grid={"points": 17}, boundary={"x": {"neumann": 0}}, initial={"u": 0},
                      parameters={"diffusivity": 1e-3, "source": "if(x == 0.25, 1/(0.5 - t), 0)"},
                      time={"end": 1, "step": 0.0625}, output={"every": {"time": 0.125}})
        kind, cell, step, time = self.blow_up(config)
        # The step from 0.5 on makes the cell infinite, the next one its neighbours.
        self.assertEqual((step, time), (10, 0.625))
        self.assertIn((kind, cell), [("infinity", (3, 0, 0)), ("NaN", (3, 0, 0))])
        self.assert_good_until(config, 4)

    def test_growth_beyond_float32(self):
        # The mean follows exp(100 t): past 3.4e38 at t = 0.887.
        config = heat(precision="float32", boundary={"x": "periodic", "y": "periodic"},
                      grid={"points": [16, 16]}, initial={"u": 1},
                      parameters={"diffusivity": 1e-4, "source": "100*exp(100*t)"},
                      time={"scheme": "rk4", "end": 2, "step": 0.001},
                      output={"every": {"time": 0.1}})
        kind, cell, step, time = self.blow_up(config)
        self.assertEqual((cell, step), ((0, 0, 0), 900))
        self.assertAlmostEqual(time, 0.9)
        self.assert_good_until(config, 8)

    def test_moving_boundary_in_three_dimensions(self):
        # The upper side along z is no number from step 33 on, and spreads by a cell each step.
        config = heat(grid={"points": [6, 7, 8]}, initial={"u": "x"},
                      boundary={"x": "periodic", "y": "periodic",
                                "z": {"lower": {"neumann": 0},
                                      "upper": {"dirichlet": "sqrt(0.325 - t)"}}},
                      parameters={"diffusivity": 1e-3}, time={"end": 1, "step": 0.01},
                      output={"formats": ["hdf5", "vti"], "every": {"time": 0.05}})
        kind, cell, step, time = self.blow_up(config)
        self.assertEqual((kind, cell, step, round(time, 9)), ("NaN", (0, 0, 5), 35, 0.35))
        self.assert_good_until(config, 6)

    def test_long_runs_stop_within_an_output_interval(self):
        # A run of hours, if nobody looked: no number from step 500 on.
        config = heat(parameters={"diffusivity": 1, "source": "sqrt(0.49995 - t)"},
                      time={"end": 1e6, "step": 1e-3}, grid={"points": 17},
                      boundary={"x": "periodic"}, initial={"u": 1},
                      output={"formats": [], "every": {"steps": 300}})
        _, _, step, _ = self.blow_up(config)
        self.assertEqual(step, 600)

    def test_bad_initial_values_write_nothing(self):
        file = self.write("case.yaml", heat(initial={"u": "1/(x - 0.5)"}))
        _, err = self.call("run", file, code=BAD_INPUT)
        self.assertRegex(err, r"^case\.yaml:\d+:\d+: initial\.u: is inf at x = 0\.5, y = 0")
        self.assertEqual(self.files(), ["case.yaml"])

    def test_bad_state_does_not_push_out_checkpoints(self):
        config = heat(grid={"points": 17}, boundary={"x": {"neumann": 0}}, initial={"u": 0},
                      parameters={"diffusivity": 1e-3, "source": "1/(0.5 - t)"},
                      time={"end": 1, "step": 0.0625}, output={"every": {"count": 1}},
                      checkpoint={"every": {"steps": 1}, "keep": 2})
        _, _, step, _ = self.blow_up(config)
        self.assertEqual(step, 9)
        kept = [name for name in self.files("outputs/case") if name.endswith(".checkpoint")]
        self.assertEqual(kept, ["case_000000000007.checkpoint", "case_000000000008.checkpoint"])


if __name__ == "__main__":
    support.main()
