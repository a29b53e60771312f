#!/usr/bin/env python3
"""Writes what dense matrices make of `poisson`: tests/data/poisson_reference.json.

Of equations with fields a and kappa, put together row by row: the solution, what some sweeps of the
textbook's methods leave, and the solution of nonlinear equations by scipy. The tests of the simulation
compare with these values. Needs numpy and scipy.
"""

import itertools
import json
import pathlib

import numpy
import scipy.optimize

# Sides: p, d or n, lower and upper of each axis. Formulas are read by numpy and by gridstride.
LINEAR = (
    {"points": (9,), "sides": "dn", "a": "1 + x*x", "kappa": "x", "f": "cos(5*x)", "g": "0.3 + x"},
    {"points": (8, 7), "sides": "ppdd", "a": "1.5", "kappa": "0", "f": "x*y + 1", "g": "x*x"},
    {"points": (7, 8), "sides": "dnnd", "a": "1 + x*y", "kappa": "x*x", "f": "exp(x)*cos(9*y)",
     "g": "x - y"},
    {"points": (6, 5, 5), "sides": "ppndnn", "a": "1 + x*(1 - x) + y*z", "kappa": "0.5",
     "f": "cos(3*x) + z", "g": "y*z"},
)
METHODS = (("jacobi", 1, 5), ("jacobi", 0.8, 18), ("gauss_seidel", 1, 5), ("gauss_seidel", 1, 17),
           ("sor", 1.6, 5), ("sor", 1.2, 33))
# a and g may depend on u; `reaction` is what stands beside the diffusion on the left.
NONLINEAR = (
    {"points": (17,), "sides": "dd", "a": "1 + u*u", "reaction": "0*u", "f": "3*cos(2*x)",
     "g": "2*x"},
    {"points": (9, 8), "sides": "dnnd", "a": "exp(u/4) + x*y", "reaction": "u*u*u - u*x",
     "f": "2 + x*y", "g": "x - y"},
    {"points": (8, 7), "sides": "ppdd", "a": "1/(1 + u*u)", "reaction": "exp(u)",
     "f": "sin(6*y)*4", "g": "y"},
)
NAMES = {name: getattr(numpy, name) for name in ("cos", "sin", "exp")}


class Grid:
    def __init__(self, case):
        self.points, self.sides = case["points"], case["sides"]
        self.dims = len(self.points)
        self.spacing = [1 / (n if self.sides[2 * a] == "p" else n - 1)
                        for a, n in enumerate(self.points)]
        self.places = list(itertools.product(*(range(n) for n in self.points[::-1])))
        self.places = [place[::-1] for place in self.places]  # x fastest
        self.number = {place: i for i, place in enumerate(self.places)}
        self.given = [any(self.end(p, a) is not None and self.sides[2 * a + self.end(p, a)] == "d"
                          for a in range(self.dims)) for p in self.places]
        self.colour = numpy.array([sum(p) % 2 for p in self.first_unknowns()])

    def end(self, place, axis):
        return {0: 0, self.points[axis] - 1: 1}.get(place[axis])

    def first_unknowns(self):
        """Places counted from the first unknown of each axis."""
        first = [1 if self.sides[2 * a] == "d" else 0 for a in range(self.dims)]
        return [[i - f for i, f in zip(p, first)] for p in self.places]

    def values(self, formula, **more):
        x = [numpy.array([p[a] * self.spacing[a] for p in self.places]) if a < self.dims else 0
             for a in range(3)]
        return eval(formula, dict(NAMES, x=x[0], y=x[1], z=x[2], **more)) \
            + numpy.zeros(len(self.places))

    def neighbours(self, place):
        """(number, axis, side, whether it is the mirror of a Neumann side) of each face."""
        for axis in range(self.dims):
            for side, step in enumerate((-1, 1)):
                near = list(place)
                near[axis] += step
                mirrored = not 0 <= near[axis] < self.points[axis]
                if mirrored and self.sides[2 * axis] == "p":
                    near[axis] %= self.points[axis]
                    mirrored = False
                elif mirrored:
                    near[axis] = place[axis] - step
                yield self.number[tuple(near)], axis, side, mirrored

    def equations(self, a, kappa, f, g):
        """A and b of all points; those that are given have u = g. Neumann sides have du/dn = g."""
        size = len(self.places)
        matrix, right = numpy.zeros((size, size)), f.copy()
        for i, place in enumerate(self.places):
            if self.given[i]:
                matrix[i, i], right[i] = 1, g[i]
                continue
            matrix[i, i] += kappa[i]
            for j, axis, _, mirrored in self.neighbours(place):
                h = self.spacing[axis]
                face = (a[i] + a[j]) / 2 / h**2
                matrix[i, i] += face
                matrix[i, j] -= face
                if mirrored:
                    right[i] += 2 * a[i] * g[i] / h
        return matrix, right

    def start(self, g):
        return numpy.where(self.given, g, 0.0)


def swept(grid, matrix, right, u, method, factor, sweeps):
    diagonal = numpy.diag(matrix)
    free = ~numpy.array(grid.given)
    for _ in range(sweeps):
        for colour in (None,) if method == "jacobi" else (0, 1):
            wanted = u + (right - matrix @ u) / diagonal
            move = free if colour is None else free & (grid.colour == colour)
            u = numpy.where(move, u + factor * (wanted - u), u)
    return u


def linear(case):
    grid = Grid(case)
    g = grid.values(case["g"])
    matrix, right = grid.equations(grid.values(case["a"]), grid.values(case["kappa"]),
                                   grid.values(case["f"]), g)
    sweeps = [{"method": method, "relaxation": factor, "iterations": count,
               "u": swept(grid, matrix, right, grid.start(g), method, factor, count).tolist()}
              for method, factor, count in METHODS]
    return {**case, "u": numpy.linalg.solve(matrix, right).tolist(), "sweeps": sweeps}


def nonlinear(case):
    grid = Grid(case)
    f, g = grid.values(case["f"]), grid.values(case["g"])

    def residual(u):
        matrix, right = grid.equations(grid.values(case["a"], u=u), 0 * f, f, g)
        react = numpy.where(grid.given, 0, grid.values(case["reaction"], u=u))
        return matrix @ u + react - right

    found = scipy.optimize.root(residual, grid.start(g), method="hybr", tol=1e-14)
    for _ in range(3):  # to rounding
        slope = scipy.optimize.approx_fprime(found.x, residual, 1e-7)
        found.x = found.x - numpy.linalg.solve(slope, residual(found.x))
    assert numpy.abs(residual(found.x)).max() < 1e-10
    return {**case, "u": found.x.tolist()}


def main():
    found = {"linear": [linear(case) for case in LINEAR],
             "nonlinear": [nonlinear(case) for case in NONLINEAR]}
    path = pathlib.Path(__file__).parents[1] / "tests/data/poisson_reference.json"
    path.write_text(json.dumps(found) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
