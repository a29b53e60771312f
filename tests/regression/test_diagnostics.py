"""Diagnostics of whole runs: what is stored, what is said of it, and what is refused."""

import json
import math
import re

import support
from support import BAD_INPUT, FAILED, heat


class Diagnostics(support.Case):
    every = ["norms", {"probe": {"at": [0.5, 0.25]}}, {"histogram": {"bins": 20}},
             {"quantiles": {"at": [0, 0.05, 0.5, 0.95, 1]}}]

    def last(self, folder="outputs/case"):
        return dict(item.split(" = ") for item in self.info(folder)["last"])

    def test_series(self):
        self.call("run", self.write("case.yaml", heat(diagnostics=self.every)), "--quiet")
        last = self.last()
        self.assertEqual(set(last), {"u.min", "u.max", "u.mean", "u.l2", "u(0.5, 0.25)", "u.q0",
                                     "u.q0.05", "u.q0.5", "u.q0.95", "u.q1", "u.histogram"})
        self.assertEqual(last["u.q0"], last["u.min"])
        self.assertEqual(last["u.q1"], last["u.max"])
        self.assertEqual(last["u.histogram"],
                         f"272 values in 20 bins from {last['u.min']} to {last['u.max']}")
        quantiles = [float(last[f"u.q{q}"]) for q in ("0", "0.05", "0.5", "0.95", "1")]
        self.assertEqual(quantiles, sorted(quantiles))
        log = (self.directory / "outputs/case/case.log").read_text()
        self.assertEqual(len(re.findall(r"^step .* u\.q0\.05 \S+ u\.q0\.5 \S+ u\.q0\.95 ", log,
                                        re.MULTILINE)), 5)

    def test_linear_field(self):
        # u = x/10 at 0, 0.1, ..., 10: the quantile q is 10 q, to 10/8192^2.
        for precision, accuracy in (("float64", 1.5e-7), ("float32", 2e-6)):
            config = heat(precision=precision, grid={"points": 101, "upper": 10},
                          boundary={"x": {"lower": {"dirichlet": 0}, "upper": {"dirichlet": 10}}},
                          initial={"u": "x"}, time={"end": 1e-9}, output={"every": {"steps": 9}},
                          diagnostics=[{"quantiles": {"at": [0.05, 0.5, 0.95]}},
                                       {"histogram": {"bins": 4, "range": [0, 10]}}])
            self.call("run", self.write("case.yaml", config), "--quiet")
            last = self.last()
            for q in (0.05, 0.5, 0.95):
                self.assertAlmostEqual(float(last[f"u.q{q}"]), 10 * q, delta=accuracy + 1e-7)
            self.assertEqual(last["u.histogram"], "101 values in 4 bins from 0 to 10")

    def test_several_histograms_of_a_field(self):
        several = [{"histogram": {"bins": 4}}, {"histogram": {"bins": 2, "range": [0, 0.5]}},
                   {"histogram": {"bins": 4, "range": [0, 2]}}]
        self.call("run", self.write("case.yaml", heat(diagnostics=several)), "--quiet")
        last = self.last()
        self.assertEqual(set(last), {"u.histogram", "u.histogram.2", "u.histogram.3"})
        self.assertTrue(last["u.histogram"].startswith("272 values in 4 bins from "))
        self.assertTrue(last["u.histogram.2"].endswith(" values in 2 bins from 0 to 0.5"))
        self.assertEqual(last["u.histogram.3"], "272 values in 4 bins from 0 to 2")
        # The first as if it were the only one.
        self.call("run", self.write("case.yaml", heat(diagnostics=several[:1])), "--quiet")
        self.assertEqual(self.last()["u.histogram"], last["u.histogram"])

    def test_range_leaves_out(self):
        config = heat(grid={"points": 101}, initial={"u": "x"}, time={"end": 1e-9},
                      boundary={"x": {"lower": {"dirichlet": 0}, "upper": {"dirichlet": 1}}},
                      diagnostics={"histogram": {"range": [0.295, 0.605]}})
        self.call("run", self.write("case.yaml", config), "--quiet")
        self.assertEqual(self.last()["u.histogram"], "31 values in 64 bins from 0.295 to 0.605")

    def test_nothing_written_but_numbers(self):
        config = heat(diagnostics=self.every,
                      output={"every": {"count": 4}, "formats": ["hdf5"], "fields": []},
                      verify={"exact": {"u": "0"}, "tolerance": {"max": 2}})
        self.call("run", self.write("case.yaml", config), "--quiet")
        self.call("run", self.write("whole.yaml", heat(diagnostics=self.every)), "--quiet")
        self.assertEqual(self.last(), self.last("outputs/whole"))
        self.assertNotIn("field", self.info("outputs/case"))
        self.assertEqual(self.files("outputs/case"), ["case.h5", "case.log"])

    def test_memory_follows_what_is_written(self):
        file = self.write("case.yaml", heat())
        array = 17 * 16 * 8 + 64  # aside while the computation goes on
        sizes = [json.loads(self.call("check", file, "--json", *changes)[0])["device_bytes"]
                 for changes in ([], ["--set", "output.fields=[]"])]
        self.assertAlmostEqual(sizes[0] - sizes[1], array, delta=64)

    def test_threads(self):
        formulas = [{"integral": "u^2*x"}, {"maximum": {"of": "sin(9*u)", "where": True}}]
        config = heat(grid={"points": [300, 301]}, diagnostics=self.every + formulas,
                      time={"end": 1e-5})
        file = self.write("case.yaml", config)
        for threads in (1, 2, 3):
            self.call("run", file, "--quiet", "--output", f"on{threads}",
                      environment={"OMP_NUM_THREADS": str(threads)})
            self.assertEqual(self.last(f"on{threads}"), self.last("on1"))

    def test_variants_by_name(self):
        file = self.write("case.yaml", heat(diagnostics=self.every))
        self.call("run", file, "--quiet")
        self.call("run", file, "--quiet", "--output", "reference",
                  *(f"--set=kernels.{name}=reference" for name in ("reduce", "histogram", "scan")))
        first, second = self.last(), self.last("reference")
        for name in first:
            if name in ("u.mean", "u.l2"):
                self.assertAlmostEqual(float(first[name]), float(second[name]), delta=1e-13)
            else:
                self.assertEqual(first[name], second[name])

    def test_variants_that_do_not_serve(self):
        file = self.write("case.yaml", heat(diagnostics=self.every))
        _, err = self.call("run", file, "--set", "kernels.reduce=thread", code=BAD_INPUT)
        self.assertRegex(err, r"kernels\.reduce: unknown value 'thread' .*; did you mean 'threads'")
        _, err = self.call("run", file, "--set", "kernels.reduce=cub", code=BAD_INPUT)
        self.assertRegex(err, r"kernels\.reduce: 'cub' does not run on this device")
        self.assertEqual(self.files("."), ["case.yaml"])

    def test_restart_with_another_variant(self):
        config = heat(diagnostics=self.every, checkpoint={"every": {"count": 2}})
        file = self.write("case.yaml", config)
        self.call("run", file, "--quiet")
        before = self.last()
        self.call("run", file, "--quiet", "--restart", "--set", "kernels.histogram=reference")
        self.assertEqual(self.last(), before)

    def test_formulas(self):
        # A mode decays as exp(-2 pi^2 t); its square has the integral exp(-4 pi^2 t)/4.
        formulas = [{"integral": "u^2"}, {"maximum": {"of": "abs(u)", "where": True}},
                    {"minimum": {"of": "u - x", "where": True, "name": "least"}}]
        config = heat(grid={"points": [33, 65]}, initial={"u": "sin(pi*x)*sin(pi*y)"},
                      boundary={"x": {"dirichlet": 0}, "y": {"dirichlet": 0}}, time={"end": 0.01},
                      diagnostics=formulas)
        self.call("run", self.write("case.yaml", config), "--quiet")
        last = {name: float(value) for name, value in self.last().items()}
        self.assertEqual(sorted(last), ["integral(u^2)", "least", "least.x", "least.y",
                                      "maximum(abs(u))", "maximum(abs(u)).x",
                                      "maximum(abs(u)).y"])
        decay = math.exp(-2 * math.pi**2 * 0.01)
        self.assertAlmostEqual(last["maximum(abs(u))"], decay, delta=1e-3)
        self.assertAlmostEqual(last["integral(u^2)"], decay**2 / 4, delta=1e-3)
        self.assertEqual(last["maximum(abs(u)).x"], 0.5)
        self.assertEqual(last["maximum(abs(u)).y"], 0.5)
        self.assertEqual((last["least"], last["least.x"], last["least.y"]), (-1, 1, 0))

    def test_formulas_of_other_simulations(self):
        wave = {"simulation": "wave", "device": "cpu", "grid": {"points": [40, 30]}, "parameters": {"speed": 1},
                "initial": {"u": "exp(-50*((x - 0.4)^2 + (y - 0.5)^2))"}, "time": {"end": 0.1},
                "diagnostics": [{"integral": "u"}, {"maximum": {"of": "u", "name": "energy"}}]}
        _, err = self.call("run", self.write("case.yaml", wave), "--quiet", code=BAD_INPUT)
        self.assertRegex(err, r"diagnostics: 'energy' is the name of a number that wave itself "
                              r"gives \(choose another\)")
        self.assertEqual(self.files("outputs/case") if (self.directory / "outputs/case").exists()
                         else [], [])
        advection = {"simulation": "advection", "device": "cpu", "grid": {"points": [40, 30]},
                     "parameters": {"velocity": {"x": 1, "y": 0.5}},
                     "boundary": {"x": "periodic", "y": "periodic"},
                     "initial": {"u": "exp(-50*((x - 0.7)^2 + (y - 0.5)^2))"},
                     "time": {"end": 0.1}, "diagnostics": [{"integral": "u"}]}
        self.call("run", self.write("case.yaml", advection), "--quiet")
        last = self.last()
        self.assertAlmostEqual(float(last["integral(u)"]), float(last["mass"]), delta=1e-14)
        convolution = {"simulation": "convolution", "device": "cpu", "grid": {"points": 101},
                       "parameters": {"signal": "x", "filters": {"gaussian": {"sigma": 2}}},
                       "diagnostics": [{"maximum": {"of": "abs(u - signal)", "where": True}}]}
        self.call("run", self.write("case.yaml", convolution), "--quiet")
        self.assertIn("maximum(abs(u - signal)).x", self.last())

    def test_formulas_that_are_not_finite(self):
        config = heat(boundary={"x": {"neumann": 0}, "y": "periodic"}, initial={"u": "x"},
                      diagnostics=[{"minimum": "log(u)"}])
        _, err = self.call("run", self.write("case.yaml", config), "--quiet", code=FAILED)
        self.assertEqual(err, "minimum(log(u)) is not finite at x = 0, y = 0, step 0, time 0\n")

    def test_values_that_are_not_finite(self):
        config = heat(boundary={"x": {"neumann": 0}, "y": "periodic"}, initial={"u": 0},
                      parameters={"diffusivity": 1, "source": "if(t > 0.005, 1/(x - 0.5), 0)"},
                      diagnostics=self.every)
        _, err = self.call("run", self.write("case.yaml", config), "--quiet", code=FAILED)
        self.assertRegex(err, r"^(infinity|NaN) in field 'u' at cell \(\d+, 0, 0\), step \d+, "
                              r"time 0\.0075\n$")


if __name__ == "__main__":
    support.main()
