#!/usr/bin/env python3
"""Checks that ParaView and VTK read a run's outputs, and read the right values.

    check_outputs.py --pvd FILE --h5 FILE --pvpython CMD --vtk-python CMD --expect FILE.json

CMD is split like a shell command: "xvfb-run -a pvbatch", "venv/bin/python". The file of
expectations is an object with any of these keys:

    dimensions, origin, spacing   lists of three numbers (one point on axes that do not exist)
    times                         list of numbers, or how many there are as an integer
    fields                        {name: "float32" or "float64"}: exactly these, of these types
    exact                         {name: Python expression in x, y, z, t and the names of math}
    rtol, atol                    of the exact values, compared at the corners (1e-12 and 0)

Independently of the expectations, the two readers must agree with each other in everything, and
with the bytes of the .vti files, which this script reads by itself. Exits with 1 and one line per
fault when anything is amiss.
"""

import argparse
import array
import json
import math
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as xml
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from summary import corners

HERE = os.path.dirname(os.path.abspath(__file__))
ARRAY_CODES = {"Float32": ("f", "float32"), "Float64": ("d", "float64")}
TIME_TOLERANCE = 1e-12


class Fault(Exception):
    """Something without which the rest cannot be checked."""


def run_reader(command, script, path):
    """The JSON object that a reader prints; its exit code alone proves nothing."""
    if not os.path.isfile(path):
        raise Fault(f"{path} is missing")
    line = shlex.split(command) + [os.path.join(HERE, script), os.path.abspath(path)]
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False,
                              env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Fault(f"{script}: {error}") from error
    found = [text for text in done.stdout.splitlines() if text.startswith("{")]
    complaint = done.stderr.strip()[-2000:]
    if done.returncode != 0 or not found:
        raise Fault(f"{script} {path}: exit code {done.returncode}, "
                    f"{len(found)} results; it said:\n{complaint}")
    result = json.loads(found[-1])
    if not result.get("times") or not result.get("fields") or not result.get("steps"):
        raise Fault(f"{script} {path}: read nothing; it said:\n{complaint}")
    if re.search(r"\bERR(OR)?\b|Error", done.stderr):
        raise Fault(f"{script} {path}: complained:\n{complaint}")
    return result


def read_vti(path):
    """One .vti file with raw appended data, read by hand: its summary as the readers give it."""
    with open(path, "rb") as file:
        content = file.read()
    head, separator, data = content.partition(b'<AppendedData encoding="raw">')
    if not separator:
        raise Fault(f"{path} has no raw appended data")
    data = data[data.index(b"_") + 1:]
    root = xml.fromstring(head + b"</VTKFile>")
    if root.get("header_type") != "UInt64" or root.get("byte_order") != "LittleEndian":
        raise Fault(f"{path} has an unexpected header")
    if root.get("compressor") not in (None, "vtkZLibDataCompressor"):
        raise Fault(f"{path} is compressed by {root.get('compressor')}")
    image = root.find("ImageData")
    extent = [int(word) for word in image.get("WholeExtent").split()]
    dimensions = [extent[2 * axis + 1] - extent[2 * axis] + 1 for axis in range(3)]
    fields = {}
    for item in image.iterfind("Piece/PointData/DataArray"):
        values, kind = read_appended(item, data, root.get("compressor"))
        if len(values) != math.prod(dimensions):
            raise Fault(f"{path}: {item.get('Name')} has {len(values)} values")
        finite = [value for value in values if not math.isnan(value)]
        fields[item.get("Name")] = {
            "type": kind,
            "components": 1,
            "min": min(finite, default=math.nan),
            "max": max(finite, default=math.nan),
            "corners": [values[i + dimensions[0] * (j + dimensions[1] * k)]
                        for i, j, k in corners(dimensions)],
        }
    time = [float(item.text) for item in image.iterfind("FieldData/DataArray")
            if item.get("Name") == "TimeValue"]
    if len(time) != 1:
        raise Fault(f"{path} has no TimeValue")
    return {"time": time[0], "fields": fields}


def inflated(data, start):
    """A compressed array: how many blocks, their size, that of a shorter last one, what each takes,
    and the blocks."""
    word = lambda i: int.from_bytes(data[start + 8 * i:start + 8 * i + 8], "little")
    blocks, size, last = word(0), word(1), word(2)
    start, place = start + 8 * (3 + blocks), start + 8 * 3
    sizes = [int.from_bytes(data[place + 8 * i:place + 8 * i + 8], "little")
             for i in range(blocks)]
    parts = []
    for i, packed in enumerate(sizes):
        parts.append(zlib.decompress(data[start:start + packed]))
        if len(parts[-1]) != (last if last and i == blocks - 1 else size):
            raise Fault("a block of an array has another size than its header says")
        start += packed
    return b"".join(parts)


