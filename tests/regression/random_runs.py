"""Runs random configs in several ways that have to agree, and tells the smallest one that does not.

    random_runs.py PROGRAM --seeds 1000 [--first 0] [--device cuda] [--simulation pde] [--jobs 2] [--keep FOLDER]

Bit by bit have to agree: another run, by other threads; ranks that share it; a run that goes on from a
checkpoint halfway, by another number of ranks; rows of kernels and limits that leave the bits as they are.
Within a bound: methods, the host with a GPU, and what numpy finds. A run that fails has to fail in each of
these ways with the same words; ranks may be refused where they are too many for a grid.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import copy
import dataclasses
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import numpy

import random_configs
import random_references
import support
from shared import ENVIRONMENT, MPIRUN, has_module

try:
    import h5py
except ImportError:
    h5py = None  # on a machine that is lent a bundle

DONE, BAD_INPUT = 0, 2
LONGEST = 120  # seconds of a run
TRIED = 200    # configs on the way to the smallest one


def changed(config, changes):
    """The config with what `changes` say in the place of what it says; None takes a key out."""
    config = copy.deepcopy(config)
    for key, value in changes.items():
        if value is None:
            config.pop(key, None)
        elif isinstance(value, dict) and isinstance(config.get(key, {}), dict):
            config[key] = changed(config.get(key, {}), value)
        else:
            config[key] = value
    return config


@dataclasses.dataclass
class Outcome:
    code: int
    text: str
    folder: pathlib.Path

    @property
    def told(self):
        """What is said of a failure, on its first line."""
        return self.text.strip().splitlines()[0] if self.text.strip() else ""


class Runner:
    """Runs a case in a folder of its own, and holds its runs against each other."""

    def __init__(self, program, device, folder, case):
        self.program, self.device, self.folder, self.case = program, device, pathlib.Path(folder), case
        for name, content in case.files.items():
            path = self.folder / name
            if isinstance(content, numpy.ndarray):
                numpy.save(path, content)
            elif isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content, newline="")

    def run(self, name, changes=None, ranks=1, threads=1, device=None, options=()):
        """The results are in the folder `name`."""
        self.write(changes, device)
        words = [self.program, "run", "case.yaml", "--quiet", "--output", name, "--summary", f"{name}.json", *options]
        if ranks > 1:
            words = [MPIRUN, "-n", str(ranks), *words]
        code, text = self.call(words, {**ENVIRONMENT, "OMP_NUM_THREADS": str(threads)})
        return Outcome(code, text.replace(f"{name}/", "").replace(f"{name}.", ""), self.folder / name)

    def write(self, changes=None, device=None):
        config = changed({**self.case.config, "device": device or self.device}, changes or {})
        (self.folder / "case.yaml").write_text(json.dumps(config, indent=1))

    def takes(self, parts):
        """Whether the program says that ranks can share the run so."""
        if not MPIRUN or not has_module():
            return False
        self.write({"ranks": parts})
        return self.call([self.program, "check", "case.yaml", "--ranks", str(math.prod(parts))])[0] == DONE

    def parts(self):
        """A way to share the run, as changes of its config, and by how many ranks."""
        way = next((way for way in self.case.ranks if self.takes(way)), None)
        return ({"ranks": way}, math.prod(way)) if way else ({}, 1)

    def start(self, words, environment=ENVIRONMENT):
        return subprocess.Popen(words, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)

    def call(self, words, environment=ENVIRONMENT):
        process = self.start(words, environment)
        try:
            text = process.communicate(timeout=LONGEST)[0]
            return process.returncode, text
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None, f"does not end within {LONGEST} s"

    # --- what two runs have to agree in -----------------------------------------------------------

    def ends_differ(self, one, other):
        if one.code != other.code:
            return f"ends with {other.code} in the place of {one.code}: {other.text.strip()[-300:]}"
        if one.told and one.told not in other.text:
            return f"says {other.told!r} in the place of {one.told!r}"
        return ""

    def compare(self, one, other, *options):
        return self.call([self.program, "compare", str(one.folder / "case.h5"), str(other.folder / "case.h5"), "--rtol",
                          "0", "--atol", "0", *options])

    def same_bits(self, one, other, images=True):
        """What is wrong, or nothing."""
        if fault := self.ends_differ(one, other):
            return fault
        if not (one.folder / "case.h5").exists():
            return ""
        code, text = self.compare(one, other)
        if code != DONE:
            return f"other bits: {text.strip()[-400:]}"
        names = sorted(path.name for path in one.folder.glob("*.vti")) if images else []
        differ = [name for name in names if not (other.folder / name).exists()
                  or (other.folder / name).read_bytes() != (one.folder / name).read_bytes()]
        return f"other images: {differ}" if differ else ""

    def near(self, one, other, bound):
        """Fields differ by no more than the bound times the largest value that `one` has."""
        if fault := self.ends_differ(one, other):
            return fault
        if one.code != DONE:
            return ""
        if self.case.numbers:
            a, b = (json.loads(outcome.folder.with_suffix(".json").read_text())["diagnostics"] for outcome in (one, other))
            away = {name: abs(a[name] - b[name]) for name in self.case.numbers}
        else:
            found = json.loads(self.compare(one, other, "--json")[1])
            missing = [text for text in found["mismatches"] if text.startswith(("field", "the grid"))]
            if missing or not found["fields"]:
                return ", ".join(missing) or "no fields"
            largest = self.largest(one)
            away = {field["name"]: field["max_absolute"] / largest for field in found["fields"]}
        return ", ".join(f"{name} is {far:.3g} away, and {bound:.3g} would be all right" for name, far in away.items()
                         if not far <= bound)

    def largest(self, one):
        code, text = self.call([self.program, "info", str(one.folder), "--json"])
        numbers = json.loads(text)["diagnostics"] if code == DONE else {}
        values = [abs(value) for name, found in numbers.items() if name.endswith((".min", ".max"))
                  for value in (found if isinstance(found, list) else [found]) if value is not None]
        return max([1, *values])


# --- ways to run -----------------------------------------------------------------------------------

def again(runner, first):
    yield "again, by three threads", runner.same_bits(first, runner.run("again", threads=3))


def by_ranks(runner, first):
    for way in runner.case.ranks:
        other = runner.run("ranks", {"ranks": way}, ranks=math.prod(way), options=("--overwrite",)) \
            if runner.takes(way) else None
        yield f"ranks {way}", runner.same_bits(first, other) if other else None


def restarted(runner, first):
    """From a checkpoint halfway, by ranks where the run can be shared."""
    if "time" not in runner.case.config or first.code != DONE:
        return
    saved = {"checkpoint": {"every": {"steps": 3}, "keep": 1000}}
    fault = runner.same_bits(first, runner.run("saved", saved))
    yield "with checkpoints", fault
    folder = runner.folder / "saved"
    checkpoints = sorted(folder.glob("*.checkpoint"))
    if fault or len(checkpoints) < 2:
        return
    for path in [*checkpoints[len(checkpoints) // 2:], folder / "case.log"]:
        path.unlink()
    shared, ranks = runner.parts()
    other = runner.run("saved", {**saved, **shared}, ranks=ranks, options=("--restart",))
    yield f"from a checkpoint, {shared}", runner.same_bits(first, other)


def killed(runner, first):
    """Soon after it has begun, and once more; the last one to go on is alone."""
    if "time" not in runner.case.config or first.code != DONE:
        return
    saved = {"checkpoint": {"every": {"steps": 2}}}
    dice = random.Random(str(runner.case.config))
    words = [runner.program, "run", "case.yaml", "--quiet", "--output", "killed", "--restart"]
    shared, ranks = runner.parts()
    for way, changes in (([MPIRUN, "-n", str(ranks)] if ranks > 1 else [], shared), ([], {})):
        runner.write({**saved, **changes})
        log = runner.folder / "killed/case.log"
        log.unlink(missing_ok=True)
        process = runner.start(way + words)
        while process.poll() is None and not log.exists():  # mpirun may wait for ever for ranks that die before
            time.sleep(0.001)
        time.sleep(dice.uniform(0, 0.1))
        kill(children(process.pid)[-1:] if way else [process.pid])
        try:
            process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            kill([*children(process.pid), process.pid])
            yield "killed", f"mpirun does not end within {LONGEST} s"
            return
    yield "killed", runner.same_bits(first, runner.run("killed", saved, options=("--restart",)))


def kill(numbers):
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def children(parent):
    """The processes that mpirun has started so far."""
    with contextlib.suppress(OSError):
        return [int(word) for word in pathlib.Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    return []


def swept(runner, first):
    """Runs of a sweep side by side have the bits that each has alone."""
    if "constants" not in runner.case.config or first.code != DONE:
        return
    half = runner.run("half", {"constants": {"s": 0.5}})
    both = runner.run("swept", {"sweep": {"s": [1, 0.5]}})
    if half.code == DONE and both.code != DONE:
        yield "in a sweep", f"ends with {both.code}: {both.text.strip()[-300:]}"
        return
    for alone, name in ((first, "s=1"), (half, "s=0.5")):
        yield f"in a sweep, {name}", runner.same_bits(alone, Outcome(alone.code, alone.text, runner.folder / "swept" / name))


def otherwise(runner, first):
    """Rows and limits that give the same bits. Not every row of a GPU takes every run."""
    for change in runner.case.changes:
        if runner.device == "cpu" or "reference" not in str(change):
            yield f"with {change}", runner.same_bits(first, runner.run("changed", change, options=("--overwrite",)))
    for family, rows in runner.case.rows.items() if runner.device != "cpu" else ():
        for row in rows:
            other = runner.run("changed", {"kernels": {family: row}}, options=("--overwrite",))
            yield f"with {row}", runner.same_bits(first, other) if other.code != BAD_INPUT else None


def by_others(runner, first):
    for change, bound in runner.case.others:
        if runner.device == "cpu" or "reference" not in str(change):
            yield f"by {change}", runner.near(first, runner.run("other", change), bound)


def by_host(runner, first):
    if runner.device != "cpu" and runner.case.bound > 0 and not runner.case.selects:
        yield "on the host", runner.near(runner.run("host", device="cpu"), first, runner.case.bound)


def by_numpy(runner, first):
    """Fields, or the diagnostics that are compared in their place, against what numpy finds of the config."""
    case = runner.case
    known = random_references.KNOWN.get(case.config["simulation"], lambda *_: {})(case.config, case.files)
    if first.code != DONE or not known or h5py is None:
        return
    with h5py.File(first.folder / "case.h5") as file:
        place = "gridstride/diagnostics/{}" if case.numbers else "VTKHDF/PointData/{}"
        for name, right in known.items():
            found = file[place.format(name) if place.format(name) in file else f"gridstride/fields/{name}"][-1]
            if found.size != numpy.size(right):
                yield f"{name} by numpy", f"has {found.size} values in the place of {numpy.size(right)}"
                continue
            largest = 1 if case.numbers else max(1, abs(right).max())
            away, bound = abs(found.reshape(numpy.shape(right)) - right).max() / largest, 2 * case.bound
            yield f"{name} by numpy", "" if away <= bound else f"is {away:.3g} away, and {bound:.3g} would be all right"


WAYS = (again, by_ranks, restarted, killed, swept, otherwise, by_others, by_host, by_numpy)


def faults(program, device, case, ways=WAYS):
    """What each way comes to, by its name: what is wrong, "" where all is well, None where it is refused."""
    with tempfile.TemporaryDirectory(prefix="gridstride_random_") as folder:
        runner = Runner(program, device, folder, case)
        first = runner.run("first")
        if first.code in (None, BAD_INPUT) or first.code < 0:
            return {"first": f"ends with {first.code}: {first.text.strip()[-300:]}"}
        return {name: fault for way in ways for name, fault in way(runner, first)}


def wrong(program, device, case, ways=WAYS):
    return {name: fault for name, fault in faults(program, device, case, ways).items() if fault}


# --- the smallest config ---------------------------------------------------------------------------

def places(value, path=()):
    """The paths of all parts of a config, the larger ones first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield (*path, key)
        yield from places(part, (*path, key))


