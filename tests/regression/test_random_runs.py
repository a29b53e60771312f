"""Random configs whose runs agree in every way that they have to, and that a program which errs is told of.

More of them by hand: `random_runs.py PROGRAM --seeds 1000`.
"""

import os
import stat

import random_configs
import random_runs
import support
from shared import MPIRUN, has_module

# Runs what it is asked to, but for one thing that it does not do as it should.
ERRING = """#!/bin/sh
case "$OMP_NUM_THREADS $*" in {when}) set -- "$@" {what};; esac
exec {program} "$@"
"""


class Agree(support.Case):
    def test_random_configs(self):
        faults, counts = random_runs.examine_all(support.PROGRAM, "cpu", [
            (simulation, seed) for simulation in random_configs.SIMULATIONS for seed in (1, 2)], jobs=2)
        self.assertEqual(faults, [])
        self.assertGreater(counts["agree"], 80)
        self.assertLess(counts["refused"], counts["agree"] / 10)


class Told(support.Case):
    def erring(self, when, what):
        path = self.directory / "erring"
        path.write_text(ERRING.format(when=when, what=what, program=support.PROGRAM))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def assert_told(self, when, what, simulation, seed, way, name):
        found = random_runs.wrong(self.erring(when, what), "cpu", random_configs.case(simulation, seed), [way])
        self.assertTrue(any(told.startswith(name) for told in found), found)

    def test_other_bits(self):
        self.assert_told("3' '*again*", "--set precision=float32", "poisson", 8, random_runs.again, "again")
        self.assert_told("*run*saved*restart*", "--set precision=float32", "heat", 3, random_runs.restarted,
                         "from a checkpoint")
        self.assert_told("*run*killed*", "--set initial.u=x", "heat", 3, random_runs.killed, "killed")
        self.assert_told("*run*swept*", "--set initial.u=x*s", "wave", 1, random_runs.swept, "in a sweep, s=0.5")
        self.assert_told("*run*changed*", "--set initial.u=x", "advection", 1, random_runs.otherwise, "with")
        if MPIRUN and has_module():
            self.assert_told("*run*ranks*", "--set initial.u=x", "heat", 1, random_runs.by_ranks, "ranks")

    def test_another_end(self):
        self.assert_told("3' '*again*", "--set precision=float99", "integration", 1, random_runs.again, "again")

    def test_what_is_too_far_away(self):
        self.assert_told("*run*other*", "--set parameters.source=1", "poisson", 8, random_runs.by_others, "by")
        self.assert_told("*run*other*", "--set parameters.rhs=1+i/1e3", "linear_system", 3, random_runs.by_others, "by")

    def test_what_numpy_finds_otherwise(self):
        for simulation, seed, what, name in (
                ("poisson", 8, "parameters.source=1", "u"), ("linear_system", 5, "parameters.rhs=1+i/1e3", "x"),
                ("eigenvalues", 2, "parameters.reaction=7", "first"), ("integration", 2, "parameters.integrand=s", "value"),
                ("convolution", 4, "parameters.signal=1", "u"), ("transform", 5, "input.b=1", "c")):
            self.assert_told("*run*first*", f"--set {what}", simulation, seed, random_runs.by_numpy, f"{name} by numpy")

    def test_the_smallest_config(self):
        """Whatever makes no difference to the fault is gone."""
        case = random_configs.case("poisson", 8)
        self.assertGreater(len(str(case.config)), 400)
        program = self.erring("3' '*again*", "--set parameters.source=2")
        small = random_runs.reduced(program, "cpu", case, "again, by three threads")
        self.assertTrue(random_runs.wrong(program, "cpu", small, [random_runs.again]))
        self.assertLess(len(str(small.config)), 150)
        self.assertEqual(small.config["simulation"], "poisson")


if __name__ == "__main__":
    os.environ.pop("OMP_NUM_THREADS", None)
    support.main()
