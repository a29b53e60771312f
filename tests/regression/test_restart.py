"""Stopping, restarting, and ending with the bits of a run that was never stopped."""

import signal

import numpy

import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED, SIGINT_STOP, SIGTERM_STOP, heat, moving, wait_for


class Restart(support.Case):
    def checkpoints(self, folder="outputs/case"):
        return [name for name in self.files(folder) if name.endswith(".checkpoint")]

    def interrupt(self, file, number, code, *options, outputs=3):
        """Runs, and sends a signal when so many outputs are written. Returns the message."""
        log = self.directory / "outputs/case/case.log"
        before = log.read_text().count("\nstep ") if log.exists() else 0
        process = self.start("run", file, "--quiet", *options)
        self.addCleanup(process.kill)
        wait_for(lambda: process.poll() is not None or
                 log.exists() and log.read_text().count("\nstep ") >= before + outputs, "output")
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, err)
        return err

    def assert_like_uninterrupted(self, file):
        """The results are those of the same run in one go: fields, images and series."""
        self.call("run", file, "--quiet", "--output", "whole")
        self.assert_same("outputs/case", "whole")
        names = [name for name in self.files("whole") if name.endswith((".pvd", ".vti"))]
        self.assertEqual([name for name in self.files("outputs/case") if name.endswith(".vti")],
                         [name for name in names if name.endswith(".vti")])
        for name in names:
            self.assertEqual((self.directory / "outputs/case" / name).read_bytes(),
                             (self.directory / "whole" / name).read_bytes(), name)
        self.assertIn(": complete", self.info("outputs/case")["head"])

    def stop_and_go(self, **variation):
        file = self.write("case.yaml", moving(**variation))
        message = self.interrupt(file, signal.SIGINT, SIGINT_STOP)
        self.assertRegex(message, r"^stopped by SIGINT at step \d+, time \S+; `--restart` goes on "
                                  r"from outputs/case/case_\d{12}\.checkpoint\n$")
        named = message.rsplit("/", 1)[1].strip()
        self.assertEqual(self.checkpoints(), [named])
        self.assertIn("did not come to its end", self.info("outputs/case")["head"])
        message = self.interrupt(file, signal.SIGTERM, SIGTERM_STOP, "--restart")
        self.assertIn("stopped by SIGTERM", message)
        self.call("run", file, "--quiet", "--restart")
        self.assert_like_uninterrupted(file)

    def test_ftcs_float64(self):
        self.stop_and_go(scheme="ftcs")

    def test_ftcs_float32(self):
        self.stop_and_go(scheme="ftcs", precision="float32")

    def test_rk4_float64(self):
        self.stop_and_go()

    def test_rk4_float32(self):
        self.stop_and_go(precision="float32")

    reduced = {"precision": "float32", "every_nth_point": [4, 3], "compression": 1}

    def test_reduced(self):
        self.stop_and_go(output={"every": {"count": 15}, **self.reduced})

    def test_another_reduction_is_refused(self):
        def write(formats=("vti", "hdf5"), **changes):
            output = {"every": {"count": 15}, "formats": list(formats), **self.reduced, **changes}
            return self.write("case.yaml", moving(output=output))

        self.interrupt(write(), signal.SIGINT, SIGINT_STOP)
        for change, told in (
                ({"every_nth_point": 2}, r"\(output.every_nth_point was \[4, 3\] and is \[2, 2\]\)"),
                ({"precision": "auto"}, r"\(output.precision was float32 and is auto\)")):
            before = {name: (self.directory / "outputs/case" / name).read_bytes()
                      for name in self.files("outputs/case")}
            _, err = self.call("run", write(["hdf5"], **change), "--quiet", "--restart", code=FAILED)
            self.assertRegex(err, r"case\.h5: holds fields reduced otherwise than this run's " + told)
            _, err = self.call("run", write(["vti"], **change), "--quiet", "--restart", code=FAILED)
            self.assertRegex(err, r"case_\d{6}\.vti: holds other points, or values of another type, "
                                  r"than this run writes \(output\.every_nth_point, "
                                  r"output\.precision\)")
            self.assertEqual(before, {name: (self.directory / "outputs/case" / name).read_bytes()
                                      for name in self.files("outputs/case")})
        # How it is packed may change: all is packed anew.
        self.call("run", write(compression=0), "--quiet", "--restart")
        self.call("run", write(), "--quiet", "--output", "whole")
        self.assert_same("outputs/case", "whole")

    def test_stopped_between_outputs(self):
        file = self.write("case.yaml", moving(time={"end": 5, "scheme": "ftcs"},
                                              output={"every": {"count": 3}}))
        self.interrupt(file, signal.SIGTERM, SIGTERM_STOP, outputs=1)
        self.call("run", file, "--quiet", "--restart")
        self.assert_like_uninterrupted(file)

    def test_killed(self):
        file = self.write("case.yaml", moving(checkpoint={"every": {"steps": 97}}))
        self.interrupt(file, signal.SIGKILL, -signal.SIGKILL)
        self.assertNotEqual(self.checkpoints(), [])
        self.call("run", file, "--quiet", "--restart")
        self.assert_like_uninterrupted(file)

    def test_checkpoints_at_the_moments_of_outputs(self):
        file = self.write("case.yaml", moving(checkpoint={"every": {"count": 15}}))
        self.interrupt(file, signal.SIGKILL, -signal.SIGKILL)
        self.call("run", file, "--quiet", "--restart")
        self.assert_like_uninterrupted(file)

    def test_checkpoints_that_shorten_steps(self):
        file = self.write("case.yaml", moving(checkpoint={"every": {"time": 0.0123}}))
        self.interrupt(file, signal.SIGINT, SIGINT_STOP)
        self.call("run", file, "--quiet", "--restart")
        self.assert_like_uninterrupted(file)

    def test_option_before_the_file(self):
        file = self.write("case.yaml", moving(scheme="ftcs"))
        self.interrupt(file, signal.SIGINT, SIGINT_STOP)
        self.call("run", "--quiet", "--restart", file)
        self.assert_like_uninterrupted(file)

    def test_first_submission_of_a_job_that_restarts(self):
        file = self.write("case.yaml", moving())
        _, err = self.call("run", file, "--restart")
        self.assertIn("--restart: there is no earlier run in outputs/case; from the start", err)
        self.assertIn("--restart", self.info("outputs/case")["fallback"][-1])
        self.assert_like_uninterrupted(file)


