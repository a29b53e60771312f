"""Runs whose ranks are on several machines, as which one is taken (GRIDSTRIDE_MACHINE in CONTRIBUTING.md):
the same files as of one process."""

import json
import os
import signal

import support
from support import DONE, FAILED
from shared import (CHANGES, REACTION, SIDES_IN_TIME, TURNING, NeedsGpu, Shared, advection, heat, pde, wave)

AROUND = {"x": "periodic", "y": "periodic"}
# Two that end within a machine and two that end between two, in a ring of even and of odd length.
MACHINES = ((0, 0, 1), (0, 1, 1, 0), (0, 0, 1, 1))
CASES = (
    heat(grid={"points": [12, 41]}, boundary=AROUND, initial={"u": "sin(2*pi*(x + y))"}),
    heat(grid={"points": [13, 37]}, parameters=CHANGES, boundary=SIDES_IN_TIME,
         time={"end": 2e-3, "scheme": "rk4"}),
    wave(grid={"points": [15, 44]}),
    advection("weno5", parameters={"velocity": TURNING}, boundary=AROUND),
    pde(REACTION),
)
PENCILS = (
    heat(grid={"points": [26, 29]}, boundary=AROUND, initial={"u": "sin(2*pi*(x + y))"}),
    wave(grid={"points": [23, 30]}),
    pde(REACTION, grid={"points": [24, 34]}),
)


class OnMachines(Shared):
    DEVICE = "cpu"

    def assert_on_machines(self, config, machines, way, *options, **more):
        """The images are the same files, byte by byte; the results agree in every bit."""
        config = {**config, "device": self.DEVICE}
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet", "--overwrite",
                  environment={"OMP_NUM_THREADS": "1"})
        with self.subTest(machines=machines, config=config, options=options):
            out, _ = self.on_machines(machines, "run", file, "--output", "many", "--quiet", "--overwrite",
                                      "--summary", "-", *options, **more)
            self.assertRegex(json.loads(out)["chosen"]["transport"], way)
            self.assertEqual(self.contents("many", "*.vti"), self.contents("one", "*.vti"))
            self.assert_same("one/case.h5", "many/case.h5")

    def assert_a_death_ends_all(self, machines, device):
        file = self.write("case.yaml", heat(grid={"points": [400, 400]}, time={"end": 1e6}, device=device))
        for place in range(len(machines)):
            process = self.start_on_machines(machines, "run", file, "--output", "parts", "--quiet", "--overwrite")
            log = self.directory / "parts/case.log"
            support.wait_for(lambda: log.exists() and "\nstep " in log.read_text(), "the run")
            os.kill(self.ranks_of(process)[place], signal.SIGKILL)
            process.communicate(timeout=60)
            self.assertNotEqual(process.returncode, DONE)
            log.unlink()


class OfTheHost(OnMachines):
    def test_slabs(self):
        for config in CASES:
            for machines in MACHINES:
                self.assert_on_machines(config, machines, "^mpi")

    def test_pencils(self):
        for config in PENCILS:
            for machines in ((0, 0, 1, 1), (0, 1, 0, 1), (0, 0, 0, 1)):
                self.assert_on_machines(config, machines, "^mpi", "--set", "ranks=[2,2]")

    def test_a_rank_that_is_killed_ends_the_others(self):
        self.assert_a_death_ends_all((0, 0, 1), "cpu")


class OnGpu(NeedsGpu, OnMachines):
    """All ranks on the first GPU, so that what goes between machines is staged; and each on its own."""

    DEVICE = "cuda"
    STAGED = (r"p2p within machines, staged between them \(.*(ranks share a GPU|libnccl\.so\.2).*\)")
    NCCL = r"(stores|p2p) within machines, nccl between them"

    def has_gpus(self, count):
        return f"cuda:{count - 1}" in self.call("list", "devices")[0]

    def test_slabs(self):
        for config in CASES:
            for machines in MACHINES[:2]:
                self.assert_on_machines(config, machines, "^" + self.STAGED, gpus=("0", "0"))

    def test_slabs_with_a_gpu_for_each_rank(self):
        if not self.has_gpus(4):
            self.skipTest("there are fewer than four GPUs")
        for config in CASES:
            for machines, gpus in (((0, 0, 1, 1), ("0,1", "2,3")), ((0, 1, 1, 0), ("0,3", "1,2")),
                                   ((0, 0, 0, 1), ("0,1,2", "3"))):
                self.assert_on_machines(config, machines, "^" + self.NCCL, gpus=gpus)

    def test_planes_made_in_parts(self):
        config = heat(grid={"points": [130, 130]}, kernels={"stencil": "temporal", "fused_steps": 8},
                      boundary=AROUND, initial={"u": "sin(2*pi*(x + y))"}, time={"end": 2e-3},
                      limits={"trip_steps": 8})
        for machines in MACHINES:
            self.assert_on_machines(config, machines, "^" + self.STAGED, gpus=("0", "0"))
            if self.has_gpus(4) and len(machines) == 4:
                self.assert_on_machines(config, machines, "^p2p within machines, nccl", gpus=("0,1", "2,3"))

    def test_pencils(self):
        for config in PENCILS:
            along, across = r"staged between machines \(.*\) along y", "p2p.* along x"
            for machines, way in (((0, 0, 1, 1), f"^{along}, {across}"), ((0, 0, 0, 1), f"^{self.STAGED}")):
                self.assert_on_machines(config, machines, way, "--set", "ranks=[2,2]", gpus=("0", "0"))
        if self.has_gpus(4):
            self.assert_on_machines(PENCILS[0], (0, 0, 1, 1), "^nccl between machines along y, (stores|p2p) along x",
                                    "--set", "ranks=[2,2]", gpus=("0,1", "2,3"))

    def test_what_is_wanted(self):
        file = self.write("case.yaml", {**CASES[0], "device": "cuda"})
        for name in ("p2p", "stores"):
            _, err = self.on_machines((0, 0, 1), "run", file, "--output", "no", "--quiet", code=FAILED,
                                      environment={"GRIDSTRIDE_TRANSPORT": name}, gpus=("0", "0"))
            self.assertIn(f"GRIDSTRIDE_TRANSPORT is {name}, which cannot be (the ranks are on several machines)", err)
        self.assert_on_machines(CASES[0], (0, 0, 1), r"^staged \(GRIDSTRIDE_TRANSPORT is staged\)",
                                environment={"GRIDSTRIDE_TRANSPORT": "staged"}, gpus=("0", "0"))

    def test_a_rank_that_is_killed_ends_the_others(self):
        self.assert_a_death_ends_all((0, 0, 1), "cuda")


if __name__ == "__main__":
    support.main()
