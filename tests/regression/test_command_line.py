"""What the command line takes, hints at, and prints as JSON."""

import json
import subprocess

import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED, heat


class Hints(support.Case):
    """What a tired hand types is named, with what was probably meant."""

    def hint(self, *arguments):
        out, err = self.call(*arguments, code=BAD_INPUT)
        self.assertEqual(out, "")
        return err

    def test_option(self):
        self.assertIn("--quie; did you mean '--quiet'?", self.hint("run", "x.yaml", "--quie"))
        self.assertIn("--Restrat=x; did you mean '--restart'?",
                      self.hint("run", "x.yaml", "--Restrat=x"))
        self.assertIn("--rtol ('--rtol' is an option of compare)",
                      self.hint("info", "x.h5", "--rtol"))
        self.assertNotIn("did you mean", self.hint("run", "x.yaml", "--frequency"))

    def test_names(self):
        self.assertIn("did you mean 'heat'?", self.hint("describe", "Heat"))
        self.assertIn("did you mean 'wave'?", self.hint("describe", "wvae"))
        self.assertIn("did you mean 'reduce'?", self.hint("list", "kernels", "Reduce"))
        self.assertIn("did you mean 'help'?", self.hint("hepl"))

    def test_device(self):
        file = self.write("case.yaml", heat())
        self.assertIn("did you mean 'cuda'?", self.hint("check", file, "--device", "gpu"))
        self.assertIn("did you mean 'cpu'?", self.hint("check", file, "--device", "CPU"))
        self.assertIn("did you mean 'cuda'?", self.hint("bench", "reduce", "--device", "gpu"))

    def test_size_of_bench(self):
        for size in ("1e6.5", "1_000", "0", "-1", "2^41", "1e99", "many"):
            self.assertIn("is not a number of elements", self.hint("bench", "reduce", "--size",
                                                                   size))
        out, _ = self.call("bench", "reduce", "--size", "1e4", "--type", "int32", "--device", "cpu")
        self.assertIn("10000 elements", out)


class Help(support.Case):
    def test_is_a_word_too(self):
        self.assertEqual(self.call("help"), self.call("--help"))
        for command in ("run", "check", "list", "describe", "compare", "verify", "info", "bench",
                        "slurm"):
            self.assertEqual(self.call("help", command), self.call(command, "--help"))
        self.assertIn("gridstride help COMMAND", self.call("help")[0])

    def test_of_nothing(self):
        self.assertIn("did you mean 'run'?", self.call("help", "rum", code=BAD_INPUT)[1])
        self.call("help", "run", "check", code=BAD_INPUT)


