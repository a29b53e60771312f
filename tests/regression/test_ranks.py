"""Several processes: `run --ranks`, `run --spread`, and the job scripts that `slurm` prints."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import support
from support import BAD_INPUT, DONE, FAILED, SIGINT_STOP, SIGTERM_STOP, heat, wait_for

IMPLICIT_LINE = heat(grid={"points": [17]}, boundary={"x": {"dirichlet": 0}},
                     initial={"u": "sin(pi*x)"},
                     time={"end": 0.01, "scheme": "tr_bdf2", "step": 0.01})


def several_are_possible():
    module = pathlib.Path(support.PROGRAM).parent / "gridstride_mpi.so"
    return shutil.which("mpirun") is not None and module.exists()


class Case(support.Case):
    def need_mpi(self):
        if not several_are_possible():
            self.skipTest("there is no mpirun, or the program was built without MPI")

    def write_three(self):
        """Two configs that run, and between them one that fails in its midst."""
        return [self.write("a.yaml", heat()),
                self.write("b.yaml", heat(parameters={"diffusivity": 1,
                                                      "source": "log(0.005 - t)"})),
                self.write("c.yaml", heat(initial={"u": "x*(1 - x)"}))]

    def stub(self, name, script):
        """A program of that name, alone in a folder that PATH can have."""
        program = self.directory / "stubs" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/bash\n" + script, encoding="utf-8")
        program.chmod(0o755)
        return str(program.parent)


class Links(Case):
    def test_between_processes_of_the_host(self):
        self.need_mpi()
        file = self.directory / "links.json"
        out, _ = self.call("bench", "links", "--ranks", 3, "--device", "cpu", "--json", file)
        self.assertIn("3 ranks in a ring", out)
        found = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(found["ranks"], 3)
        (link,) = found["links"]
        self.assertEqual(link["transport"], "mpi")
        self.assertGreater(link["rate"], 0)
        self.assertGreater(link["times"][-1]["bytes"], link["times"][0]["bytes"])

    def test_equations(self):
        """Ranks that have other bits than one process would fail."""
        file = self.directory / "poisson.json"
        out, _ = self.call("bench", "poisson", "--ranks", 2, "--device", "cpu", "--type", "float32",
                           "--size", "4e3", "--json", file)
        self.assertIn("exchanged by way of the host", out)
        found = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(found["ranks"], 2)
        self.assertEqual([solve["points"] for solve in found["solves"]],
                         [8**3, 9**3, 9**3, 56**2, 57**2])
        self.assertTrue(all(solve["shared"] > 0 for solve in found["solves"]))

    def test_what_they_are_not_for(self):
        _, err = self.call("bench", "links", code=BAD_INPUT)
        self.assertIn("links: are between processes", err)
        _, err = self.call("bench", "scan", "--ranks", 2, code=BAD_INPUT)
        self.assertIn("--ranks: is for 'bench links' and 'bench poisson'", err)
        for option in ("--size", "--type", "--variant", "--folder", "--timeline"):
            _, err = self.call("bench", "links", option, "8", code=BAD_INPUT)
            self.assertIn(f"{option}: is not for 'bench links'", err)
        _, err = self.call("bench", "poisson", "--ranks", 2, "--type", "int32", code=BAD_INPUT)
        self.assertIn("--type int32: is no type of 'poisson'", err)


class Doors(Case):
    def test_numbers_of_processes(self):
        file = self.write("case.yaml", heat())
        for count in (0, -3, 1000000):
            _, err = self.call("run", file, f"--ranks={count}", code=BAD_INPUT)
            self.assertIn(f"--ranks {count}: is no number of processes", err)
        self.call("run", file, "--ranks", "many", code=BAD_INPUT)
        self.assertFalse((self.directory / "outputs").exists())
        self.call("run", file, "--ranks", 1, "--quiet")

    def test_what_is_missing(self):
        self.need_mpi()
        file = self.write("case.yaml", heat())
        empty = self.directory / "empty"
        empty.mkdir()
        _, err = self.call("run", file, "--ranks", 2, environment={"PATH": str(empty)},
                           code=BAD_INPUT)
        self.assertIn("there is no mpirun on PATH", err)
        _, err = self.call("run", "-", "--ranks", 2, code=BAD_INPUT)
        self.assertIn("standard input comes to one of the 2 processes alone", err)
        _, err = self.call("run", self.write("bad.yaml", heat(grid={"points": []})), "--ranks", 2,
                           code=BAD_INPUT)
        self.assertIn("bad.yaml:", err)
        path = self.stub("mpirun", "exit 0\n")
        _, err = self.call("run", file, "--ranks", 2, environment={"PATH": path}, code=FAILED)
        self.assertIn("it belongs to another MPI", err)
        path = self.stub("mpirun", 'exec "${@:3}"\n')
        _, err = self.call("run", file, "--ranks", 2, environment={"PATH": path}, code=BAD_INPUT)
        self.assertIn("mpirun has not told this process of the others", err)

    def test_under_a_launcher(self):
        self.need_mpi()
        file = self.write("case.yaml", heat())
        done = subprocess.run(
            ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", support.PROGRAM, "run",
             file, "--ranks", "3"], cwd=self.directory, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
        self.assertEqual(done.stderr.count("a launcher has started 2 processes already"), 1)


class Check(Case):
    """`check --ranks` tells how a run would be shared, without MPI."""

    def refused(self, config, *options):
        return self.call("check", self.write("case.yaml", config), *options, code=BAD_INPUT)[1]

    def test_tells_the_parts(self):
        file = self.write("case.yaml", heat(grid={"points": [17, 23]},
                                            boundary={"x": "periodic", "y": "periodic"},
                                            limits={"trip_steps": 2}))
        out, _ = self.call("check", file, "--ranks", 3)
        self.assertRegex(out, r"(?m)^# 3 ranks share 23 planes, up to 8 each, with 2 more on each "
                              r"side for up to 2 steps, \d+ exchanges at least$")
        # Two arrays of eight lines and two halos of two, each of 17 values.
        self.assertIn("# memory: 3.2 KiB on the device for each rank; for the first ", out)
        told = json.loads(self.call("check", file, "--ranks", 3, "--json")[0])
        self.assertEqual((told["ranks"], told["rank_bytes"]), (3, 2 * (8 + 2 * 2) * 17 * 8))
        alone = json.loads(self.call("check", file, "--ranks", 1, "--json")[0])
        self.assertNotIn("ranks", alone)

    def test_parts_that_the_file_asks_for(self):
        file = self.write("case.yaml", heat(ranks=[1, 3]))
        self.assertRegex(self.call("check", file)[0], r"(?m)^# 3 ranks share 16 planes")
        self.assertRegex(self.call("check", file, "--set", "ranks=2")[0], r"# 2 ranks share")
        for spread in ([], ["--spread"]):
            _, err = self.call("run", file, *spread, code=BAD_INPUT)
            self.assertRegex(err, r"case\.yaml:\d+:\d+: ranks: the run is for 3 processes, and there "
                                  r"is 1 \(`run --ranks` starts them\)")
        self.assertIn("for 3 processes, and there are 2",
                      self.call("check", file, "--ranks", 2, code=BAD_INPUT)[1])
        self.assertIn("for 3 processes, the job has 2", self.call("slurm", file, "--nodes", 2,
                                                                 code=BAD_INPUT)[1])
        cube = {"simulation": "poisson", "device": "cpu", "grid": {"points": [9, 9, 9]},
                "boundary": {axis: {"dirichlet": 0} for axis in "xyz"}, "parameters": {"source": 1}}
        self.assertIn("parts along x are not possible, only along z (as 4 instead)",
                      self.refused({**cube, "ranks": [2, 1, 2]}))
        for parts, message in (([1, 1, 2], "has parts along 3 axes, the grid has 2"),
                               (0, "ranks"), ([], "ranks"), ("many", "ranks")):
            self.assertIn(message, self.refused(heat(ranks=parts)))
        self.assertIn("eigenvalues is computed by one process", self.refused(
            {"simulation": "eigenvalues", "device": "cpu", "ranks": 2, "grid": {"points": [9, 9]},
             "boundary": {"x": {"dirichlet": 0}, "y": {"dirichlet": 0}},
             "parameters": {"modes": 2}}))

    def test_refuses_what_a_run_would(self):
        self.assertIn("--ranks 0: is no number of processes", self.refused(heat(), "--ranks", 0))
        self.assertIn("7 ranks are too many for 9 x 9 points: up to 4 parts along x and 4 along y can share them",
                      self.refused(heat(grid={"points": [9, 9]}), "--ranks", 7))
        self.assertRegex(self.refused(IMPLICIT_LINE, "--ranks", 2),
                         r"case\.yaml:\d+:\d+: simulation: several ranks take steps in two or three "
                         "dimensions")
        self.assertIn("eigenvalues is not computed by several ranks (there are 2",
                      self.refused({"simulation": "eigenvalues", "device": "cpu",
                                    "grid": {"points": [9, 9]},
                                    "boundary": {"x": {"dirichlet": 0}, "y": {"dirichlet": 0}},
                                    "parameters": {"modes": 2}}, "--ranks", 2))
        self.assertIn("the runs of a sweep go in one process (there are 2)",
                      self.refused(heat(constants={"D": 1}, parameters={"diffusivity": "D"},
                                        sweep={"D": [1, 2]}), "--ranks", 2))

    def test_counts_what_all_ranks_take(self):
        self.assertRegex(self.refused(heat(limits={"device_memory": "1 KiB"}), "--ranks", 2),
                         r"limits\.device_memory: the part of each of 2 ranks takes .* KiB, of "
                         r"1\.0 KiB that it may take$")
        # What both ranks have fits the host, but not with the whole grid, which is compared with an exact solution that
        # is too long to be evaluated at some points alone.
        limit = 3 << 29  # a part of a third and more: 260 MiB beside two are enough for files and the program
        large = heat(grid={"points": [1024, int(0.34 * limit / 8 / 1024)]},
                     boundary={"x": "periodic", "y": "periodic"})
        options = {**support.limited_to(limit), "environment": {"OMP_NUM_THREADS": "1"}}
        for verify in ({}, {"verify": {"exact": {"u": "x"}}}):
            self.call("check", self.write("large.yaml", {**large, **verify}), "--ranks", 2, **options)
        too_long = "1+(" * 63 + "x" + ")" * 63
        file = self.write("large.yaml", {**large, "verify": {"exact": {"u": too_long}}})
        _, err = self.call("check", file, "--ranks", 2, code=BAD_INPUT, **options)
        self.assertRegex(err, r"heat: a rank's part needs 52\d\.\d MiB, the other ranks beside it 52\d\.\d MiB, "
                              r"what goes to and from files and comparisons 5\d\d\.\d MiB, the host has .* free")


class Spread(Case):
    def check_three(self, *options):
        files = self.write_three()
        out, err = self.call("run", *files, "--spread", "--summary", "-", *options, code=FAILED)
        self.assertRegex(err, r"(?m)^b\.yaml: NaN in field 'u'")
        self.assertRegex(err, r"(?m)^a\.yaml +\d +\d+\.\d\d  done$")
        self.assertRegex(err, r"(?m)^b\.yaml +\d +\d+\.\d\d  NaN in field 'u'")
        self.assertRegex(err, r"(?m)^c\.yaml +\d +\d+\.\d\d  done\n2 of 3 files came to their end$")
        found = json.loads(out)
        self.assertEqual([run["config"] for run in found], files)
        self.assertEqual([run.get("time") for run in found], [0.01, None, 0.01])
        self.assertIn("NaN in field", found[1]["failure"])
        return err

    def test_one_process(self):
        self.check_three()
        for name in ("a", "c"):
            self.call("run", f"{name}.yaml", "--quiet", "--output", f"alone_{name}")
            self.assert_same(f"outputs/{name}", f"alone_{name}")

    def test_three_processes(self):
        self.need_mpi()
        err = self.check_three("--ranks", 3)
        ranks = re.findall(r"(?m)^[abc]\.yaml +(\d) ", err)
        self.assertEqual((len(ranks), set(ranks) - {"0", "1", "2"}), (3, set()))  # one may do two
        for name in ("a", "c"):
            self.call("run", f"{name}.yaml", "--quiet", "--output", f"alone_{name}")
            self.assert_same(f"outputs/{name}", f"alone_{name}")

    def test_all_are_checked_before_the_first_runs(self):
        bad = self.write("bad.yaml", heat(verify={"reference": "nowhere.h5"}))
        files = [self.write("a.yaml", heat()), bad]
        ways = [[], ["--ranks", 2]] if several_are_possible() else [[]]
        for options in ways:
            out, err = self.call("run", *files, "--spread", *options, code=BAD_INPUT)
            self.assertEqual((out, err.count("there is no file nowhere.h5")), ("", 1), err)
            self.assertFalse((self.directory / "outputs").exists())

    def test_sweeps_and_quiet(self):
        sweep = self.write("sweep.yaml", heat(constants={"D": 1}, parameters={"diffusivity": "D"},
                                              sweep={"D": [1, 2]}))
        self.assertEqual(self.call("run", sweep, "--spread", "--quiet", "--summary", "s.json"),
                         ("", ""))
        found = json.loads((self.directory / "s.json").read_text())
        self.assertEqual([run["sweep"]["D"] for run in found], [1, 2])
        _, err = self.call("run", sweep, "--spread", "--restart")
        self.assertRegex(err, r"(?m)^sweep\.yaml +0 .*  done, 2 runs$")

    def test_a_signal_stops_all_and_a_restart_goes_on(self):
        self.need_mpi()
        long = heat(time={"end": 1e9}, output={"formats": ["hdf5"], "every": {"count": 1}})
        files = [self.write(f"{name}.yaml", long) for name in "abc"]
        process = self.start("run", *files, "--spread", "--ranks", 2, "--quiet")
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)

        def under_way():
            logs = [self.directory / f"outputs/{name}/{name}.log" for name in "ab"]
            return all(log.exists() and "\nstep " in log.read_text() for log in logs)
        wait_for(under_way, "two runs")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGINT_STOP, err)
        self.assertIn("stopped by SIGUSR1: of 3 files 0 came to their end, 1 did not begin", err)
        checkpoints = sorted((self.directory / "outputs").glob("*/*.checkpoint"))
        self.assertEqual([path.parent.name for path in checkpoints], ["a", "b"])
        ends = [json.loads(self.call("info", path, "--json")[0])["time"] for path in checkpoints]
        self.call("run", *files, "--spread", "--ranks", 2, "--restart", "--quiet", "--set",
                  f"time.end={max(ends) * 1.01}")


class SharedRun(Case):
    def test_has_the_bits_of_one_process(self):
        self.need_mpi()
        file = self.write("case.yaml", heat(checkpoint={"every": {"count": 2}}))
        self.call("run", file, "--quiet", "--output", "alone")
        out, err = self.call("run", file, "--quiet", "--ranks", 2, "--summary", "-")
        self.assertEqual((json.loads(out)["time"], err), (0.01, ""))
        self.assertEqual(self.files("outputs/case"), self.files("alone"))
        self.assert_same("outputs/case", "alone")

    def test_of_a_file_that_asks_for_them(self):
        self.need_mpi()
        file = self.write("case.yaml", heat(ranks=[1, 2]))
        self.call("run", file, "--quiet", "--output", "alone", "--set", "ranks=1")
        self.call("run", file, "--quiet", "--ranks", 2)
        self.assert_same("outputs/case", "alone")
        _, err = self.call("run", file, "--quiet", "--ranks", 3, code=BAD_INPUT)
        self.assertIn("the run is for 2 processes, and there are 3", err)

    def test_what_several_do_not_run_is_refused(self):
        self.need_mpi()
        file = self.write("case.yaml", IMPLICIT_LINE)
        _, err = self.call("run", file, "--ranks", 2, code=BAD_INPUT)
        self.assertIn("case.yaml:", err)
        self.assertNotIn("mpirun", err)  # which would explain the exit code

    def test_a_signal_is_that_of_the_process_in_front(self):
        self.need_mpi()
        file = self.write("case.yaml", heat(time={"end": 1e9}, output={"formats": ["hdf5"],
                                                                       "every": {"count": 1}}))
        process = self.start("run", file, "--quiet", "--ranks", 2)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        log = self.directory / "outputs/case/case.log"
        wait_for(lambda: log.exists() and "\nstep " in log.read_text(), "the run")
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGTERM_STOP, err)
        self.assertEqual(len(list((self.directory / "outputs/case").glob("*.checkpoint"))), 1)


class Slurm(Case):
    def script(self, *arguments):
        file = self.write("my case.yaml", heat(time={"end": 1e9},
                                               output={"formats": ["hdf5"], "every": {"count": 1}}))
        out, err = self.call("slurm", file, *arguments)
        self.assertEqual(err, "")
        self.write("job.sh", out)
        for tool in (["bash", "-n"], ["shellcheck"]):
            if shutil.which(tool[0]):
                subprocess.run([*tool, "job.sh"], cwd=self.directory, check=True)
        return out

    def test_asks_for_what_was_given(self):
        out = self.script("--nodes", 2, "--tasks", 4, "--cpus", 6, "--time", "1-12:00:00",
                          "--partition", "short,long")
        self.assertIn("--nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --cpus-per-task=6\n"
                      "#SBATCH --time=1-12:00:00\n#SBATCH --partition=short,long\n", out)
        self.assertIn("srun --mpi=pmix --kill-on-bad-exit=1 ", out)
        self.assertNotIn("gpus", out)

    def test_a_job_that_is_stopped_is_queued_again_and_goes_on(self):
        self.script()
        self.stub("scontrol", 'echo "$@" >> requeued\n')
        folder = self.stub("srun", 'while [[ $1 == --* ]]; do shift; done; exec "$@"\n')
        environment = {**os.environ, "SLURM_JOB_ID": "17", "SLURM_CPUS_PER_TASK": "1",
                       "PATH": f"{folder}:{os.environ['PATH']}"}
        job = subprocess.Popen(["bash", "job.sh"], cwd=self.directory, env=environment,
                               start_new_session=True)
        log = self.directory / "outputs/my case/my case.log"
        wait_for(lambda: log.exists() and "\nstep " in log.read_text(), "the run")
        # As Slurm does: to the steps, not to the script.
        os.system(f"pkill -USR1 -P {job.pid}")
        self.assertEqual(job.wait(timeout=60), DONE)
        self.assertEqual((self.directory / "requeued").read_text(), "requeue 17\n")
        checkpoint, = (self.directory / "outputs/my case").glob("*.checkpoint")
        end = json.loads(self.call("info", checkpoint, "--json")[0])["time"] * 1.01
        config = json.loads((self.directory / "my case.yaml").read_text())
        self.write("my case.yaml", {**config, "time": {"end": end}})
        subprocess.run(["bash", "job.sh"], cwd=self.directory, env=environment, check=True)
        self.assertEqual((self.directory / "requeued").read_text(), "requeue 17\n")

    def test_nonsense_is_refused(self):
        host = self.write("host.yaml", heat())
        gpu = self.write("gpu.yaml", heat(device="cuda"))
        one = self.write("one.yaml", heat(device="cuda:1"))
        sweep = self.write("sweep.yaml", heat(constants={"D": 1}, sweep={"D": [1, 2]},
                                              parameters={"diffusivity": "D"}))
        integral = self.write("integral.yaml", {"simulation": "integration", "parameters": {
            "integrand": "x", "variables": {"x": [0, 1]}}})
        for arguments, message in (
                ([host, "--nodes", 0], "--nodes 0: 1 to 100000 are possible"),
                ([host, "--cpus", 0], "--cpus 0: 1 to 4096"),
                ([host, "--tasks", -1], "--tasks -1: 1 to 4096"),
                ([host, "--time", "2h"], "--time 2h: is no limit as Slurm has it"),
                ([host, "--time", "4"], r"--time 4: is 240 s, of which the last 120 are"),
                ([host, "--partition", "a b"], "--partition a b: is no name of a partition"),
                ([host, "--gpus", 1], r"host\.yaml:\d+:\d+: device: 'cpu' takes no GPU"),
                ([gpu], r"gpu\.yaml:\d+:\d+: device: 'cuda' needs GPUs"),
                ([one, "--gpus", 2], r"one\.yaml:.*: all 2 processes of a node would have this GPU"),
                ([sweep, "--nodes", 2], r"sweep\.yaml:.*: the runs of a sweep go in one process"),
                ([host, "--tasks", 4000], r"host\.yaml:\d+:\d+: grid\.points: 4000 ranks are too many for "),
                ([integral, "--gpus", 2], r"integral\.yaml:\d+:\d+: simulation: integration is not computed by several"),
                (["-"], "a job has no standard input"),
                (["nowhere.yaml"], "nowhere.yaml")):
            out, err = self.call("slurm", *arguments, code=BAD_INPUT)
            self.assertEqual(out, "", arguments)
            self.assertRegex(err, message)


if __name__ == "__main__":
    support.main()
