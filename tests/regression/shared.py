"""What tests of runs that several processes share have in common."""

import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import support
from support import DONE, SIGTERM_STOP

MPIRUN = shutil.which("mpirun")
# A container has one user, and the tests more ranks than processors. Which transports Open MPI takes on
# one machine is said, since it would open all that it has before it takes them.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1",
               # a rank that waits leaves its processor to others, of this run and of tests beside it
               "OMPI_MCA_mpi_yield_when_idle": "1",
               # mpirun would sleep for two seconds before it ends where a rank has failed
               "OMPI_MCA_odls_base_sigkill_timeout": "0"}


def has_module():
    return (pathlib.Path(support.PROGRAM).parent / "gridstride_mpi.so").exists()


def heat(**changes):
    return support.heat(**{"output": {"every": {"count": 3}}, **changes})


def wave(**changes):
    config = {
        "simulation": "wave",
        "device": "cpu",
        "grid": {"points": [13, 19]},
        "boundary": {"x": "periodic", "y": {"lower": "fixed", "upper": "free"}},
        "initial": {"u": "exp(-30*((x - 0.4)^2 + (y - 0.5)^2))"},
        "parameters": {"speed": 1, "initial_velocity": "x*y", "order": 4},
        "time": {"end": 0.3},
        "output": {"every": {"count": 3}},
        "diagnostics": ["norms"],
    }
    config.update(changes)
    return config


def advection(scheme, **changes):
    config = {
        "simulation": "advection",
        "device": "cpu",
        "grid": {"points": [16, 75]},
        "boundary": {"x": "periodic", "y": "outflow"},
        "initial": {"u": "exp(-30*((x - 0.4)^2 + (y - 0.5)^2))"},
        "parameters": {"velocity": {"x": 1}},
        "time": {"end": 0.1, "scheme": scheme},
        "output": {"every": {"count": 3}},
        "diagnostics": ["norms"],
    }
    config.update(changes)
    return config


REACTION = {"u": "2e-3*laplace(u) - u*v^2 + 0.04*(1 - u)", "v": "1e-3*laplace(v) + u*v^2 - 0.1*v"}
# Heat with all that may depend on the place and on the time.
FIELDS = {"diffusivity": "1 + x*y/2 + sin(3*y)^2", "source": "x - y^2"}
CHANGES = {"diffusivity": "1 + 0.3*sin(5*x)*y", "source": "sin(30*t)*x + y*t"}
SIDES_IN_TIME = {"x": {"lower": {"dirichlet": "y*sin(40*t)"}, "upper": {"neumann": "t + y"}},
                 "y": "periodic"}
TURNING = {"x": "cos(9*t)*(y - 0.5)", "y": "sin(5*x)*(1 + t)"}


def pde(equations, **changes):
    config = {
        "simulation": "pde",
        "device": "cpu",
        "grid": {"points": [11, 34]},
        "boundary": {"x": "periodic", "y": "periodic"},
        "equations": equations,
        "initial": {name: "0.5 + 0.3*sin(5*x)*cos(3*y)" for name in equations},
        "time": {"end": 0.1},
        "output": {"every": {"count": 3}},
        "diagnostics": ["norms"],
    }
    config.update(changes)
    return config