def read_appended(item, data, compressor):
    code, kind = ARRAY_CODES.get(item.get("type"), (None, None))
    if code is None:
        raise Fault(f"array {item.get('Name')} has type {item.get('type')}")
    start = int(item.get("offset"))
    values = array.array(code)
    if compressor:
        values.frombytes(inflated(data, start))
    else:
        size = int.from_bytes(data[start:start + 8], "little")
        values.frombytes(data[start + 8:start + 8 + size])
    return values, kind


def read_series(path):
    """The steps of a .pvd file from its .vti files."""
    steps = []
    for entry in xml.parse(path).getroot().iter("DataSet"):
        step = read_vti(os.path.join(os.path.dirname(path), entry.get("file")))
        if step["time"] != float(entry.get("timestep")):
            raise Fault(f"{path} puts {entry.get('file')} at {entry.get('timestep')}, the file "
                        f"says {step['time']}")
        steps.append(step)
    return steps


def same(a, b):
    """Equality of JSON values in which NaN equals NaN."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b or (isinstance(a, float) and isinstance(b, float)
                      and math.isnan(a) and math.isnan(b))


def close(a, b, rtol, atol):
    return a == b or abs(a - b) <= atol + rtol * abs(b)


def check_agreement(name_a, a, name_b, b, faults):
    for key in sorted(a.keys() | b.keys()):
        if not same(a.get(key), b.get(key)):
            faults.append(f"{key}: {name_a} has {shorten(a.get(key))}, "
                          f"{name_b} has {shorten(b.get(key))}")


def shorten(value):
    text = json.dumps(value)
    return text if len(text) < 400 else text[:400] + " ..."


def check_layout(result, expected, faults):
    """Dimensions, place, times, names and types."""
    if "dimensions" in expected and result["dimensions"] != expected["dimensions"]:
        faults.append(f"dimensions are {result['dimensions']}, not {expected['dimensions']}")
    for key in ("origin", "spacing", "times"):
        wanted = expected.get(key)
        if key == "times" and isinstance(wanted, int):
            if len(result[key]) != wanted:
                faults.append(f"there are {len(result[key])} times, not {wanted}")
        elif wanted is not None and not (
                len(wanted) == len(result[key])
                and all(close(a, b, TIME_TOLERANCE, 0) for a, b in zip(result[key], wanted))):
            faults.append(f"{key} is {result[key]}, not {wanted}")
    if "fields" in expected:
        for step in result["steps"]:
            types = {name: field["type"] for name, field in step["fields"].items()}
            if types != expected["fields"]:
                faults.append(f"t = {step['time']}: fields are {types}, not {expected['fields']}")


def check_exact(result, expected, faults):
    rtol, atol = expected.get("rtol", 1e-12), expected.get("atol", 0)
    names = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}
    for field, formula in expected.get("exact", {}).items():
        code = compile(formula.replace("^", "**"), formula, "eval")
        for step in result["steps"]:
            if field not in step["fields"]:
                faults.append(f"t = {step['time']}: there is no field '{field}'")
                continue
            for place, value in zip(corners(result["dimensions"]),
                                    step["fields"][field]["corners"]):
                x, y, z = (result["origin"][axis] + place[axis] * result["spacing"][axis]
                           for axis in range(3))
                exact = eval(code, {"__builtins__": {}},
                             {**names, "abs": abs, "x": x, "y": y, "z": z, "t": step["time"]})
                if not close(value, exact, rtol, atol):
                    faults.append(f"{field} at ({x}, {y}, {z}), t = {step['time']}: "
                                  f"{value}, not {exact}")


def check(arguments):
    faults = []
    with open(arguments.expect, encoding="utf-8") as file:
        expected = json.load(file)
    unknown = expected.keys() - {"dimensions", "origin", "spacing", "times", "fields", "exact",
                                 "rtol", "atol"}
    if unknown:
        raise Fault(f"{arguments.expect}: unknown keys {sorted(unknown)}")
    paraview = run_reader(arguments.pvpython, "read_pvd.py", arguments.pvd)
    vtk = run_reader(arguments.vtk_python, "read_vtkhdf.py", arguments.h5)
    check_agreement("ParaView", paraview, "VTK", vtk, faults)
    by_hand = {"steps": read_series(arguments.pvd)}
    check_agreement("ParaView", {"steps": paraview["steps"]}, "the file", by_hand, faults)
    check_layout(paraview, expected, faults)
    check_exact(paraview, expected, faults)
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("pvd", "h5", "pvpython", "vtk-python", "expect"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    try:
        faults = check(arguments)
    except (Fault, OSError, ValueError, xml.ParseError) as error:
        faults = [str(error)]
    for fault in faults[:20]:
        print(f"check_outputs: {fault}", file=sys.stderr)
    if len(faults) > 20:
        print(f"check_outputs: and {len(faults) - 20} more", file=sys.stderr)
    if faults:
        return 1
    print("check_outputs: ParaView, VTK and the files agree, and hold what is expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
