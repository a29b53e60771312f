"""What tools/peers.py compares with: the same equations, and all that is missing is said to be."""

import json
import subprocess
import sys
import unittest.mock

import h5py
import numpy

import support
from support import ROOT

sys.path.insert(0, str(ROOT / "tools"))
import peers_amg  # noqa: E402
import peers_modes  # noqa: E402
import peers_pde  # noqa: E402

STEP = peers_pde.TIME_STEP

# A program that claims to be gridstride: slow where its cache is empty, and of one step.
PRETENDER = """#!{python}
import json, os, pathlib, sys
cache = pathlib.Path(os.environ["XDG_CACHE_HOME"])
cached = cache.is_dir()
cache.mkdir(exist_ok=True)
summary = {{"steps": {steps}, "startup_seconds": 0.25 if cached else 2, "stepping_seconds": 0.5}}
pathlib.Path(sys.argv[sys.argv.index("--summary") + 1]).write_text(json.dumps(summary))
"""


# Of those whose own values are flat on a small grid.
INITIAL = {"Schroedinger": "{a: cos(x), b: sin(y)}",
           "shallow": '{h: 1 + cos(x*y)/5, q: ["sin(pi*x/23)*cos(y)/5", "sin(pi*y/16)*x/50"]}'}


class Settable(numpy.ndarray):
    """With `at`, as arrays of JAX have it."""

    @property
    def at(self):
        class Place:
            def __getitem__(_, where):  # noqa: N805
                self.where = where
                return self
        return Place()

    def multiply(self, factor):
        product = self.copy()
        product[self.where] *= factor
        return product


class LikeJax:
    """numpy, as far as the equations need it."""

    def __getattr__(self, name):
        return getattr(numpy, name)

    def pad(self, *arguments, **options):
        return numpy.pad(*arguments, **options).view(Settable)


class Peers(support.Case):
    def peers(self, *arguments, code=0):
        """Its lines, without any library but Python's own."""
        done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", "import sys; sys.path[:0] = "
                               "[sys.argv.pop(1)]; import peers; peers.main()", ROOT / "tools",
                               *map(str, arguments)], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.splitlines() + done.stderr.splitlines()

    def pretender(self, steps):
        program = self.directory / "pretender"
        program.write_text(PRETENDER.format(python=sys.executable, steps=steps), encoding="utf-8")
        program.chmod(0o755)
        return program

    def test_says_what_is_missing(self):
        lines = self.peers("--work", "Gray-Scott 8192^2, float32")
        self.assertEqual([line.split(" | ")[1:3] for line in lines[2:]],
                         [[peer, "- G point-steps/s"] for peer in ("jax", "py-pde", "pystencils")])
        for line in lines[2:]:
            self.assertRegex(line, r"not installed: No module named '\w+'")

    def test_knows_its_works(self):
        works = self.peers("--list")
        self.assertEqual(len(works), len(set(works)))
        self.assertIn("Gray-Scott 512^3, float64", works)
        self.assertIn("no work has that", self.peers("--work", "nothing", code=1)[0])

    def test_first_steps_are_of_an_empty_cache_and_of_a_full_one(self):
        figures = self.directory / "figures.json"
        self.peers("--work", "first step of Gray-Scott", "--repeats", 2, "--json", figures,
                   "--gridstride", self.pretender(1))
        found = {row["work"]: row["seconds"] for row in json.loads(figures.read_text())
                 if row["by"] == "gridstride run"}
        name = "first step of Gray-Scott 256^2, {}, float32"
        self.assertEqual(found, {name.format("new"): 2.5, name.format("cached"): 0.75})

    def test_first_steps_are_single_ones(self):
        lines = self.peers("--work", "first step of Gray-Scott 256^2, new", "--repeats", 1,
                           "--gridstride", self.pretender(2))
        self.assertIn("| gridstride | - s | 2 steps in place of one |", lines[-1])