class Shared(support.Case):
    def setUp(self):
        super().setUp()
        if MPIRUN is None or not has_module():
            self.skipTest("there is no mpirun, or this build has no MPI")

    def start_ranks(self, count, *arguments, environment=None):
        return self.start_words(MPIRUN, "-n", count, support.PROGRAM, *arguments, environment=environment)

    def start_words(self, *words, environment=None):
        return subprocess.Popen(
            [str(word) for word in words], cwd=self.directory,
            env={**ENVIRONMENT, **(environment or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def on_ranks(self, count, *arguments, code=DONE, environment=None):
        return self.end_of(self.start_ranks(count, *arguments, environment=environment), code,
                           f"{count} ranks: {arguments}")

    def start_on_machines(self, machines, *arguments, environment=None, gpus=None):
        """A rank for each of these numbers, as if it were on that machine, with the GPUs given for it."""
        words = [MPIRUN]
        for machine, ranks in itertools.groupby(machines):
            shown = ["-x", f"CUDA_VISIBLE_DEVICES={gpus[machine]}"] if gpus else []
            words += [":"] if len(words) > 1 else []
            words += ["-n", len(list(ranks)), "-x", f"GRIDSTRIDE_MACHINE={machine}", *shown,
                      support.PROGRAM, *arguments]
        return self.start_words(*words, environment=environment)

    def on_machines(self, machines, *arguments, code=DONE, environment=None, gpus=None):
        return self.end_of(self.start_on_machines(machines, *arguments, environment=environment, gpus=gpus),
                           code, f"ranks on machines {machines}: {arguments}")

    def end_of(self, process, code, text):
        try:
            out, err = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.returncode, code, f"{text}\n{out}{err}")
        return out, err

    def assert_a_signal_stops_and_others_go_on(self, name, config, counts=(3, 2), options=((), ())):
        """A signal to one rank after an output; others go on with the bits of one process."""
        file = self.write(f"{name}.yaml", config)
        self.call("run", file, "--output", "one", "--quiet")
        process = self.start_ranks(counts[0], "run", file, "--output", "parts", "--quiet", *options[0])
        support.wait_for(lambda: (self.directory / f"parts/{name}.h5").exists(), "an output")
        os.kill(self.ranks_of(process)[-1], signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGTERM_STOP, err)
        self.on_ranks(counts[1], "run", file, "--output", "parts", "--quiet", "--restart", *options[1])
        self.assert_same(f"one/{name}.h5", f"parts/{name}.h5")

    def ranks_of(self, process):
        """The processes that mpirun has started."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                number, parent = entry.parent.name, entry.read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if parent == str(process.pid):
                found.append(int(number))
        self.assertGreater(len(found), 1)
        return sorted(found)

    def contents(self, folder, pattern):
        return {path.name: path.read_bytes()
                for path in sorted((self.directory / folder).glob(pattern))}

    def assert_shared(self, config, counts):
        """The images are the same files, byte by byte; the results agree in every bit."""
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet", environment={"OMP_NUM_THREADS": "1"})
        expected = self.contents("one", "*.vti")
        self.assertGreater(len(expected), 2)
        for count in counts:
            with self.subTest(ranks=count):
                self.on_ranks(count, "run", file, "--output", f"of_{count}", "--quiet")
                self.assertEqual(self.contents(f"of_{count}", "*.vti"), expected)
                self.assert_same("one/case.h5", f"of_{count}/case.h5")


# Files that each rank puts its part into.
EACH = "each rank its part"
THREE_STEPS = {"step": 1e-8, "end": 3e-8}
CHECKPOINTS = {"every": {"steps": 1}, "keep": 9}
# Arrays of more than one slab of files (8 MiB), and small ones.
LARGE_2D = heat(grid={"points": [1201, 1103]}, time=THREE_STEPS, checkpoint=CHECKPOINTS, output={"every": {"count": 1}})
LARGE_3D = heat(grid={"points": [131, 103, 101]}, boundary={"x": "periodic", "y": {"neumann": 0}, "z": {"dirichlet": 1}},
                initial={"u": "x*y + sin(3*z)"}, time=THREE_STEPS, checkpoint=CHECKPOINTS,
                output={"every": {"count": 1}})
WAVE = {"simulation": "wave", "grid": {"points": [1103, 1007]}, "initial": {"u": "exp(-40*((x - 0.4)^2 + (y - 0.6)^2))"},
        "boundary": {"x": {"lower": "free", "upper": "absorbing"}, "y": "periodic"}, "checkpoint": CHECKPOINTS,
        "parameters": {"speed": "0.5 + x*y", "order": 8, "absorbing": {"thickness": 9}, "source": "sin(9*x + t)",
                       "initial_velocity": "cos(3*y)", "ricker": [{"at": [0.3, 0.2], "frequency": 5}]},
        "time": {"step": 1e-5, "end": 3e-5}, "output": {"every": {"count": 1}}}
FLOW = {"simulation": "advection", "grid": {"points": [67, 103, 171]}, "initial": {"u": "exp(-9*(x - y)^2) + z"},
        "boundary": {"x": {"lower": {"dirichlet": "y + t"}, "upper": "outflow"}, "y": "periodic", "z": "outflow"},
        "parameters": {"velocity": {"x": "1 + y", "y": 0.3, "z": "sin(9*x)*cos(t)"}}, "checkpoint": CHECKPOINTS,
        "time": {"step": 1e-5, "end": 3e-5, "scheme": "upwind"}, "output": {"every": {"count": 1}}}
SMALL = heat(grid={"points": [24, 31]}, checkpoint=CHECKPOINTS, time={"end": 0.01, "scheme": "rk4"})


class Parts(Shared):
    DEVICE = "cpu"
    has_fields = True

    def one(self, config):
        file = self.write("case.yaml", {**config, "device": self.DEVICE})
        self.has_fields = config["output"].get("fields") != []
        self.call("run", file, "--output", "one", "--quiet", "--overwrite")
        return file

    def assert_as_one(self, process, way=EACH):
        out, _ = self.end_of(process, DONE, "ranks")
        self.assertRegex(json.loads(out)["chosen"]["files"], way)
        for pattern in ("*.vti", "*.checkpoint"):
            self.assertEqual(self.contents("many", pattern), self.contents("one", pattern))
        if self.has_fields:
            self.assert_same("one/case.h5", "many/case.h5")
        self.assertEqual(self.found("many"), self.found("one"))

    def found(self, folder):
        """What diagnostics found at each output."""
        return re.findall(r"(?m)^step \d+ time .*$", (self.directory / folder / "case.log").read_text())

    def start_many(self, count, *arguments):
        return self.start_ranks(count, *arguments)

    def assert_files(self, config, counts, *options, way=EACH, precisions=("float64", "float32")):
        """By each number of ranks and in each precision, taken by turns."""
        turns = max(len(counts), len(precisions))
        pairs = [(precisions[n % len(precisions)], counts[n % len(counts)]) for n in range(turns)]
        for precision in precisions:
            file = self.one({**config, "precision": precision})
            for count in (count for of, count in pairs if of == precision):
                with self.subTest(ranks=count, precision=precision, options=options):
                    self.assert_as_one(self.start_many(count, "run", file, "--output", "many", "--quiet", "--overwrite",
                                                       "--summary", "-", *options), way)


class NeedsGpu(Shared):
    """Ranks on the GPUs there are, one after the other, and all of them on the first one."""

    def setUp(self):
        super().setUp()
        self.need_gpu()

    def assert_shared(self, config, counts):
        counts = {min(count, 3) for count in counts}
        super().assert_shared({**config, "device": "cuda"}, sorted(counts))

    def assert_shared_on_gpu(self, config, transports=("p2p", "staged"), counts=(2, 3)):
        file = self.write("case.yaml", {**config, "device": "cuda"})
        self.call("run", file, "--output", "one", "--quiet")
        ways = [(transport, count, visible) for transport in transports for count in counts
                for visible in (None, "0")]
        if "cuda:1" in self.call("list", "devices")[0]:
            ways += [("stores", 2, None), ("nccl", 2, None)]  # a GPU for each rank
        for transport, count, visible in ways:
            environment = {"GRIDSTRIDE_TRANSPORT": transport}
            if visible is not None:
                environment["CUDA_VISIBLE_DEVICES"] = visible
            with self.subTest(transport=transport, ranks=count, visible=visible):
                out, _ = self.on_ranks(count, "run", file, "--output", "shared", "--quiet",
                                       "--overwrite", "--summary", "-", environment=environment)
                self.assertRegex(json.loads(out)["chosen"]["transport"], f"^{transport}")
                self.assert_same("one/case.h5", "shared/case.h5")


class PartsOnGpu(NeedsGpu, Parts):
    """Where all diagnostics are found by parts, of ranks that are as if they were on two machines."""

    DEVICE = "cuda"

    def start_many(self, count, *arguments):
        return self.start_on_machines([2 * rank // count for rank in range(count)], *arguments)
