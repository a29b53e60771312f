#!/usr/bin/env python3
"""Writes what scipy makes of integrals of samples: tests/data/samples_reference.json.

The tests of the simulation `integration` compare with these values. Needs numpy and scipy, 1.11 or
later: earlier ones have another `simpson` for even numbers of samples.
"""

import json
import pathlib

import numpy
import scipy.integrate

UNIFORM = ((2,), (3,), (4,), (9,), (40,), (53,), (65,), (5, 4), (9, 3), (17, 33), (3, 2, 5),
           (5, 9, 3), (6, 4, 8))  # along x, y, z
UNEVEN = (2, 3, 4, 5, 8, 33, 40)
SPACINGS = (0.25, 0.1, 3.0)
RULES = {"trapezoid": scipy.integrate.trapezoid, "simpson": scipy.integrate.simpson,
         "romberg": scipy.integrate.romb}


def fits(rule, points):
    return rule != "romberg" or (points > 2 and (points - 1) & (points - 2) == 0)


def uniform(generator, shape):
    """Along each axis, and over all of them, the slowest one last."""
    data = numpy.round(generator.uniform(-1, 1, shape[::-1]), 3)
    found = {}
    for rule, function in RULES.items():
        for axis, points in enumerate(shape):
            if fits(rule, points):
                values = function(data, dx=SPACINGS[axis], axis=len(shape) - 1 - axis)
                found[f"{rule}.{'xyz'[axis]}"] = numpy.ravel(values).tolist()
        if all(fits(rule, points) for points in shape):
            values = data
            for axis in range(len(shape)):
                values = function(values, dx=SPACINGS[axis], axis=-1)
            found[f"{rule}.all"] = [float(values)]
    return {"points": list(shape), "samples": data.ravel().tolist(), "integrals": found}


def uneven(generator, points):
    data = numpy.round(generator.uniform(-1, 1, points), 3)
    positions = numpy.cumsum(numpy.round(generator.uniform(0.01, 1, points), 3)) - 2
    found = {f"{rule}.all": [float(RULES[rule](data, x=positions))]
             for rule in ("trapezoid", "simpson")}
    return {"points": [points], "samples": data.tolist(), "positions": positions.tolist(),
            "integrals": found}


def main():
    generator = numpy.random.default_rng(11)
    cases = {"spacings": SPACINGS,
             "cases": [uniform(generator, shape) for shape in UNIFORM]
             + [uneven(generator, points) for points in UNEVEN]}
    folder = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
    (folder / "samples_reference.json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