class Equations(support.Case):
    """A step of each system as the others make it, and as gridstride makes it of its file."""

    def compare(self, work, rates):
        shape = [24, 17, 12][:len(work.shape)]
        upper = [n - 1 for n in shape] if "walls" in work.name else shape
        initial = next((["--set", f"initial={value}"] for name, value in INITIAL.items()
                        if work.name.startswith(name)), [])
        self.call("run", ROOT / "inputs/bench" / f"{work.config}.yaml", "--quiet", "--output",
                  "case", "--set", f"grid={{points: {shape}, upper: {upper}}}",
                  "--set", f"time={{scheme: {work.scheme}, step: {STEP}, end: {STEP}}}",
                  "--set", "precision=float64", "--set", "output.formats=[hdf5]", *initial)
        with h5py.File(self.directory / f"case/{work.config}.h5") as file:
            fields = [numpy.asarray(field) for _, field in sorted(file["VTKHDF/PointData"].items())]
        states = []
        for when in (0, -1):
            state = []
            for field in fields:
                is_vector = field.ndim > len(shape) + 1
                state += ([field[when, ..., c] for c in range(field.shape[-1])] if is_vector
                          else [field[when]])
            states.append(tuple(state))
        start, end = states
        found = peers_pde.step_of(work.scheme, rates, STEP)(start)
        self.assertEqual(len(found), len(end))
        for mine, theirs, before in zip(found, end, start):
            self.assertEqual(mine.shape, tuple(reversed(shape)))
            self.assertGreater(numpy.abs(theirs - before).max(), 1e-8)
            # Both round values of about 1 a few times in each stage.
            numpy.testing.assert_allclose(mine, theirs, rtol=0, atol=8 * numpy.spacing(1.0))

    def test_are_those_of_the_files(self):
        compared = set()
        for work in peers_pde.WORKS:
            if isinstance(work, peers_pde.FirstStep) or work.config in compared:
                continue
            compared.add(work.config)
            with self.subTest(work.key()):
                if work.name.startswith("heat with"):
                    y, x = numpy.mgrid[0:17, 0:24]
                    wave = numpy.sin(2 * numpy.pi * x / 256) * numpy.cos(2 * numpy.pi * y / 512)
                    self.compare(work, lambda s: peers_pde.heat_diffusivity(
                        numpy, s, 1 + 0.5 * wave))
                else:
                    rates, _ = peers_pde.rates_of(work)
                    self.compare(work, lambda s: rates(LikeJax(), s))
        self.assertGreater(len(compared), 7)

    def test_stencils_are_the_same(self):
        """Those written for pystencils, of arrays that are moved."""
        generator = numpy.random.default_rng(1)
        for shape in ((7, 6), (5, 6, 7)):
            for name, (rates, names, _) in peers_pde.STENCILS.items():
                state = [0.5 + 0.1 * generator.random(shape) for _ in names]
                at = [lambda place, field=field: numpy.roll(
                    field, [-by for by in place], range(len(place))) for field in state]
                for mine, theirs in zip(rates((0,) * len(shape), *at),
                                        peers_pde.RATES[name](numpy, state)):
                    numpy.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-13)


class Modes(support.Case):
    """Steps in modes as the others make them, and as gridstride makes them of its file."""

    def test_are_those_of_the_files(self):
        settings = {"ks": (peers_modes.KS, {"length": 16 * numpy.pi, "step": 0.05}),
                    "flow": (peers_modes.FLOW, {"step": 0.01})}
        for work in peers_modes.WORKS:
            given, smaller = settings[work.problem]
            with self.subTest(work.key()), unittest.mock.patch.dict(given, smaller):
                length, step = given["length"], given["step"]
                self.call("run", ROOT / "inputs/bench" / f"{work.config}.yaml", "--quiet",
                          "--output", "case", "--set", "grid={points: [32, 32], upper: "
                          f"[{length}, {length}]}}", "--set", f"time={{scheme: {work.scheme}, "
                          f"step: {step}, end: {10 * step}}}", "--set", "precision=float64",
                          "--set", "output.formats=[hdf5]")
                with h5py.File(self.directory / f"case/{work.config}.h5") as file:
                    fields = file["VTKHDF/PointData"]
                    first, last = (numpy.asarray(fields["u" if work.problem == "ks" else "w"][when])
                                   for when in (0, -1))
                modes, advance, plane = peers_modes.problem(numpy, work.problem, work.scheme, 32,
                                                            "float64")
                numpy.testing.assert_allclose(first, plane.points(modes), rtol=0, atol=1e-13)
                for _ in range(10):
                    modes = advance(modes)
                self.assertGreater(numpy.abs(last - first).max(), 1e-2)
                numpy.testing.assert_allclose(last, plane.points(modes), rtol=0, atol=1e-13)


class Sparse(support.Case):
    def test_systems_are_those_of_the_files(self):
        work = peers_amg.Diffusion(7)
        sets = [word for key in work.sets for word in ("--set", key)]
        self.call("run", ROOT / "inputs/bench" / f"{work.config}.yaml", "--quiet", "--output",
                  "case", "--set", "output.formats=[hdf5]", *sets)
        with h5py.File(self.directory / f"case/{work.config}.h5") as file:
            x = numpy.asarray(file["VTKHDF/PointData/x"][0])
        matrix = sum(numpy.diag(values, offset)
                     for values, offset in zip(*peers_amg.diagonals(numpy, 7)))
        right = numpy.ones(work.points)
        left = numpy.linalg.norm(right - matrix @ x)
        self.assertLessEqual(left, 2 * peers_amg.TOLERANCE * numpy.linalg.norm(right))


if __name__ == "__main__":
    support.main()
