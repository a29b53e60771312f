"""How runs that several processes share are refused, stopped and go on."""

import os
import random
import re
import shutil
import signal
import time

import support
from support import BAD_INPUT, DONE, FAILED, SIGTERM_STOP
from shared import CHANGES, MPIRUN, NeedsGpu, REACTION, SIDES_IN_TIME, Shared, TURNING, advection, heat, pde, wave


class Endings(Shared):
    """What ends on hosts and on GPUs."""

    def fill_the_disk(self, config):
        file = self.write("case.yaml", config)
        limited = [MPIRUN, "-n", "1", "bash", "-c", 'ulimit -f 8192; exec "$0" "$@"',
                   support.PROGRAM, "run", file, "--output", "one", "--quiet"]
        others = [":", "-n", "2", support.PROGRAM, "run", file, "--output", "one", "--quiet"]
        process = self.start_words(*limited, *others)
        _, err = self.end_of(process, FAILED, "a full disk")
        self.assertEqual(len(re.findall(r"(?m)^one/case\.h5: ", err)), 1, err)
        out, _ = self.call("info", "one")
        self.assertIn("did not come to its end", out)

    def kill_and_go_on(self, config, counts=(4,)):
        """`counts`: of ranks that go on."""
        config = {**config, "checkpoint": {"every": {"steps": 50}, "keep": 2}}
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "whole", "--quiet")
        rng = random.Random(1)
        for count in counts:
            shutil.rmtree(self.directory / "parts", ignore_errors=True)
            process = self.start_ranks(3, "run", file, "--output", "parts", "--quiet")
            support.wait_for(lambda: list((self.directory / "parts").glob("*.checkpoint"))
                             or process.poll() is not None, "the first checkpoint")
            time.sleep(0.02 * rng.random())
            if process.poll() is None:
                os.kill(rng.choice(self.ranks_of(process)), signal.SIGKILL)
            process.communicate(timeout=30)
            self.on_ranks(count, "run", file, "--output", "parts", "--restart", "--quiet")
            with self.subTest(ranks=count):
                self.assert_same("whole/case.h5", "parts/case.h5")


class Ends(Endings):
    def test_other_commands(self):
        _, err = self.on_ranks(2, "list", code=FAILED)
        self.assertEqual(err.count("`run`, `bench links` and `bench poisson` alone go over"), 1, err)

    def test_faults_are_told_once(self):
        file = self.write("case.yaml", heat(parameters={"diffusivity": -1}))
        _, err = self.on_ranks(3, "run", file, code=BAD_INPUT)
        self.assertEqual(err.count("diffusivity"), 1, err)
        _, err = self.on_ranks(2, "run", "missing.yaml", code=BAD_INPUT)
        self.assertEqual(err.count("missing.yaml"), 1, err)
        _, err = self.on_ranks(2, "run", file, "--nonsense", code=BAD_INPUT)
        self.assertEqual(err.count("nonsense"), 1, err)

    def test_ranks_that_are_to_run_something_else(self):
        file = self.write("case.yaml", heat())
        for key, value in (("time.end", 0.02), ("parameters.diffusivity", 2),
                           ("output.every", "{count: 5}")):
            with self.subTest(key=key):
                other = [":", "-n", "1", support.PROGRAM, "run", file, "--set", f"{key}={value}"]
                process = self.start_ranks(1, "run", file, "--output", "one", *other,
                                           "--output", "one")
                _, err = self.end_of(process, FAILED, key)
                self.assertIn("rank 1: has another version of gridstride, another config", err)

    def test_the_first_ranks_disk_is_full(self):
        """All end, with what a run of one process says; the outputs before can be read."""
        self.fill_the_disk(heat(grid={"points": [301, 301]}, time={"end": 1e-4},
                                output={"formats": ["hdf5"], "every": {"count": 20}}))

    def test_what_is_not_shared_is_refused(self):
        for config, message in (
                (heat(time={"end": 0.01, "scheme": "tr_bdf2", "step": 0.01}, grid={"points": 17},
                      boundary={"x": "periodic"}, initial={"u": "sin(2*pi*x)"}),
                 "in two or three dimensions (there are 2)"),
                (wave(parameters={"speed": "1+(" * 63 + "y" + ")" * 63}), "with simpler formulas"),
                (pde(REACTION, space={"derivatives": "spectral"}), "implicit ones with 'implicit: {solver: multigrid}'"),
                (pde(REACTION, time={"end": 0.1, "scheme": "etdrk4"}), "implicit ones with 'implicit: {solver: multigrid}'"),
                (pde({"u": "0.1*laplace(u)"}, boundary={"x": {"neumann": "-u"}, "y": "periodic"}),
                 "with sides that do not follow from fields"),
                (pde({"u": "0.1*laplace(u) + u^2"}, boundary={"x": "periodic", "y": "antiperiodic"}),
                 "antiperiodic with equations that change their sign with those fields"),
                (pde({"u": "0.1*laplace(u)"}, boundary={"x": {"dirichlet": "y"}, "y": "antiperiodic"}),
                 "antiperiodic with sides along the others that give such fields 0"),
                ({"simulation": "eigenvalues", "device": "cpu", "grid": {"points": [9, 9]},
                  "boundary": {"x": {"dirichlet": 0}, "y": {"dirichlet": 0}},
                  "parameters": {"modes": 2}}, "eigenvalues is not computed by several ranks")):
            with self.subTest(message=message):
                file = self.write("case.yaml", config)
                _, err = self.call("check", file, "--ranks", "2", code=BAD_INPUT)
                self.assertIn(message, err)
        _, err = self.on_ranks(2, "run", file, code=BAD_INPUT)
        self.assertIn(message, err)
        self.assertEqual(self.files(), ["case.yaml"])

    def test_too_many(self):
        file = self.write("case.yaml", heat(grid={"points": [9, 9]}))
        _, err = self.on_ranks(7, "run", file, code=BAD_INPUT)
        self.assertIn("7 ranks are too many for 9 x 9 points: up to 4 parts along x and 4 along y can share them", err)

    def test_a_signal_to_any_rank_stops_all_with_a_checkpoint(self):
        file = self.write("case.yaml", heat(time={"end": 1e3},
                                            checkpoint={"every": {"steps": 10**9}}))
        process = self.start_ranks(3, "run", file, "--output", "parts", "--quiet")
        support.wait_for(lambda: (self.directory / "parts/case.h5").exists(), "the first output")
        os.kill(self.ranks_of(process)[-1], signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGTERM_STOP, err)
        self.assertTrue(list((self.directory / "parts").glob("*.checkpoint")), self.files())


