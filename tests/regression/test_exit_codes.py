"""Exit codes, and what goes to standard output and standard error."""

import contextlib
import json
import os
import pty
import signal

import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED, SIGINT_STOP, SIGTERM_STOP, heat, wait_for


class ExitCodes(support.Case):
    def test_help_and_version_are_results(self):
        for option in ("--help", "-h"):
            out, err = self.call(option)
            self.assertIn("Usage: gridstride", out)
            self.assertEqual(err, "")
        out, err = self.call("--version")
        self.assertRegex(out, r"^gridstride \d+\.\d+\.\d+ \([0-9a-z-]+, with(out)? CUDA\)\n$")
        self.assertEqual(err, "")
        for command in ("run", "check", "list", "describe", "compare", "verify", "info"):
            self.assertIn(f"gridstride {command}", self.call(command, "--help")[0])

    def test_usage_errors(self):
        for arguments in ([], ["walk"], ["run"], ["run", "--frequency", "3"], ["compare", "one"],
                          ["list", "colours"], ["describe"], ["describe", "heet"],
                          ["compare", "a", "b", "--rtol", "-1"]):
            out, err = self.call(*arguments, code=BAD_INPUT)
            self.assertEqual(out, "", arguments)
            self.assertNotEqual(err, "", arguments)
        self.assertEqual(self.files(), [])

    def test_unknown_subcommand_is_named(self):
        _, err = self.call("rum", "case.yaml", code=BAD_INPUT)
        self.assertIn("no subcommand 'rum'", err)
        self.assertIn("did you mean 'run'?", err)

    def test_run_tells_of_itself_on_standard_error(self):
        file = self.write("case.yaml", heat())
        out, err = self.call("run", file)
        self.assertEqual(out, "")
        for part in ("updates/s", "GB/s", "time steps", "files", "outputs/case"):
            self.assertIn(part, err)

    def test_quiet_is_silent(self):
        self.assertEqual(self.call("run", self.write("case.yaml", heat()), "--quiet"), ("", ""))

    def test_bar_on_a_terminal(self):
        config = heat(grid={"points": [129, 128]}, time={"end": 4, "step": 1e-5},
                      output={"every": {"count": 40}})
        terminal, other_end = pty.openpty()
        process = self.start("run", self.write("case.yaml", config), stderr=other_end)
        os.close(other_end)
        shown = b""
        with contextlib.suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as screen:
            while part := screen.read(4096):  # an error is the end: nobody holds the other side
                shown += part
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        self.assertRegex(shown.decode(), r"\r\[=* *\] +\d+ %  t = \S+  step \d+  \S.* steps/s  "
                                         r"\S.* updates/s  ETA \d+:\d\d")
        # The bar is wiped away before the summary.
        self.assertIn("\r\x1b[Kstep ", shown.decode())

    def test_results_go_to_standard_output(self):
        file = self.write("case.yaml", heat())
        self.call("run", file, "--quiet")
        for arguments in (["info", "outputs/case"], ["compare", "outputs/case", "outputs/case"],
                          ["check", file], ["list"], ["list", "kernels"], ["describe", "heat"],
                          ["describe", "heat", "--schema"]):
            out, err = self.call(*arguments)
            self.assertNotEqual(out, "", arguments)
            self.assertEqual(err, "", arguments)

    def test_failed_runs(self):
        _, err = self.call("info", "nothing.h5", code=FAILED)
        self.assertIn("nothing.h5", err)

    def test_tolerance_that_is_not_met(self):
        parameters = {"integrand": "exp(-k*x)", "variables": {"x": [0, 1]}, "rule": "midpoint",
                      "points": 8, "tolerance": {"relative": 1e-9},
                      "sweep": {"k": {"from": 0, "to": 4, "count": 5}}}
        file = self.write("sum.yaml", {"simulation": "integration", "parameters": parameters})
        _, err = self.call("run", file, "--quiet", code=FAILED)
        message = r"the tolerance is not met \(4 of 5 integrals; the first, k = 1: the best value"
        self.assertRegex(err, message)
        self.assertRegex(self.info("outputs/sum")["fallback"][-1], message)
        self.call("verify", self.write("verified.yaml", {
            "simulation": "integration", "parameters": parameters,
            "verify": {"exact": {"value": "if(k == 0, 1, (1 - exp(-k))/max(k, 1e-9))"},
                       "tolerance": {"max": 0.1}}}), code=FAILED)

    def test_integrals_that_are_missing(self):
        parameters = {"integrand": "log(x-c)", "variables": {"x": [1, 2]},
                      "sweep": {"c": {"from": 2, "to": -1, "count": 4}}}
        file = self.write("gaps.yaml", {"simulation": "integration", "parameters": parameters})
        _, err = self.call("run", file, "--quiet", "--summary", "summary.json", code=FAILED)
        message = r"gaps.yaml:\d+:\d+: parameters.integrand: is nan at the sample x = \S+ with c = " \
                  r"2 \(.*\); 1 of 4 integrals are missing"
        self.assertRegex(err, message)
        found = self.info("outputs/gaps")
        self.assertRegex(found["head"], "^outputs/gaps/gaps.h5: the run came to its end, but " + message)
        self.assertRegex(found["fallback"][-1], message)
        image = (self.directory / "outputs/gaps/gaps_000000.vti").read_bytes()
        self.assertIn(b'Origin="-1 0 0" Spacing="1 1 1"', image)
        self.assertEqual(json.loads((self.directory / "summary.json").read_text())["grid_points"], 4)

    def test_exact_solution_that_does_not_hold(self):
        self.call("verify", self.write("untold.yaml", heat(verify={"exact": {"u": "0"}})),
                  code=BAD_INPUT)
        verify = {"exact": {"u": "0"}, "tolerance": {"max": 1e-3}}
        file = self.write("case.yaml", heat(verify=verify))
        _, err = self.call("run", file, code=DOES_NOT_HOLD)
        self.assertRegex(err, r"u: max error \d\S* is over the tolerance 0\.001\n")
        out, _ = self.call("verify", file, code=DOES_NOT_HOLD)
        self.assertIn("0 of 1 verified", out)

    def test_signals(self):
        endless = heat(time={"end": 1e9}, output={"formats": [], "every": {"count": 1}})
        file = self.write("case.yaml", endless)
        log = self.directory / "outputs/case/case.log"
        for number, code, name in ((signal.SIGINT, SIGINT_STOP, "SIGINT"),
                                   (signal.SIGTERM, SIGTERM_STOP, "SIGTERM")):
            process = self.start("run", file, "--quiet")
            wait_for(lambda: log.exists() and "step 0 " in log.read_text(), "the first output")
            process.send_signal(number)
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, code)
            self.assertEqual(out, "")
            self.assertRegex(err, rf"stopped by {name} at step \d+, time \S+; `--restart` goes on "
                                  r"from outputs/case/case_\d+\.checkpoint\n")
            log.unlink()
            for checkpoint in log.parent.glob("*.checkpoint"):
                checkpoint.unlink()


