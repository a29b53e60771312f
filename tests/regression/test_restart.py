"""Stopping, restarting, and ending with the bits of a run that was never stopped."""

import os
import shutil
import signal

import support
from support import DOES_NOT_HOLD, FAILED, SIGINT_STOP, SIGTERM_STOP, heat, wait_for


def moving(scheme="rk4", precision="float64", **changes):
    """A run with all that changes in time, of 1000 steps or more. The outputs are at no multiple of
    the step, so that the last step before each is a short one."""
    config = heat(
        precision=precision, grid={"points": [33, 32]}, initial={"u": "cos(3*x)*(2 + sin(2*pi*y))"},
        boundary={"x": {"lower": {"dirichlet": "sin(40*t)"}, "upper": {"neumann": "cos(30*t)*y"}},
                  "y": "periodic"},
        parameters={"diffusivity": "1 + x", "source": "sin(50*t)*x"},
        time={"scheme": scheme, "end": 0.2 if scheme == "ftcs" else 0.25},
        output={"every": {"count": 15}})
    config.update(changes)
    return config


class Restart(support.Case):
    def checkpoints(self, folder="outputs/case"):
        return [name for name in self.files(folder) if name.endswith(".checkpoint")]

    def interrupt(self, file, number, code, *options, outputs=5):
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


class Checkpoints(support.Case):
    """Checkpoints of a run that came to its end."""

    def setUp(self):
        super().setUp()
        self.config = moving(output={"every": {"count": 6}},
                             checkpoint={"every": {"count": 5}, "keep": 3})
        self.file = self.write("case.yaml", self.config)
        self.call("run", self.file, "--quiet")
        shutil.copytree(self.directory / "outputs/case", self.directory / "first")

    def checkpoints(self):
        return sorted((self.directory / "outputs/case").glob("*.checkpoint"))

    def test_as_many_are_kept_as_asked(self):
        self.assertEqual(len(self.checkpoints()), 3)
        self.call("run", self.file, "--quiet", "--set", "checkpoint.keep=1")
        self.assertEqual(len(self.checkpoints()), 1)

    def test_the_newest_is_taken(self):
        _, err = self.call("run", self.file, "--restart")
        self.assertRegex(err, r"\n0 steps,")
        self.assert_same("outputs/case", "first")

    def test_an_older_one_by_name(self):
        oldest = self.checkpoints()[0]
        _, err = self.call("run", self.file, "--restart", oldest)
        self.assertRegex(err, r"\n[1-9]\d* steps,")
        self.assert_same("outputs/case", "first")

    def test_at_the_end_the_verification_is_made(self):
        verify = {"exact": {"u": "0"}, "tolerance": {"max": 1e-3}}
        self.write("case.yaml", {**self.config, "verify": verify})
        _, err = self.call("run", self.file, "--restart", code=DOES_NOT_HOLD)
        self.assertIn("u: max error", err)

    def test_fewer_outputs_leave_none_behind(self):
        middle = self.checkpoints()[0]
        self.call("run", self.file, "--quiet", "--restart", middle, "--set", "output.every.count=1")
        images = [path.name for path in sorted((self.directory / "outputs/case").glob("*.vti"))]
        series = (self.directory / "outputs/case/case.pvd").read_text()
        self.assertEqual(images, [f"case_{i:06}.vti" for i in range(series.count("<DataSet"))])
        self.assertLess(len(images), 7)

    def test_later_end(self):
        # To a multiple of both cadences, so that one run in one go takes the same steps.
        longer = ["--set", "time.end=0.5", "--set", "output.every.count=12",
                  "--set", "checkpoint.every.count=10"]
        self.call("run", self.file, "--quiet", "--restart", *longer)
        self.call("run", self.file, "--quiet", "--output", "whole", *longer)
        self.assert_same("outputs/case", "whole")

    def test_elsewhere(self):
        oldest = self.checkpoints()[0]
        self.call("run", self.file, "--quiet", "--output", "new", "--restart", oldest)
        out, _ = self.call("compare", "new", "first", code=DOES_NOT_HOLD)
        self.assertIn("steps in A, 7 in B", out)

    def refuse(self, message, *options):
        before = self.files()
        _, err = self.call("run", self.file, "--restart", *options, code=FAILED)
        self.assertRegex(err, message)
        self.assertEqual(self.files(), before)
        self.assert_same("outputs/case", "first")

    def test_of_another_problem(self):
        for setting in ("parameters.source=1", "grid.points=[33,33]", "time.scheme=ftcs",
                        "precision=float32", "boundary.y={neumann: 0}"):
            with self.subTest(setting=setting):
                self.refuse("the checkpoint belongs to another problem", "--set", setting)

    def test_damaged(self):
        newest = self.checkpoints()[-1]
        whole = newest.read_bytes()
        refused = 0
        times = newest.stat().st_atime_ns, newest.stat().st_mtime_ns
        for start in range(0, len(whole), len(whole) // 12):
            with self.subTest(start=start):
                damaged = bytearray(whole)
                damaged[start] ^= 0x10
                newest.write_bytes(damaged)
                os.utime(newest, ns=times)
                process = self.start("run", self.file, "--restart")
                _, err = process.communicate(timeout=60)
                if process.returncode == FAILED:
                    refused += 1
                    self.assertIn(newest.name, err)
                # Some bytes of the format mean nothing; no other may pass.
                self.assert_same("outputs/case", "first")
        self.assertGreater(refused, 8)

    def test_cut(self):
        newest = self.checkpoints()[-1]
        os.truncate(newest, newest.stat().st_size - 1000)
        self.refuse(newest.name, newest)

    def test_missing_or_foreign(self):
        self.refuse("nowhere: ", "nowhere")
        self.refuse("is no checkpoint of gridstride", "first/case.h5")


if __name__ == "__main__":
    support.main()