class TwoRuns(support.Case):
    """Two processes that would write the same files."""

    endless = heat(time={"end": 1e9}, output={"formats": ["hdf5"], "every": {"count": 1}})

    def begin(self, *options):
        log = self.directory / "outputs/case/case.log"
        process = self.start("run", "case.yaml", "--quiet", *options)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        wait_for(lambda: log.exists() and "\nstep " in log.read_text(), "output")
        return process

    def test_the_second_is_refused_and_names_the_first(self):
        self.write("case.yaml", self.endless)
        first = self.begin()
        before = self.files()
        for options in ([], ["--restart"], ["--overwrite"], ["--output", "outputs/../outputs/case"]):
            _, err = self.call("run", "case.yaml", *options, code=FAILED)
            self.assertRegex(err, rf"^outputs/\S*case: another run of 'case' writes there \(process "
                                  rf"{first.pid} on \S+, since \d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\dZ\); wait")
        self.assertEqual(self.files(), before)
        self.assertRegex(self.info("outputs/case")["head"],
                         rf": still running \(process {first.pid} on \S+, since ")
        # Another name in the same folder is no concern of it.
        self.write("other.yaml", heat())
        self.call("run", "other.yaml", "--quiet", "--output", "outputs/case")
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
        self.assertEqual([name for name in self.files("outputs/case") if name.endswith(".lock")], [])

    def test_a_killed_one_is_no_hindrance(self):
        self.write("case.yaml", self.endless)
        first = self.begin()
        first.kill()
        first.communicate()
        self.assertIn("did not come to its end (it was killed, or its machine failed)",
                      self.info("outputs/case/case.h5")["head"])
        self.call("run", "case.yaml", "--set", "time.end=0.01", "--quiet")
        self.assertEqual(self.files("outputs/case"), ["case.h5", "case.log"])

    def test_nothing_is_left_where_nothing_is_written(self):
        self.write("case.yaml", heat(time={"end": 1, "step": 0.5}))
        _, err = self.call("run", "case.yaml", "--output", "deep/er", code=BAD_INPUT)
        self.assertIn("over the stability limit", err)
        self.assertEqual(self.files(), ["case.yaml"])
        self.assertFalse((self.directory / "deep").exists())

    def test_why_a_run_ended(self):
        self.write("case.yaml", self.endless)
        first = self.begin()
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=60)
        log = self.directory / "outputs/case/case.log"
        self.assertRegex(log.read_text(), r"\nended: stopped by SIGTERM at step \d+, time \S+; .*\n$")
        self.assertRegex(self.info("outputs/case")["head"],
                         r"did not come to its end \(stopped by SIGTERM at step \d+, ")
        self.write("case.yaml", heat(parameters={"diffusivity": 1, "source": "log(0.005 - t)"}))
        _, err = self.call("run", "case.yaml", "--overwrite", code=FAILED)
        self.assertTrue(log.read_text().endswith(f"\nended: {err}"))
        self.assertIn(f"did not come to its end ({err.strip()})", self.info("outputs/case")["head"])
        self.write("case.yaml", heat())
        self.call("run", "case.yaml", "--quiet")
        self.assertTrue(log.read_text().endswith("\nended: done\n"))