class SeveralFiles(support.Case):
    def test_all_run_in_order(self):
        files = [self.write(f"{name}.yaml", heat()) for name in "ab"]
        _, err = self.call("run", *files)
        self.assertLess(err.index("outputs/a"), err.index("outputs/b"))
        self.assert_same("outputs/a", "outputs/b")

    def refuse_second(self, faulty, message):
        good = self.write("good.yaml", heat())
        bad = self.write("bad.yaml", faulty)
        before = self.files()
        _, err = self.call("run", good, bad, code=BAD_INPUT)
        self.assertRegex(err, message)
        self.assertEqual(self.files(), before)

    def test_all_are_read_before_one_runs(self):
        self.refuse_second(heat(colour="red"), "bad.yaml:.* unknown key")

    def test_all_are_checked_before_one_runs(self):
        self.refuse_second(heat(time={"end": 1, "step": 0.5}), "over the stability limit")
        self.refuse_second(heat(initial={"u": {"file": "good.yaml", "dataset": "/u"}}),
                           "good.yaml: ")
        self.refuse_second(heat(grid={"points": [10**6, 10**6]}), "needs 2 x 7\\.3 TiB")

    def test_two_runs_do_not_write_the_same_files(self):
        one, other = (self.write(f"{folder}/case.yaml", heat()) for folder in "ab")
        _, err = self.call("run", one, other, code=BAD_INPUT)
        self.assertIn("the results of a/case.yaml have the same place and names", err)
        self.assertEqual(self.files("."), [one, other])


if __name__ == "__main__":
    support.main()
