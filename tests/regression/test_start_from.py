"""Runs that start from what another run wrote."""

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


if __name__ == "__main__":
    support.main()
