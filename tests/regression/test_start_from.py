"""Runs that start from what another run wrote."""

import h5py
import support
from support import BAD_INPUT, SIGINT_STOP, heat


class StartFrom(support.Case):
    def setUp(self):
        super().setUp()
        self.write("first.yaml", heat(output={"every": {"count": 4}}))
        self.call("run", "first.yaml", "--quiet")

    def second(self, code=0, **source):
        changes = source.pop("changes", {})
        config = heat(initial={"u": {"file": "outputs/first/first.h5", **source}}, **changes)
        out, err = self.call("run", self.write("second.yaml", config), "--quiet", code=code)
        return err

    def start_of(self, name):
        """What the log says of the first output."""
        log = (self.directory / f"outputs/{name}/{name}.log").read_text()
        return next(line for line in log.splitlines() if line.startswith("step "))

    def test_goes_on_as_one_run(self):
        # Steps of a power of two: both runs make the same ones.
        step = {"step": 2 ** -11}
        for name, end in (("half", 2 ** -6), ("whole", 2 ** -5)):
            self.call("run", self.write(f"{name}.yaml", heat(time={"end": end, **step})), "--quiet")
        for moment in ({"time": "last"}, {"time": 2 ** -6}, {"step": 32}):
            config = heat(time={"end": 2 ** -6, **step},
                          initial={"u": {"file": "outputs/half/half.h5", **moment}})
            self.call("run", self.write("rest.yaml", config), "--quiet")
            rest, whole = (self.info(f"outputs/{name}")["last"] for name in ("rest", "whole"))
            self.assertEqual(rest, whole)

    def test_moments(self):
        steps = {}
        for time in (0, 0.0025, 0.005, 0.01, "last"):
            self.second(time=time)
            steps[time] = self.start_of("second")
        self.assertEqual(steps[0.01], steps["last"])
        self.assertEqual(len(set(steps.values())), 4)
        self.assertIn("step 0 time 0 ", steps["last"])
        self.second(time="last", dataset="u", changes={"precision": "float32"})
        self.second(step=0)
        self.assertEqual(self.start_of("second"), steps[0])

    def test_what_is_not_there_is_told_with_what_is(self):
        err = self.second(code=BAD_INPUT, time=0.003)
        self.assertRegex(err, r"second\.yaml:\d+:\d+: initial\.u: \S*first\.h5: holds nothing of "
                              r"time 0\.003 \(of its 5 the nearest are 0, 0\.0025, 0\.005, 0\.0075\)")
        err = self.second(code=BAD_INPUT, step=7777)
        self.assertRegex(err, r"holds nothing of step 7777 \(of its 5 the nearest are \d+")
        err = self.second(code=BAD_INPUT, time="last", dataset="v")
        self.assertRegex(err, r"there is no field 'v' \(.*'?u'?\)")
        err = self.call("check", "second.yaml", code=BAD_INPUT)[1]
        self.assertIn("there is no field 'v'", err)

    def test_other_grids_are_refused(self):
        err = self.second(code=BAD_INPUT, time="last", changes={"grid": {"points": [17, 18]}})
        self.assertRegex(err, r"field 'u' of \S+ is \[16\]\[17\], the grid needs \[18\]\[17\]")
        err = self.second(code=BAD_INPUT, time="last",
                          changes={"grid": {"points": [17, 16], "upper": [1, 2]}})
        self.assertRegex(err, r"its points along y lie elsewhere \(from 0 with spacing 0\.0625, here "
                              r"from 0 with spacing 0\.125\)")
        err = self.second(code=BAD_INPUT, time="last", changes={"boundary": {"x": "periodic"}})
        self.assertRegex(err, r"its points along x lie elsewhere")

    def test_a_run_that_did_not_end_has_no_end(self):
        long = heat(time={"end": 100}, output={"every": {"steps": 100}})
        process = self.start("run", self.write("long.yaml", long), "--quiet")
        log = self.directory / "outputs/long/long.log"
        support.wait_for(lambda: log.exists() and log.read_text().count("\nstep ") > 3, "a step")
        process.send_signal(2)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGINT_STOP)
        err = self.second(code=BAD_INPUT, time="last", file="outputs/long/long.h5")
        self.assertRegex(err, r"the run did not come to its end; the last that it wrote is of time "
                              r"\S+ \(step \d+\)")
        self.second(step=100, file="outputs/long/long.h5")

    def test_other_simulations_take_it_too(self):
        source = {"file": "outputs/first/first.h5", "time": "last", "dataset": "u"}
        grid = {"points": [17, 16], "upper": [1, 0.9375]}
        config = {"simulation": "convolution", "device": "cpu", "grid": grid,
                  "parameters": {"signal": source, "filters": [{"gaussian": {"axis": "x", "sigma": 1}}]}}
        self.call("run", self.write("filter.yaml", config), "--quiet")

    def numbers(self, name):
        """The last diagnostics of a result, and its fields of one number."""
        with h5py.File(self.directory / f"outputs/{name}/{name}.h5") as file:
            found = {key: values[-1] for key, values in file["gridstride/diagnostics"].items()}
            return found | {key: values[-1].item() for key, values in file["VTKHDF/PointData"].items()
                            if values[-1].size == 1}

    def line(self, name, **changes):
        """The result of a line of 11 points from 0 to 0.1 where u is x."""
        self.call("run", self.write(f"{name}.yaml", {
            "simulation": "heat", "device": "cpu", "grid": {"points": 11, "upper": 0.1},
            "parameters": {"diffusivity": 1}, "initial": {"u": "x"}, "boundary": {"x": {"dirichlet": "x"}},
            "time": {"end": 1e-4}, **changes}), "--quiet")
        return {"file": f"outputs/{name}/{name}.h5", "time": "last", "dataset": "u"}

    def test_transform_has_the_points_of_the_result(self):
        source = self.line("line")
        config = {"simulation": "transform", "device": "cpu", "input": {"a": source, "b": "x"},
                  "steps": [{"difference": {"g": {"of": "a"}}},
                            {"filter": {"a": {"derivative": {"order": 1}}}}],
                  "reduce": [{"integral": {"of": "b"}}, {"moments": "a"}, {"where_max": "b"}],
                  "output": {"fields": ["a"]}}
        self.call("run", self.write("chain.yaml", config), "--quiet")
        numbers = self.numbers("chain")
        self.assertAlmostEqual(numbers["b.trapezoid"], 0.005)
        self.assertAlmostEqual(numbers["a.maximum"], 1)
        self.assertAlmostEqual(numbers["b.where_max.x"], 0.1)
        for grid in ({"points": 11}, {"spacing": 0.01}, {"points": 11, "upper": 0.1}, {"lower": 0}):
            self.call("check", self.write("same.yaml", {**config, "grid": grid}))
        for grid, here in (({"spacing": 1}, "0 with spacing 1"), ({"lower": 2}, "2 with spacing 0.01"),
                           ({"points": 11, "upper": 1}, "0 with spacing 0.1")):
            path = self.write("other.yaml", {**config, "grid": grid})
            err = self.call("check", path, code=BAD_INPUT)[1]
            self.assertRegex(err, r"other\.yaml:\d+:\d+: input\.a: field 'u' of \S+ has its points along x "
                                  rf"elsewhere \(from 0 with spacing 0\.01, here from {here}; without")
        other = self.line("other", grid={"points": 11, "lower": 1, "upper": 2})
        err = self.call("check", self.write("two.yaml", {**config, "input": {"b": other, "a": source}}),
                        code=BAD_INPUT)[1]
        self.assertRegex(err, r"input\.a: .* elsewhere \(from 0 with spacing 0\.01, those before it from 1 ")

    def test_components_of_a_vector_have_no_place(self):
        self.call("run", self.write("flow.yaml", {
            "simulation": "pde", "device": "cpu",
            "grid": {"points": [4, 8], "lower": [1, 1], "upper": [2, 3]},
            "boundary": {"x": "periodic", "y": "periodic"}, "fields": {"q": "vector"},
            "equations": {"q": "laplace(q)"}, "initial": {"q": {"x": "x", "y": "y"}},
            "time": {"scheme": "euler", "end": 1e-9}}), "--quiet")
        config = {"simulation": "transform", "device": "cpu", "reduce": [{"where_max": "a"}],
                  "input": {"a": {"file": "outputs/flow/flow.h5", "time": 0, "dataset": "q"}}}
        self.call("run", self.write("chain.yaml", config), "--quiet")
        numbers = self.numbers("chain")
        self.assertEqual([numbers[f"a.where_max.{axis}"] for axis in "xyz"], [1, 1, 2.75])

    def test_samples_lie_where_the_result_has_them(self):
        source = self.line("line")

        def integral(code=0, **x):
            path = self.write("integral.yaml", {
                "simulation": "integration", "device": "cpu",
                "parameters": {"integrand": source, "variables": {"x": x.get("range", x)}}})
            return self.call("run", path, "--quiet", code=code)[1]

        for x, value in (({"range": [0, 0.1]}, 0.005), ({"range": [0.1, 0]}, -0.005),
                         ({"spacing": 0.01}, 0.005)):
            integral(**x)
            self.assertAlmostEqual(self.numbers("integral")["value"], value)
        self.assertRegex(integral(code=BAD_INPUT, range=[0, 1]),
                         r"integral\.yaml:\d+:\d+: parameters\.variables\.x: goes from 0 to 1, but field 'u' "
                         r"of \S+ has its points from 0 to 0\.1 along this axis \(give \[0, 0\.1\]\)")
        self.assertRegex(integral(code=BAD_INPUT, spacing=1, lower=2),
                         r"has the spacing 1 from 2 on, but .* \(give \{lower: 0, spacing: 0\.01\}\)")


if __name__ == "__main__":
    support.main()
