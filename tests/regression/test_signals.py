"""What batch systems and terminals send: signals, broken pipes, streams that are closed or full."""

import json
import os
import signal

import support
from support import BAD_INPUT, FAILED, SIGTERM_STOP, heat, wait_for

ENDLESS = heat(time={"end": 1e9}, output={"formats": [], "every": {"count": 1}})


class Signals(support.Case):
    def begin(self, config, *options, **how):
        self.write("case.yaml", config)
        log = self.directory / "outputs/case/case.log"
        log.unlink(missing_ok=True)
        process = self.start("run", "case.yaml", "--quiet", *options, **how)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        wait_for(lambda: process.poll() is not None or
                 log.exists() and "\nstep " in log.read_text(), "output")
        return process

    def checkpoints(self):
        return sorted((self.directory / "outputs/case").glob("*.checkpoint"))

    def test_each_that_asks_to_end(self):
        for number in (signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR1, signal.SIGTERM):
            with self.subTest(signal=number.name):
                process = self.begin(ENDLESS, "--overwrite")
                process.send_signal(number)
                _, err = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 128 + number)
                self.assertRegex(err, rf"^stopped by {number.name} at step \d+, time \S+; `--restart`")
                self.assertEqual(len(self.checkpoints()), 1)

    def test_hang_up_is_ignored_under_nohup(self):
        process = self.begin(
            ENDLESS, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGUSR2)  # answered later than the first would be
        wait_for(self.checkpoints, "a checkpoint")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGTERM_STOP)

    def test_a_checkpoint_on_demand(self):
        moving = heat(parameters={"diffusivity": "1 + x", "source": "sin(50*t)*x"},
                      time={"end": 2, "scheme": "rk4"}, output={"every": {"count": 15}})
        process = self.begin(moving)
        for count in (1, 2):
            process.send_signal(signal.SIGUSR2)
            wait_for(lambda count=count: len(self.checkpoints()) >= count or
                     process.poll() is not None, "a checkpoint")
            self.assertIsNone(process.poll())
        process.kill()
        process.communicate()
        self.call("run", "case.yaml", "--quiet", "--restart")
        self.call("run", "case.yaml", "--quiet", "--output", "whole")
        self.assert_same("outputs/case", "whole")

    def test_several_at_once_do_not_skip_the_checkpoint(self):
        process = self.begin({**ENDLESS, "grid": {"points": [1025, 1024]}, "time": {"end": 1e3}})
        numbers = (signal.SIGINT, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in numbers:
            process.send_signal(number)
        _, err = process.communicate(timeout=60)
        self.assertIn(process.returncode, [128 + number for number in numbers], err)
        self.assertEqual(len(self.checkpoints()), 1)


class Streams(support.Case):
    def setUp(self):
        super().setUp()
        self.file = self.write("case.yaml", heat())
        self.call("run", self.file, "--quiet", "--output", "expected")

    def call_with(self, *arguments, code=0, **how):
        process = self.start(*arguments, **how)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, code)

    def test_standard_error_that_takes_nothing(self):
        full = os.open("/dev/full", os.O_WRONLY)
        self.addCleanup(os.close, full)
        for how in ({"stderr": full}, {"preexec_fn": lambda: os.close(2)},
                    {"preexec_fn": lambda: os.closerange(0, 3)}):
            self.call_with("run", self.file, **how)
            self.assert_same("outputs/case", "expected")
            self.call_with("run", "nowhere.yaml", code=BAD_INPUT, **how)
            self.call_with("rum", code=BAD_INPUT, **how)
            self.call_with("info", "nowhere.h5", code=FAILED, **how)

    def test_reader_that_has_gone(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.call_with("run", self.file, stderr=writer)
        self.assert_same("outputs/case", "expected")
        process = self.start("run", self.file, "--quiet", "--output", "other", "--summary", "-")
        process.stdout.close()
        _, err = process.stderr.read(), process.wait(timeout=60)
        self.assertEqual(process.returncode, FAILED)
        self.assert_same("other", "expected")
        os.close(writer)

    def test_summary_on_standard_output(self):
        for path in ("-", "/dev/stdout"):
            out, _ = self.call("run", self.file, "--summary", path)
            self.assertEqual(json.loads(out)["config"], "case.yaml")

    def test_summary_replaces_files_alone(self):
        os.mkfifo(self.directory / "pipe")
        reader = os.open(self.directory / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        self.call("run", self.file, "--quiet", "--summary", "pipe")
        self.assertEqual(json.loads(os.read(reader, 1 << 16))["time"], 0.01)
        os.close(reader)
        self.assertTrue((self.directory / "pipe").is_fifo())
        self.write("target.json", "old")
        (self.directory / "link.json").symlink_to("target.json")
        self.call("run", self.file, "--quiet", "--summary", "link.json")
        self.assertTrue((self.directory / "link.json").is_symlink())
        self.assertEqual(json.loads((self.directory / "target.json").read_text())["time"], 0.01)

    def test_summary_of_several(self):
        other = self.write("other.yaml", heat(time={"end": 0.02}))
        out, _ = self.call("run", self.file, other, "--quiet", "--summary", "-")
        self.assertEqual([(one["config"], one["time"]) for one in json.loads(out)],
                         [("case.yaml", 0.01), ("other.yaml", 0.02)])
        faulty = self.write("faulty.yaml", heat(parameters={"diffusivity": 1,
                                                            "source": "log(0.005 - t)"}))
        self.call("run", self.file, faulty, "--quiet", "--summary", "s.json", code=FAILED)
        summaries = json.loads((self.directory / "s.json").read_text())
        self.assertEqual([one["config"] for one in summaries], ["case.yaml"])


class OwnFiles(support.Case):
    """A run does not destroy what it begins with, nor believe what it wrote itself."""

    def setUp(self):
        super().setUp()
        self.call("run", self.write("case.yaml", heat()), "--quiet")
        self.result = self.directory / "outputs/case/case.h5"

    def refuse(self, message, config, *options, name="case.yaml"):
        before = self.result.read_bytes()
        _, err = self.call("run", self.write(name, config), *options, code=BAD_INPUT)
        self.assertIn(message, err)
        self.assertEqual(self.result.read_bytes(), before)

    def test_initial_values(self):
        (self.directory / "link.h5").symlink_to("outputs/case/case.h5")
        (self.directory / "hard.h5").hardlink_to(self.result)
        for path in ("outputs/case/case.h5", "link.h5", "hard.h5", "outputs/../outputs/case/case.h5"):
            self.refuse("is written by this very run, which would destroy",
                        heat(initial={"u": {"file": path, "dataset": "/VTKHDF/PointData/u"}}))

    def test_reference(self):
        verify = {"reference": "outputs/case/case.h5"}
        self.refuse("verify.reference: outputs/case/case.h5 is what this very run writes",
                    heat(verify=verify))
        for options in ([], ["--update"]):
            self.call("verify", "case.yaml", *options, code=BAD_INPUT)

    def test_config(self):
        file = self.write("mine.log", heat())
        _, err = self.call("run", file, "--output", ".", code=BAD_INPUT)
        self.assertIn("the run would write over its own config", err)
        self.assertEqual(json.loads((self.directory / file).read_text()), heat())

    def test_summary(self):
        for path in ("case.yaml", "outputs/case/case.h5", "outputs/case/case_000000.vti"):
            self.refuse(f"--summary {path}: is a file of case.yaml itself", heat(), "--summary", path)

    def test_unfinished_files_of_killed_runs(self):
        kept = ["case.part", "other.h5.1.part", "case.txt.1.part", "case_a.vti.1.part",
                "case.h5.x.part"]
        gone = ["case.h5.1.part", "case.pvd.4242.part", "case_000001.vti.99.part",
                "case_000000000003.checkpoint.7.part"]
        before = self.files("outputs/case")
        for name in kept + gone:
            self.write(f"outputs/case/{name}", "half")
        self.call("run", "case.yaml", "--quiet")
        self.assertEqual(self.files("outputs/case"), sorted(before + kept))

    def harm(self, how):
        self.write("long.yaml", heat(time={"end": 1e4}, output={"formats": ["hdf5"],
                                                                 "every": {"steps": 20}}))
        result = self.directory / "outputs/long/long.h5"
        process = self.start("run", "long.yaml", "--quiet")
        self.addCleanup(process.kill)
        log = result.with_suffix(".log")
        wait_for(lambda: log.exists() and log.read_text().count("\nstep ") > 3, "output")
        how(result)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, FAILED)
        return err

    def test_result_that_is_removed_meanwhile(self):
        self.assertEqual(self.harm(lambda result: result.unlink()),
                         "outputs/long/long.h5: was removed or replaced while the run wrote it\n")

    def test_result_that_is_cut_meanwhile(self):
        self.assertRegex(self.harm(lambda result: os.truncate(result, 100)),
                         r"^outputs/long/long.h5: .*was cut while the run wrote it\)?\n$")


if __name__ == "__main__":
    support.main()