class WithoutCheckpoints(support.Case):
    """What a batch job meets that always says `--restart`."""

    def test_done_before(self):
        for formats in ([], ["vti"], ["hdf5", "vti"]):
            with self.subTest(formats=formats):
                output = {"every": {"count": 3}, "formats": formats}
                file = self.write("case.yaml", heat(output=output))
                self.call("run", file, "--quiet")
                before = {name: (self.directory / name).read_bytes() for name in self.files()}
                _, err = self.call("run", file, "--restart")
                self.assertEqual(err, "--restart: the run in outputs/case came to its end before; "
                                      "nothing is left to do\n")
                _, err = self.call("run", file, "--restart", "--set", "time.end=0.02",
                                   code=BAD_INPUT)
                self.assertIn("came to its end with another config (time.end was 0.01 and is "
                              "0.02) and left no checkpoint", err)
                self.assertEqual({name: (self.directory / name).read_bytes()
                                  for name in self.files()}, before)

    def test_done_before_with_other_inputs(self):
        """Files are beside the config, wherever the program was started."""
        (self.directory / "runs").mkdir()
        numpy.save(self.directory / "runs/D.npy", numpy.full(17, 0.01))
        file = self.write("runs/case.yaml", heat(grid={"points": 17}, initial={"u": "x"},
                                                 boundary={"x": {"neumann": 0}},
                                                 parameters={"diffusivity": {"file": "D.npy"}}))
        self.call("run", file, "--quiet")
        _, err = self.call("run", file, "--restart")
        self.assertIn("nothing is left to do", err)
        numpy.save(self.directory / "runs/D.npy", numpy.full(17, 0.02))
        before = {name: (self.directory / name).read_bytes() for name in self.files()}
        _, err = self.call("run", file, "--restart", code=BAD_INPUT)
        self.assertRegex(err, r"D\.npy is not as it was for the run in outputs/case that came to "
                              r"its end \(264 bytes, written [\d. :-]+ UTC; now 264 bytes, written "
                              r"[\d. :-]+ UTC\) and left no checkpoint to go on from; without "
                              r"--restart its results are replaced")
        self.assertEqual({name: (self.directory / name).read_bytes() for name in self.files()},
                         before)
        self.call("run", file, "--quiet")
        _, err = self.call("run", file, "--restart")
        self.assertIn("nothing is left to do", err)

    def test_done_before_but_the_result_is_gone(self):
        file = self.write("case.yaml", heat())
        self.call("run", file, "--quiet")
        (self.directory / "outputs/case/case.h5").rename(self.directory / "first.h5")
        _, err = self.call("run", file, "--restart")
        self.assertIn("left no checkpoint; from the start", err)
        self.assert_same("outputs/case", "first.h5")

    def test_killed_before_the_first(self):
        file = self.write("case.yaml", moving())
        log = self.directory / "outputs/case/case.log"
        process = self.start("run", file, "--quiet")
        self.addCleanup(process.kill)
        wait_for(lambda: log.exists() and "\nstep " in log.read_text(), "output")
        process.kill()
        process.communicate()
        _, err = self.call("run", file, "--restart")
        self.assertIn("--restart: the earlier run in outputs/case left no checkpoint; from the "
                      "start", err)
        self.call("run", file, "--quiet", "--output", "whole")
        self.assert_same("outputs/case", "whole")

    def test_a_verification_that_failed_is_made_again(self):
        verify = {"exact": {"u": "0"}, "tolerance": {"max": 1e-3}}
        file = self.write("case.yaml", heat(verify=verify))
        for options in ([], ["--restart"]):
            _, err = self.call("run", file, *options, code=DOES_NOT_HOLD)
            self.assertIn("u: max error", err)


if __name__ == "__main__":
    support.main()
