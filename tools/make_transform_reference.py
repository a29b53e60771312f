#!/usr/bin/env python3
"""Writes what numpy and scipy make of some data: tests/data/transform_reference.json.

The tests of the simulation `transform` compare with these values. Needs numpy and scipy.
"""

import json
import pathlib

import numpy
import scipy.integrate

SHAPES = ((1,), (2,), (3,), (40,), (53,), (7, 6), (8, 5), (5, 4, 3), (2, 3, 6))  # along x, y, z
FRACTIONS = [0, 0.1, 0.5, 0.75, 0.99, 1]
BINS = 7
SPACING = 0.25


def integral(rule, data):
    """Over all axes, the last one first."""
    while data.ndim > 0:
        data = rule(data, dx=SPACING, axis=-1)
    return float(data)


def case(generator, shape):
    data = numpy.round(generator.uniform(-1, 1, shape[::-1]), 3)
    other = numpy.round(generator.uniform(-1, 1, shape[::-1]), 3)
    flat = data.ravel()
    counts, edges = numpy.histogram(flat, BINS)
    ranged, _ = numpy.histogram(other.ravel(), BINS, (-0.5, 0.5))
    result = {
        "points": list(shape), "a": flat.tolist(), "b": other.ravel().tolist(),
        "sum": numpy.cumsum(flat).tolist(),
        "maximum": numpy.maximum.accumulate(flat).tolist(),
        "sorted": numpy.sort(data, axis=None).tolist(),
        "difference": {},
        "numbers": {
            "a.minimum": flat.min(), "a.maximum": flat.max(), "a.sum": flat.sum(),
            "a.mean": flat.mean(), "a.variance": flat.var(), "a.l1": numpy.abs(flat).sum(),
            "a.l2": numpy.sqrt((flat ** 2).sum()), "a.max_norm": numpy.abs(flat).max(),
            "a.dot.b": float(flat @ other.ravel()),
            "a.trapezoid": integral(scipy.integrate.trapezoid, data),
            "a.simpson": integral(scipy.integrate.simpson, data),
            **{f"a.q{q}": float(numpy.quantile(flat, q)) for q in FRACTIONS},
        },
        "fractions": FRACTIONS, "bins": BINS, "spacing": SPACING,
        "counts": counts.tolist(), "edges": edges.tolist(), "ranged_counts": ranged.tolist(),
    }
    for name, place in (("where_max", data.argmax()), ("where_min", data.argmin())):
        result["numbers"][f"a.{name}"] = float(flat[place])
        at = numpy.unravel_index(place, data.shape)[::-1]
        for axis, index in zip("xyz", at):
            result["numbers"][f"a.{name}.{axis}"] = float(index) * SPACING
    if len(shape) == 1:
        result["integral"] = scipy.integrate.cumulative_trapezoid(
            flat, dx=SPACING, initial=0).tolist()
    for axis in range(len(shape)):
        for order in (1, 2):
            if shape[axis] > order:
                found = numpy.diff(data, n=order, axis=len(shape) - 1 - axis)
                result["difference"][f"{'xyz'[axis]}{order}"] = found.ravel().tolist()
    result["numbers"] = {name: float(value) for name, value in result["numbers"].items()}
    return result


def main():
    generator = numpy.random.default_rng(7)
    folder = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
    cases = {"cases": [case(generator, shape) for shape in SHAPES]}
    (folder / "transform_reference.json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
