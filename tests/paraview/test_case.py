#!/usr/bin/env python3
"""Runs a case and checks that ParaView and VTK read the results, and that a fault would be seen.

    test_case.py PROGRAM CASE.yaml

CASE.json holds what is expected. GRIDSTRIDE_PVPYTHON and GRIDSTRIDE_VTK_PYTHON name the commands
that run Python in ParaView and with a VTK of 9.4 or later; `tools/test --with-paraview` sets them.
Without them the exit code is 77: skipped.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77


def check(outputs, name, expectations):
    """What check_outputs.py says: its exit code and its faults."""
    expect = outputs / "expected.json"
    expect.write_text(json.dumps(expectations), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, HERE / "check_outputs.py", "--expect", expect,
         "--pvd", outputs / f"{name}.pvd", "--h5", outputs / f"{name}.h5",
         "--pvpython", os.environ["GRIDSTRIDE_PVPYTHON"],
         "--vtk-python", os.environ["GRIDSTRIDE_VTK_PYTHON"]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def main():
    program, case = sys.argv[1], pathlib.Path(sys.argv[2])
    missing = [name for name in ("GRIDSTRIDE_PVPYTHON", "GRIDSTRIDE_VTK_PYTHON")
               if not os.environ.get(name)]
    if missing:
        print(f"skipped: {' and '.join(missing)} not set (tools/test --with-paraview)")
        return SKIPPED
    expectations = json.loads(case.with_suffix(".json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="gridstride_paraview_") as folder:
        outputs = pathlib.Path(folder)
        subprocess.run([program, "run", case, "--quiet", "--output", outputs], check=True)
        code, faults = check(outputs, case.stem, expectations)
        print(faults)
        if code != 0:
            return 1
        field, formula = next(iter(expectations["exact"].items()))
        wrong = {**expectations, "exact": {field: f"({formula}) + 1e-3*(t >= {expectations['times'][-1]})"}}
        code, faults = check(outputs, case.stem, wrong)
        if code != 1 or f"{field} at (" not in faults:
            print(f"a wrong value went unseen:\n{faults}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
