"""1000 mutated configs: no crash, no hang, exit codes that mean what they say, nothing half written.

Each is given to `check`. Those that are refused, and those that `check` says are small, go to `run`
too. Which configs they are tools/mutate_configs.py decides, with a fixed seed.
"""

import concurrent.futures
import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import time

import support
from support import BAD_INPUT, DOES_NOT_HOLD, DONE, FAILED, ROOT

sys.path.insert(0, str(ROOT / "tools"))
import mutate_configs  # noqa: E402

COUNT, SEED = 1000, 1
LONGEST = 20  # seconds: some integrals go on to their limit of evaluations, 4 s on a quick machine
REFUSED_THAT_RUN = 4  # every fourth: a fault that reading finds is found by the same function

# On the host, whatever the machine has, and with one thread: two programs run at a time.
ENVIRONMENT = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}


@dataclasses.dataclass
class Outcome:
    arguments: list
    code: int
    out: str
    err: str
    seconds: float

    @property
    def fault(self):
        """What must not be, in words; empty where all is well."""
        if self.code is None:
            return f"does not end within {LONGEST} s"
        if self.code < 0:
            return f"is ended by signal {-self.code}"
        does_not_hold = self.code == DOES_NOT_HOLD and "over the tolerance" in self.err
        if self.code not in (DONE, FAILED, BAD_INPUT) and not does_not_hold:
            return f"ends with code {self.code}"
        if self.code != DONE and not self.err.strip():
            return f"ends with code {self.code} without a word"
        return ""


def call(folder, *arguments):
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [support.PROGRAM, *arguments], cwd=folder, env=ENVIRONMENT, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LONGEST, check=False)
        code, out, err = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, err = None, b"", b""
    return Outcome([*arguments], code, out.decode("utf-8", "replace"),
                   err.decode("utf-8", "replace"), time.monotonic() - begin)


def is_small(forecast):
    """Whether what `check` says promises a run of a moment."""
    if max(forecast["device_bytes"], forecast["output_bytes"]) > 1 << 20:
        return False
    if forecast["snapshots"] > 50 or forecast["checkpoints"] > 50:
        return False
    if "steps" in forecast:
        return forecast["steps"] <= 1000
    # Without steps, the numbers of the file say how long it takes.
    numbers = re.findall(r"(?<![\w.])\d+(?![\w.])", forecast["resolved_config"])
    return all(int(number) <= 10_000 for number in numbers)


def examine(top, number, config):
    """The faults of one config, in words."""
    folder = top / f"{number:06d}"
    folder.mkdir()
    (folder / "case.yaml").write_bytes(config)
    faults = []

    def judge(outcome):
        if outcome.fault:
            faults.append(f"{' '.join(outcome.arguments)} {outcome.fault}\n{outcome.err[-500:]}")
        left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
        may_write = outcome.arguments[0] == "run" and outcome.code != BAD_INPUT
        if not may_write and left != ["case.yaml"]:
            faults.append(f"{' '.join(outcome.arguments)} writes {left}")
        if outcome.code is not None and any(name.endswith(".part") for name in left):
            faults.append(f"{' '.join(outcome.arguments)} leaves {left}")

    # Wherever the config wants to write, it is here.
    run = ("run", "case.yaml", "--output", "results", "--quiet")
    checked = call(folder, "check", *run[1:4], "--json")
    judge(checked)
    if checked.code == DONE and is_small(json.loads(checked.out)):
        outcome = call(folder, *run)
        judge(outcome)
        if outcome.code == BAD_INPUT:
            faults.append(f"run refuses what check accepts\n{outcome.err[-500:]}")
    elif checked.code == BAD_INPUT and number % REFUSED_THAT_RUN == 0:
        outcome = call(folder, *run)
        judge(outcome)
        if outcome.code not in (BAD_INPUT, None):
            faults.append(f"run takes what check refuses\n{checked.err[-500:]}")
    shutil.rmtree(folder)
    return faults


class MutatedConfigs(support.Case):
    def test_none_does_harm(self):
        shutil.copytree(ROOT / "tests/regression/data", self.directory / "data")
        shutil.copytree(ROOT / "tests/regression/reference", self.directory / "reference")
        configs = list(mutate_configs.mutated_configs(COUNT, SEED))
        self.assertEqual(len(configs), COUNT)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda i: examine(self.directory, i, configs[i]), range(COUNT)))
        for number, faults in enumerate(found):
            if not faults:
                continue
            # Another look with nothing beside it, for what a busy machine was too slow for.
            for fault in examine(self.directory, number, configs[number]):
                with self.subTest(config=number):
                    self.fail(f"{fault}\n{configs[number][:2000].decode('utf-8', 'replace')}")

    def test_same_seed_same_configs(self):
        first = list(mutate_configs.mutated_configs(50, SEED))
        self.assertEqual(first, list(mutate_configs.mutated_configs(50, SEED)))
        self.assertNotEqual(first, list(mutate_configs.mutated_configs(50, SEED + 1)))


if __name__ == "__main__":
    support.main()
