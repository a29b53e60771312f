"""Sweeps: several runs of one file, side by side, each with a result of its own."""

import csv
import json
import pathlib
import signal

import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED, ROOT, SIGINT_STOP, heat, wait_for

SPREADING = heat(constants={"D": 1, "peak": 1}, parameters={"diffusivity": "D"},
                 initial={"u": "peak*sin(pi*x)*(1 + cos(2*pi*y)/2)"}, sweep={"D": [0.5, 1, 2]})
LONG = heat(constants={"D": 1}, parameters={"diffusivity": "D"}, time={"end": 1e9},
            sweep={"D": [1, 2, 3]}, output={"formats": ["hdf5"], "every": {"count": 1}})


class Sweeps(support.Case):
    def table(self, path="outputs/case/case.sweep.csv"):
        with open(self.directory / path, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_each_run_has_the_bits_of_its_own(self):
        file = self.write("case.yaml", SPREADING)
        _, err = self.call("run", file)
        self.assertRegex(err, r"^3 runs, \d at a time: 3 came to their end\n  D=0.5  done\n")
        self.assertEqual([(row["D"], row["folder"], row["ending"]) for row in self.table()],
                         [("0.5", "D=0.5", "done"), ("1", "D=1", "done"), ("2", "D=2", "done")])
        for value in ("0.5", "1", "2"):
            self.call("run", file, "--quiet", "--set", "sweep={}", "--set", f"constants.D={value}",
                      "--output", "alone")
            self.assert_same(f"outputs/case/D={value}", "alone")

    def test_threads_do_not_matter(self):
        file = self.write("case.yaml", {**SPREADING, "sweep": {"D": [1, 2], "peak": [3, 4, 5]}})
        for threads in (1, 2, 3, 7):
            self.call("run", file, "--quiet", "--output", f"by_{threads}",
                      environment={"OMP_NUM_THREADS": str(threads)})
        for folder in ("D=1,peak=3", "D=1,peak=4", "D=2,peak=5"):
            for threads in (2, 3, 7):
                self.assert_same(f"by_1/{folder}", f"by_{threads}/{folder}")

    def test_summary_is_a_list(self):
        file = self.write("case.yaml", SPREADING)
        out, _ = self.call("run", file, "--quiet", "--summary", "-")
        found = json.loads(out)
        self.assertEqual([one["sweep"] for one in found], [{"D": 0.5}, {"D": 1}, {"D": 2}])
        self.assertEqual({one["time"] for one in found}, {0.01})

    def test_check_tells_each_run_and_all_together(self):
        file = self.write("case.yaml", SPREADING)
        out, _ = self.call("check", file, environment={"OMP_NUM_THREADS": "2"})
        self.assertIn("# sweep: 3 runs in outputs/case, 2 at a time (there are 2 threads)\n", out)
        steps = [line for line in out.splitlines() if line.startswith("# D=")]
        self.assertEqual(len(steps), 3)
        self.assertRegex(steps[0], r"^# D=0\.5: time step: \S+ s, \d+ steps, at least ")
        told = json.loads(self.call("check", file, "--json",
                                    environment={"OMP_NUM_THREADS": "2"})[0])
        self.assertEqual([run["sweep"]["D"] for run in told["runs"]], [0.5, 1, 2])
        self.assertEqual(told["at_once"], 2)
        self.assertEqual(told["device_bytes"], 2 * told["runs"][0]["device_bytes"])
        self.assertFalse((self.directory / "outputs").exists())
        resolved = self.write("resolved.yaml", told["resolved_config"])
        self.assertEqual(json.loads(self.call("check", resolved, "--json")[0])["runs"][2]["sweep"],
                         {"D": 2})

    def test_check_tells_what_follows_from_the_constants_of_the_sweep(self):
        config = {**SPREADING, "constants": {"D": 1, "twice": "2*D", "peak": "1"}}
        out, _ = self.call("check", self.write("case.yaml", config))
        self.assertIn("# the sweep changes constants.twice too, which the config above does not show\n",
                      out)
        out, _ = self.call("check", self.write("case.yaml", SPREADING))
        self.assertNotIn("the sweep changes", out)

    def test_check_tells_numbers_that_constants_of_the_sweep_stand_for(self):
        config = {**SPREADING, "grid": {"points": [17, 16], "upper": ["D", 1]}}
        found = json.loads(self.call("check", self.write("case.yaml", config), "--json")[0])
        self.assertEqual(found["understood"][0],
                         "the sweep changes grid.upper too, which the config above does not show")

    def test_fewer_side_by_side_where_memory_is_short(self):
        side = 6400  # three such arrays fit twice, not three times
        config = {**SPREADING, "grid": {"points": [side, side]}, "initial": {"u": "peak"}}
        out, _ = self.call("check", self.write("case.yaml", config), **support.limited_to(5 << 29),
                           environment={"OMP_NUM_THREADS": "3"})
        self.assertRegex(out, r"# sweep: 3 runs in \S+, [12] at a time \(there is no memory for more\)")

    def test_what_keeps_one_from_starting_is_met_before_the_first(self):
        for config, message in (
                ({**SPREADING, "sweep": {"D": [1, -2]}},
                 r"parameters\.diffusivity: .*\(in the sweep's run D=-2\)"),
                ({**SPREADING, "time": {"end": 1, "step": 7e-4}},
                 r"time\.step: .*\(in the sweep's run D=2\)"),
                ({**SPREADING, "verify": {"reference": "a.h5"}}, r"verify\.reference: is one result"),
                ({**SPREADING, "sweep": {"E": 1}}, r"sweep\.E: unknown key"),
                ({**SPREADING, "sweeep": {"D": 1}}, r"sweeep: unknown key; did you mean 'sweep'")):
            file = self.write("case.yaml", config)
            for arguments in (["check", file], ["run", file], ["run", file, file]):
                _, err = self.call(*arguments, code=BAD_INPUT)
                self.assertRegex(err, message)
            self.assertFalse((self.directory / "outputs").exists())

    def test_the_others_go_on_where_one_fails(self):
        config = {**SPREADING, "parameters": {"diffusivity": 1, "source": "log(D - t)"},
                  "sweep": {"D": [1, 0.005, 2]}}
        file = self.write("case.yaml", config)
        _, err = self.call("run", file, "--quiet", "--summary", "s.json", code=FAILED)
        self.assertRegex(err, r"^1 of 3 runs failed:\nD=0\.005: NaN in field 'u'")
        endings = [row["ending"] for row in self.table()]
        self.assertEqual((endings[0], endings[2]), ("done", "done"))
        self.assertIn("NaN in field", endings[1])
        summaries = json.loads((self.directory / "s.json").read_text())
        self.assertIn("NaN in field", summaries[1]["failure"])
        self.assertEqual(summaries[2]["time"], 0.01)

    def test_verify_judges_each(self):
        exact = {"u": "peak*exp(-D*pi^2*t)*sin(pi*x)"}
        config = {**SPREADING, "initial": {"u": "peak*sin(pi*x)"},
                  "verify": {"exact": exact, "tolerance": {"max": 1e-2}}}
        file = self.write("case.yaml", config)
        out, _ = self.call("verify", file)
        self.assertRegex(out, r"case\.yaml \(D=0\.5\): u l2 error ")
        self.assertTrue(out.endswith("3 of 3 verified\n"))
        config["verify"]["tolerance"]["max"] = 1e-9
        self.write("case.yaml", config)
        self.call("verify", file, code=DOES_NOT_HOLD)
        self.call("run", file, "--quiet", "--summary", "s.json", code=DOES_NOT_HOLD)
        for one in json.loads((self.directory / "s.json").read_text()):
            self.assertIn("is over the tolerance", one["failure"])
            self.assertGreater(one["verified"]["u max error"], 1e-9)

    def test_one_signal_stops_all_and_a_restart_goes_on(self):
        file = self.write("case.yaml", LONG)
        process = self.start("run", file, "--quiet", environment={"OMP_NUM_THREADS": "2"})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)

        def under_way():
            logs = [self.directory / f"outputs/case/D={value}/case.log" for value in (1, 2)]
            return all(log.exists() and "\nstep " in log.read_text() for log in logs)
        wait_for(under_way, "two runs")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGINT_STOP)
        self.assertEqual(err, "stopped by SIGINT: of 3 runs 0 came to their end, 2 saved their "
                              "state, 1 did not begin; `--restart` goes on with them\n")
        endings = [row["ending"] for row in self.table()]
        self.assertEqual(endings[2], "not begun")
        self.assertRegex(endings[0], r"^stopped by SIGINT at step \d+")
        checkpoints = sorted((self.directory / "outputs/case").glob("*/*.checkpoint"))
        self.assertEqual([path.parent.name for path in checkpoints], ["D=1", "D=2"])
        _, err = self.call("run", file, code=BAD_INPUT)
        self.assertRegex(err, r"holds checkpoints of an earlier run.*\(in the sweep's run D=1\)")
        self.call("run", file, "--restart", checkpoints[0], code=BAD_INPUT)
        # The end comes soon after where the first part stopped.
        ends = [json.loads(self.call("info", path, "--json")[0])["time"] for path in checkpoints]
        short = {**LONG, "time": {"end": max(ends) * 1.01}}
        self.write("case.yaml", short)
        self.call("run", file, "--restart", "--quiet")
        self.assertEqual([row["ending"] for row in self.table()], ["done"] * 3)
        _, err = self.call("run", file, "--restart")
        self.assertIn("3 came to their end", err)

    def test_what_was_done_before_keeps_how_it_ended(self):
        file = self.write("case.yaml", {
            "simulation": "pde", "grid": {"points": 9}, "constants": {"a": 1},
            "sweep": {"a": [0.1, 2]}, "boundary": {"x": "periodic"}, "equations": {"u": "-a*u"},
            "initial": {"u": 1}, "time": {"scheme": "rk4", "step": 0.01, "end": 1},
            "output": {"every": {"count": 1}}, "stop": {"when": "mean(u) < 0.4"}})
        self.call("run", file, "--quiet")
        endings = [row["ending"] for row in self.table()]
        self.assertEqual(endings[0], "done")
        self.assertRegex(endings[1], r"^ended at t = ")
        self.call("run", file, "--quiet", "--restart")
        self.assertEqual([row["ending"] for row in self.table()], endings)

    def test_the_example(self):
        example = ROOT / "inputs/pde/gray_scott_sweep.yaml"
        self.call("run", example, "--quiet", "--device", "cpu", "--output", "swept",
                  "--set", "time.end=100")
        rows = self.table("swept/gray_scott_sweep.sweep.csv")
        self.assertEqual([row["F"] for row in rows][::7], ["0.02", "0.055"])
        self.call("run", example, "--quiet", "--device", "cpu", "--output", "alone",
                  "--set", "time.end=100", "--set", "sweep={}", "--set", "constants.F=0.04")
        self.assert_same("swept/F=0.04", "alone")
        self.assertEqual(len({pathlib.Path(row["folder"]) for row in rows}), 8)


if __name__ == "__main__":
    support.main()
