"""What the end-to-end tests share: a config, a scratch directory, and the program run in it.

Each test is a script: `test_NAME.py PROGRAM [unittest arguments]`. The program runs on the host, so
that the tests mean the same on every machine.
"""

import json
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = None

DONE, FAILED, BAD_INPUT, DOES_NOT_HOLD, SIGINT_STOP, SIGTERM_STOP = 0, 1, 2, 3, 130, 143


def main():
    """Takes the program's path off the command line and runs the tests of the calling script."""
    global PROGRAM
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [TEST...]")
    # The script runs as __main__, which reads PROGRAM from this module.
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main(module="__main__")


def limited_to(address_space):
    """For a program's start: under `ulimit -v` of so many bytes."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))}


def heat(**changes):
    """A small, quick heat config as a mapping. `changes` replace whole sections; None drops one."""
    config = {
        "simulation": "heat",
        "device": "cpu",
        "grid": {"points": [17, 16]},
        "boundary": {"x": {"dirichlet": 0}, "y": "periodic"},
        "initial": {"u": "sin(pi*x)*(1 + cos(2*pi*y)/2)"},
        "parameters": {"diffusivity": 1},
        "time": {"end": 0.01},
        "output": {"every": {"count": 4}},
    }
    config.update(changes)
    return {key: value for key, value in config.items() if value is not None}


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


class Case(unittest.TestCase):
    """A test in a temporary working directory, `self.directory`."""

    maxDiff = None

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="gridstride_test_"))
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)

    def need_gpu(self):
        if "cuda:0" not in self.call("list", "devices")[0]:
            self.skipTest("there is no GPU")

    def write(self, name, config):
        """Writes a config (JSON is YAML) or a text; returns its path relative to the directory."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = config if isinstance(config, str) else json.dumps(config, indent=1)
        path.write_text(text, encoding="utf-8")
        return name

    def start(self, *arguments, cwd=None, environment=None, **options):
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen(
            [PROGRAM, *map(str, arguments)], cwd=cwd or self.directory, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})}, **options)

    def call(self, *arguments, code=DONE, **options):
        """Runs the program to its end, which must have this exit code (None: any but 0). Returns
        stdout, stderr."""
        process = self.start(*arguments, **options)
        try:
            out, err = process.communicate(timeout=120)
        finally:
            process.kill()
        told = f"gridstride {' '.join(map(str, arguments))}\n{out}{err}"
        if code is None:
            self.assertNotEqual(process.returncode, DONE, told)
        else:
            self.assertEqual(process.returncode, code, told)
        return out, err

    def files(self, folder="."):
        """The files under a folder of the directory, sorted, with their paths in it."""
        top = self.directory / folder
        return sorted(str(path.relative_to(top)) for path in top.rglob("*") if path.is_file())

    def assert_same(self, a, b):
        """Two results agree in every bit."""
        self.call("compare", a, b, "--rtol", 0, "--atol", 0)

    def info(self, result):
        """What `info` prints, as a mapping from each line's first word to the rest, or a list."""
        lines = self.call("info", result)[0].splitlines()
        found = {"head": lines[0]}
        for line in lines[1:]:
            key, _, rest = line.strip().partition(" ")
            found.setdefault(key, []).append(rest.strip())
        return found


def wait_for(condition, what, seconds=60):
    """Polls until the condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {seconds} s")
        time.sleep(0.002)


def replace_double(path, old, new):
    """Replaces the one float64 of value `old` in a file: a way to damage a result in one place."""
    path = pathlib.Path(path)
    content = path.read_bytes()
    pattern = struct.pack("<d", old)
    if content.count(pattern) != 1:
        raise AssertionError(f"{path} holds {old} {content.count(pattern)} times")
    path.write_bytes(content.replace(pattern, struct.pack("<d", new)))