class Killed(Endings):
    def test_any_rank_is_killed(self):
        self.kill_and_go_on(heat(time={"end": 0.5}, grid={"points": [31, 33]}), counts=(2, 4, 1))

    def test_with_fields_that_change(self):
        self.kill_and_go_on(heat(time={"end": 0.1}, grid={"points": [31, 33]},
                                 boundary=SIDES_IN_TIME, parameters=CHANGES))

    def test_of_waves_with_sources(self):
        self.kill_and_go_on(wave(time={"end": 20}, parameters={
            "speed": "1 + x*y", "source": "x*sin(5*t)",
            "ricker": [{"at": [0.4, 0.6], "frequency": 2}]}))

    def test_of_flows_whose_axes_take_turns(self):
        self.kill_and_go_on(advection("lax_wendroff", parameters={"velocity": TURNING},
                                      time={"end": 4, "scheme": "lax_wendroff"}))

    def test_of_flows_in_stages(self):
        self.kill_and_go_on(advection("weno5", parameters={"velocity": TURNING},
                                      time={"end": 4, "scheme": "weno5"}))

    def test_of_a_system(self):
        self.kill_and_go_on(pde(
            REACTION, time={"end": 40}, events={"at": [3.3, 7.1], "set": {"u": "u + 0.01*x"}},
            stop={"steady": 1e-9}, boundary={"x": {"dirichlet": "0.5 + 0.1*sin(t)*y"}, "y": "periodic"}))

    def test_of_steps_that_follow_their_error(self):
        self.kill_and_go_on(pde(
            REACTION, time={"end": 90, "scheme": "rk45", "step": "adaptive", "tolerance": 1e-7},
            grid={"points": [11, 66]}, boundary={"x": {"dirichlet": "0.5 + 0.1*sin(t)*y"}, "y": "periodic"}))


class OnGpu(NeedsGpu, Endings):
    def test_a_rank_that_is_killed_ends_the_others(self):
        file = self.write("case.yaml", heat(grid={"points": [400, 400]}, time={"end": 1e6},
                                            device="cuda"))
        process = self.start_ranks(2, "run", file, "--output", "parts", "--quiet")
        log = self.directory / "parts/case.log"
        support.wait_for(lambda: log.exists() and "\nstep " in log.read_text(), "the run")
        os.kill(self.ranks_of(process)[-1], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, DONE)

    def test_the_first_ranks_disk_is_full(self):
        """While steps go on."""
        self.fill_the_disk(heat(grid={"points": [301, 301]}, device="cuda", time={"end": 1e3},
                                output={"formats": ["hdf5"], "every": {"steps": 1000}}))

    def test_any_rank_is_killed(self):
        self.kill_and_go_on(heat(time={"end": 2e-4}, grid={"points": [501, 503]}, device="cuda",
                                 output={"every": {"steps": 20}, "compression": 6}), counts=(2, 1))

    def test_a_signal_while_files_are_written(self):
        config = heat(grid={"points": [501, 503]}, device="cuda", time={"end": 4e-4},
                      output={"every": {"steps": 20}, "compression": 6})
        self.assert_a_signal_stops_and_others_go_on("case", config, counts=(2, 2))

    def test_transports_that_there_are_not(self):
        file = self.write("case.yaml", heat(device="cuda"))
        _, err = self.on_ranks(2, "run", file, code=FAILED,
                               environment={"GRIDSTRIDE_TRANSPORT": "pigeons"})
        self.assertIn("GRIDSTRIDE_TRANSPORT is 'pigeons'", err)


if __name__ == "__main__":
    support.main()