def at(config, path):
    for key in path:
        config = config[key]
    return config


def simpler(config):
    """Configs with one thing less, or a smaller or plainer one."""
    for path in places(config):
        smaller = copy.deepcopy(config)
        holder, key = at(smaller, path[:-1]), path[-1]
        value = holder[key]
        if path[:-1] != ("grid", "points"):
            del holder[key]
            yield smaller
        plainer = {int: (value // 2, value - 1) if isinstance(value, int) else (), str: ("1", "x"), float: (1.0,)}
        for simple in plainer.get(type(value), ()):
            if simple != value and (not isinstance(simple, str) or len(simple) < len(value)):
                smaller = copy.deepcopy(config)
                at(smaller, path[:-1])[key] = simple
                yield smaller


def smallest(case, is_wrong, tries=TRIED):
    """Takes away what can be taken away with the fault still there."""
    moves = True
    while moves and tries > 0:
        moves = False
        for config in simpler(case.config):
            tries -= 1
            candidate = dataclasses.replace(case, config=config)
            if is_wrong(candidate):
                case, moves = candidate, True
                break
            if tries <= 0:
                break
    return case


# --- the command line ------------------------------------------------------------------------------

def reduced(program, device, case, name):
    """The smallest case with a fault in the way of that name."""
    def has_fault(ways):
        return lambda other: any(found.split()[0] == name.split()[0] for found in wrong(program, device, other, ways))
    ways = next(([way] for way in WAYS if has_fault([way])(case)), WAYS)
    return smallest(case, has_fault(ways))


def examine(program, device, simulation, seed, keep):
    """Returns a line for each fault, and how many ways agreed, were refused and were wrong."""
    case = random_configs.case(simulation, seed)
    found = faults(program, device, case)
    counts = collections.Counter("refused" if fault is None else "wrong" if fault else "agree" for fault in found.values())
    lines = [f"{simulation} {seed}: {name}: {fault}" for name, fault in found.items() if fault]
    if lines and keep:
        small = reduced(program, device, case, next(name for name, fault in found.items() if fault))
        folder = pathlib.Path(keep) / f"{simulation}_{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        Runner(program, device, folder, small).write()
        lines.append(f"  the smallest one is {folder}/case.yaml: {json.dumps(small.config)}")
    return lines, counts


def examine_all(program, device, tasks, jobs, keep=None, tell=None):
    total, told = collections.Counter(), []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for lines, counts in pool.map(lambda task: examine(program, device, *task, keep), tasks):
            total.update(counts)
            told += lines
            for line in lines if tell else ():
                tell(line)
    return told, total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=20, help="configs of each simulation")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--simulation", action="append", choices=sorted(random_configs.SIMULATIONS))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="a folder for the smallest config of each fault")
    arguments = parser.parse_args()
    support.PROGRAM = program = os.path.abspath(arguments.program)
    tasks = [(simulation, seed) for seed in range(arguments.first, arguments.first + arguments.seeds)
             for simulation in arguments.simulation or random_configs.SIMULATIONS]
    _, counts = examine_all(program, arguments.device, tasks, arguments.jobs, arguments.keep,
                            lambda line: print(line, flush=True))
    print(f"{len(tasks)} configs: {dict(counts)}")
    return 1 if counts["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
