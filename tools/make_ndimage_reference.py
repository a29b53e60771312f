#!/usr/bin/env python3
"""Writes what scipy makes of some signals and filters: tests/data/ndimage_*.json.

The tests of the kernels and of the simulation `convolution` compare with these values. Taps that
scipy knows only to a few digits, those of high degrees, are computed in rational numbers. Needs
numpy and scipy.
"""

import argparse
import fractions
import json
import math
import pathlib

import numpy
import scipy.ndimage
import scipy.signal

MODES = ("reflect", "mirror", "nearest", "wrap", "constant")
SHAPES = ((1,), (2,), (23,), (7, 5), (4, 3, 2))  # points along x, y, z


def random_values(generator, *shape):
    """Numbers with few digits, so that the files stay small."""
    return numpy.round(generator.uniform(-1, 1, shape), 4)


def convolve1d_cases():
    """Taps fewer and more than the points, of even and odd numbers, about every center."""
    generator = numpy.random.default_rng(1)
    cases = []
    for shape in SHAPES:
        for axis in range(len(shape)):
            for count in (1, 2, 3, 8, 17):
                for mode in MODES:
                    signal = random_values(generator, *shape[::-1])
                    taps = random_values(generator, count)
                    origin = int(generator.integers(-(count // 2), (count - 1) // 2 + 1))
                    out = scipy.ndimage.convolve1d(signal, taps, axis=len(shape) - 1 - axis,
                                                   mode=mode, cval=0.75, origin=origin)
                    cases.append({"points": list(shape) + [1] * (3 - len(shape)), "axis": axis,
                                  "boundary": mode, "value": 0.75, "center": count // 2 + origin,
                                  "taps": taps.tolist(), "in": signal.ravel().tolist(),
                                  "out": out.ravel().tolist()})
    return cases


def savitzky_golay(window, degree, derivative):
    """Weights of the points -m ... m, exactly: the fit's normal equations in rational numbers."""
    half = window // 2
    points = [fractions.Fraction(i) for i in range(-half, half + 1)]
    matrix = [[sum(p ** (i + j) for p in points) for j in range(degree + 1)]
              for i in range(degree + 1)]
    unit = [fractions.Fraction(int(i == derivative)) for i in range(degree + 1)]
    solution = solve(matrix, unit)
    factor = math.factorial(derivative)
    return [float(factor * sum(c * p ** i for i, c in enumerate(solution))) for p in points]


def central_difference(order, accuracy):
    """Weights of the points -r ... r, exactly: the conditions of Taylor's series."""
    radius = (order + 1) // 2 - 1 + accuracy // 2
    points = [fractions.Fraction(i) for i in range(-radius, radius + 1)]
    matrix = [[p ** i for p in points] for i in range(len(points))]
    unit = [fractions.Fraction(math.factorial(order) if i == order else 0)
            for i in range(len(points))]
    return [float(weight) for weight in solve(matrix, unit)]


def solve(matrix, right):
    """Gauss's elimination in rational numbers."""
    rows = [row + [value] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = next(k for k in range(i, len(rows)) if rows[k][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k, row in enumerate(rows):
            if k != i and row[i] != 0:
                rows[k] = [a - row[i] * b for a, b in zip(row, rows[i])]
    return [row[-1] for row in rows]


def gaussian(sigma, order, truncate):
    """Taps of scipy.ndimage.gaussian_filter1d: what it makes of a single one."""
    radius = int(truncate * sigma + 0.5)
    one = numpy.zeros(2 * radius + 1)
    one[radius] = 1
    return scipy.ndimage.gaussian_filter1d(one, sigma, order=order, truncate=truncate,
                                           mode="constant").tolist()


def taps_cases():
    """The taps themselves, as a filter has them: against the direction of the weights."""
    cases = []
    for arguments in ((1, 0, 4), (2.5, 1, 4), (0.7, 3, 5), (10, 2, 3), (0.1, 0, 4), (3, 5, 4)):
        cases.append({"filter": "gaussian", "arguments": arguments, "taps": gaussian(*arguments)})
    for arguments in ((1, 0, 0), (5, 2, 0), (7, 6, 6), (21, 4, 2), (31, 10, 3), (101, 6, 0),
                      (101, 16, 1)):
        cases.append({"filter": "savitzky_golay", "arguments": arguments,
                      "taps": savitzky_golay(*arguments)[::-1]})
    for arguments in ((1, 2), (2, 2), (1, 8), (3, 4), (4, 6), (8, 16)):
        cases.append({"filter": "derivative", "arguments": arguments,
                      "taps": central_difference(*arguments)[::-1]})
    return cases


def filter_cases():
    """Whole runs: on points 0, 1, 2, ... along each axis, so that derivatives are scipy's."""
    x, y = numpy.arange(40.0), numpy.arange(25.0)
    formula = "sin(0.9*x + 0.3*y) + 0.25*cos(0.21*x*y + 1)"
    line = numpy.sin(0.9 * x) + 0.25 * numpy.cos(1.0)
    column, row = y[:, numpy.newaxis], x[numpy.newaxis, :]
    image = numpy.sin(0.9 * row + 0.3 * column) + 0.25 * numpy.cos(0.21 * row * column + 1)
    ndimage = scipy.ndimage
    cases = []

    def add(signal, mode, filters, out):
        cases.append({"points": list(signal.shape[::-1]), "signal": formula, "mode": mode,
                      "value": 0.75, "filters": filters, "out": out.ravel().tolist()})

    for mode in MODES:
        how = {"mode": mode, "cval": 0.75}
        add(line, mode, "{gaussian: {sigma: 1.5}}", ndimage.gaussian_filter1d(line, 1.5, **how))
        add(line, mode, "{gaussian: {sigma: 2, order: 2, truncate: 3}}",
            ndimage.gaussian_filter1d(line, 2, order=2, truncate=3, **how))
        add(line, mode, "{box: {size: 6, origin: -2}}",
            ndimage.uniform_filter1d(line, 6, origin=-2, **how))
        add(line, mode, "{taps: {values: [0.5, -1, 2, 0.25], origin: 1}}",
            ndimage.convolve1d(line, [0.5, -1, 2, 0.25], origin=1, **how))
        add(line, mode, "{savitzky_golay: {window: 9, degree: 3, derivative: 1}}",
            ndimage.convolve1d(line, scipy.signal.savgol_coeffs(9, 3, deriv=1), **how))
    add(image, "reflect", "{gaussian: {axis: [x, y], sigma: 1}}",
        ndimage.gaussian_filter(image, 1, mode="reflect"))
    add(image, "wrap", "[{box: {axis: y, size: 5}}, {gaussian: {axis: x, sigma: 2, order: 1}}]",
        ndimage.gaussian_filter1d(ndimage.uniform_filter1d(image, 5, axis=0, mode="wrap"), 2,
                                  axis=1, order=1, mode="wrap"))
    add(line, "nearest", "{savitzky_golay: {window: 7, degree: 2}}",
        scipy.signal.savgol_filter(line, 7, 2, mode="nearest"))
    return cases


def main():
    """Writes both files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(__file__).resolve().parents[1] / "tests/data"
    parser.add_argument("--output", default=default, type=pathlib.Path, help="the folder")
    folder = parser.parse_args().output

    def write(name, content):
        (folder / name).write_text(json.dumps(content, separators=(",", ":")) + "\n",
                                   encoding="utf-8")

    write("ndimage_convolve1d.json", {"cases": convolve1d_cases()})
    write("ndimage_filters.json", {"taps": taps_cases(), "cases": filter_cases()})


if __name__ == "__main__":
    main()