class StandardOutput(support.Case):
    def test_that_cannot_be_written_is_a_failure(self):
        file = self.write("case.yaml", heat())
        self.call("run", file, "--quiet")
        with open("/dev/full", "wb") as full:
            for arguments in (["list"], ["list", "devices"], ["check", file], ["info", "outputs"
                              "/case"], ["compare", "outputs/case", "outputs/case"],
                              ["describe", "heat"], ["--help"], ["help", "run"], ["--version"],
                              ["verify", self.write("exact.yaml", heat(
                                  verify={"exact": {"u": 0}, "tolerance": {"max": 9}}))]):
                done = subprocess.run([support.PROGRAM, *arguments], cwd=self.directory,
                                      stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, FAILED, arguments)
                self.assertIn("No space left on device", done.stderr)

    def test_closed_streams_do_not_become_files(self):
        file = self.write("case.yaml", heat())
        self.call("run", file, "--quiet", "--output", "whole")
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                done = subprocess.run(
                    f"'{support.PROGRAM}' run case.yaml --output closed {closed}", shell=True,
                    cwd=self.directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                self.assertIn(done.returncode, (0, FAILED))
                self.assert_same("whole", "closed")


class StandardInput(support.Case):
    def feed(self, config, *arguments, code=0):
        done = subprocess.run([support.PROGRAM, *arguments], cwd=self.directory, text=True,
                              input=config, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def test_is_a_config(self):
        config = json.dumps(heat())
        self.assertIn("simulation: heat", self.feed(config, "check", "-")[0])
        self.feed(config, "run", "-", "--quiet")
        self.call("run", self.write("case.yaml", heat()), "--quiet")
        self.assert_same("outputs/stdin", "outputs/case")

    def test_paths_are_relative_to_the_working_directory(self):
        self.call("run", self.write("case.yaml", heat()), "--quiet")
        config = heat(verify={"reference": "outputs/case/case.h5", "rtol": 0, "atol": 0})
        self.assertIn("1 of 1 verified", self.feed(json.dumps(config), "verify", "-")[0])

    def test_faults_are_named(self):
        _, err = self.feed("simulation: heat\ncolour: red\n", "check", "-", code=BAD_INPUT)
        self.assertIn("<standard input>:2:1: colour: unknown key", err)
        _, err = self.feed("", "run", "-", code=BAD_INPUT)
        self.assertIn("<standard input>: is empty", err)
        for command in ("run", "verify"):
            _, err = self.feed(json.dumps(heat()), command, "-", "-", code=BAD_INPUT)
            self.assertIn("can be read once", err)


class Json(support.Case):
    def json(self, *arguments, code=0):
        out, err = self.call(*arguments, "--json", code=code)
        self.assertEqual(err, "")
        found = json.loads(out, parse_constant=self.fail)
        self.assertIsInstance(found, dict)
        return found

    def test_info(self):
        config = heat(diagnostics=["norms", {"histogram": {"field": "u", "bins": 4}}])
        self.call("run", self.write("case.yaml", config), "--quiet")
        found = self.json("info", "outputs/case")
        self.assertTrue(found["complete"])
        self.assertEqual(found["grid"]["points"], [17, 16])
        self.assertEqual(found["fields"], [{"name": "u", "unit": "1", "precision": "float64"}])
        self.assertEqual(len(found["times"]), 5)
        self.assertEqual(len(found["steps"]), 5)
        self.assertEqual(found["times"][-1], 0.01)
        self.assertEqual(len(found["diagnostics"]["u.max"]), 5)
        self.assertEqual(sum(found["last_histograms"]["u.histogram"]["counts"]), 17 * 16)
        self.assertIn("time steps", found["wall_times"])

    def test_check(self):
        config = heat(checkpoint={"every": {"count": 2}}, time={"end": 0.01, "step": 5e-4})
        found = self.json("check", self.write("case.yaml", config))
        self.assertEqual((found["file"], found["device"].split(":")[0]), ("case.yaml", "cpu"))
        self.assertIn("simulation: heat", found["resolved_config"])
        self.assertEqual((found["time_step"], found["steps"]), (5e-4, 20))
        self.assertEqual((found["snapshots"], found["checkpoints"]), (5, 2))
        for key in ("device_bytes", "output_bytes", "checkpoint_bytes", "disk_free_bytes",
                    "least_seconds"):
            self.assertGreater(found[key], 0)
        self.assertEqual(found["host_bytes"], 0)  # files take the device's memory as it is
        self.assertNotIn("understood", found)
        system = {"simulation": "pde", "grid": {"points": [16]}, "boundary": {"x": "periodic"},
                  "equations": {"u": "laplace(u)"}, "initial": {"u": "x"}, "time": {"end": 0.01}}
        file = self.write("system.yaml", system)
        self.assertIn("  dt(u) = d2_dx2(u)", self.json("check", file)["understood"])
        self.assertIn("# reach: 1 point along x\n", self.call("check", file)[0])
        one_shot = {"simulation": "integration", "parameters": {"integrand": "x",
                                                                "variables": {"x": [0, 1]}}}
        self.assertNotIn("steps", self.json("check", self.write("sum.yaml", one_shot)))

    def test_compare(self):
        self.call("run", self.write("a.yaml", heat()), "--quiet")
        self.call("run", self.write("b.yaml", heat(initial={"u": "x*(1 - x)"})), "--quiet")
        same = self.json("compare", "outputs/a", "outputs/a", "--rtol", 0)
        self.assertTrue(same["equal"])
        self.assertEqual((same["rtol"], same["mismatches"]), (0, []))
        other = self.json("compare", "outputs/a", "outputs/b", code=DOES_NOT_HOLD)
        self.assertFalse(other["equal"])
        worst = other["fields"][0]
        self.assertEqual(worst["name"], "u")
        self.assertGreater(worst["violations"], 0)
        self.assertEqual(len(worst["worst"]["indices"]), 3)

    def test_numbers_that_json_lacks(self):
        self.call("run", self.write("a.yaml", heat(initial={"u": "x"})), "--quiet")
        self.call("run", self.write("b.yaml", heat(initial={"u": "0"})), "--quiet")
        found = self.json("compare", "outputs/a", "outputs/b", code=DOES_NOT_HOLD)
        self.assertEqual(found["fields"][0]["max_relative"], "inf")
        self.assertEqual(float(found["fields"][0]["max_relative"]), float("inf"))

    def test_list(self):
        found = self.json("list")
        self.assertEqual(list(found), ["simulations", "kernels", "functions", "devices"])
        self.assertIn("heat", [row["name"] for row in found["simulations"]])
        self.assertIn("sin(v)", [row["signature"] for row in found["functions"]])
        self.assertEqual(found["devices"][0]["name"], "cpu")
        found = self.json("list", "kernels", "reduce")
        self.assertEqual([family["name"] for family in found["kernels"]], ["reduce"])
        defaults = [row["name"] for row in found["kernels"][0]["variants"] if row["default"]]
        self.assertEqual(len(defaults), 2)  # one for each backend

    def test_verify(self):
        good = self.write("good.yaml", heat(verify={"exact": {"u": 0}, "tolerance": {"max": 9}}))
        bad = self.write("bad.yaml", heat(verify={"exact": {"u": 0}, "tolerance": {"max": 1e-9}}))
        found = self.json("verify", good, bad, code=DOES_NOT_HOLD)
        self.assertEqual((found["verified"], found["of"]), (1, 2))
        first, second = found["runs"]
        self.assertEqual((first["file"], first["holds"]), ("good.yaml", True))
        self.assertGreater(first["errors"]["u max error"], 0)
        self.assertEqual((second["file"], second["holds"]), ("bad.yaml", False))
        self.assertIn("over the tolerance", second["failure"])
        self.assertEqual(second["errors"], first["errors"])  # of the same solution

    def test_verify_with_a_reference(self):
        file = self.write("case.yaml", heat(verify={"reference": "stored.h5"}))
        found = self.json("verify", file, "--update")
        self.assertEqual(found["runs"][0]["stored"], "stored.h5")
        found = self.json("verify", file)
        self.assertTrue(found["runs"][0]["comparison"]["equal"])
        found = self.json("verify", file, "--set", "parameters.diffusivity=2", code=DOES_NOT_HOLD)
        self.assertFalse(found["runs"][0]["comparison"]["equal"])
        self.assertFalse(found["runs"][0]["holds"])


class QuietVerify(support.Case):
    def test_says_what_does_not_hold(self):
        verify = {"exact": {"u": 0}, "tolerance": {"max": 9}}
        good = self.write("good.yaml", heat(verify=verify))
        self.assertEqual(self.call("verify", good, "--quiet"), ("", ""))
        bad = self.write("bad.yaml", heat(verify={**verify, "tolerance": {"max": 1e-9}}))
        out, err = self.call("verify", good, bad, "--quiet", code=DOES_NOT_HOLD)
        self.assertRegex(out, r"^bad\.yaml: u: max error \S+ is over the tolerance 1e-09\n$")
        self.assertEqual(err, "")
        self.call("verify", good, "--quiet", "--json", code=BAD_INPUT)


if __name__ == "__main__":
    support.main()
