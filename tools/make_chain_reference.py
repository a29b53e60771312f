#!/usr/bin/env python3
"""Writes random chains of `transform` and what numpy and scipy make of them: tests/data/random_chains.json.

All data, factors and taps are small whole numbers, and the points are 12 apart, so that every value
on the way is a whole number below 2^24 or, where sums are in float64, 2^50: results are equal to the
last bit, whatever the order of the sums, in float32 too. Needs numpy and scipy 1.11 or later.
"""

import json
import pathlib

import numpy
import scipy.integrate
import scipy.ndimage

CHAINS = 30
SPACING = 12.0
MOST = 2 ** 21  # of any value: what is on the way to one stays below 2^24
MOST_SUM = 2 ** 24
MODES = ("reflect", "mirror", "nearest", "wrap", "constant")
FORMULAS = {"{p} + {q}": lambda p, q: p + q, "{p} - 2*{q}": lambda p, q: p - 2 * q,
            "abs({p}) + 1": lambda p, q: numpy.abs(p) + 1, "max({p}, {q})": numpy.maximum,
            "{p}*{q} - 3": lambda p, q: p * q - 3,
            "if({p} > {q}, {p}, -{q})": lambda p, q: numpy.where(p > q, p, -q),
            "mod({p}, 7)": lambda p, q: numpy.mod(p, 7)}
TYPES = {"int8": "i1", "int16": "i2", "int32": "i4", "int64": "i8", "float32": "f4", "float64": "f8"}


class Chain:
    def __init__(self, generator):
        self.random = generator
        dims = generator.integers(1, 4)
        most = (90, 17, 8)[dims - 1]
        self.shape = tuple(int(n) for n in generator.integers(4, most + 1, dims))  # z, y, x
        self.arrays, self.scanned, self.origins, self.files = {}, set(), {}, {}
        self.steps = []
        for name in "ab":
            data = generator.integers(-9, 10, self.shape).astype(float)
            self.add(name, data)
            kind = self.one_of(list(TYPES))
            self.files[name] = {"type": kind, "byte_order": self.one_of(["little", "big"]),
                                "values": data.astype(int).ravel().tolist()}
        for _ in range(generator.integers(3, 8)):
            getattr(self, self.one_of(["formula", "formula", "filter", "difference", "scan"]))()

    def one_of(self, choices):
        return choices[self.random.integers(len(choices))]

    def add(self, name, data, origin=None):
        self.arrays[name] = data
        self.origins[name] = origin or (0.0,) * data.ndim

    def new_name(self):
        return f"c{len(self.arrays)}"

    def alike(self, name):
        return [n for n, data in self.arrays.items() if data.shape == self.arrays[name].shape
                and self.origins[n] == self.origins[name]]

    def fits(self, data):
        return numpy.abs(data).max() < MOST

    def axis(self, dims, axis):
        return "xyz"[dims - 1 - axis]

    def formula(self):
        p = self.one_of(list(self.arrays))
        q = self.one_of(self.alike(p))
        text = self.one_of(list(FORMULAS))
        data = FORMULAS[text](self.arrays[p], self.arrays[q])
        if not self.fits(data):
            return
        name = self.new_name()
        self.steps.append({"formula": {name: text.format(p=p, q=q)}})
        self.add(name, data, self.origins[p])
        if p in self.scanned or q in self.scanned:
            self.scanned.add(name)

    def filter(self):
        name = self.one_of([n for n in self.arrays if n not in "ab"] or ["a"])
        data = self.arrays[name]
        axis = int(self.random.integers(data.ndim))
        taps = self.random.integers(-2, 3, 2 * self.random.integers(0, 3) + 1)
        mode = self.one_of(MODES)
        if len(taps) > data.shape[axis] or (name in self.scanned and mode == "wrap"):
            return
        value = int(self.random.integers(-3, 4))
        found = scipy.ndimage.convolve1d(data, taps.astype(float), axis, mode=mode, cval=value)
        if not self.fits(found) or numpy.abs(taps).sum() * numpy.abs(data).max() >= MOST_SUM:
            return
        options = {"values": taps.tolist(), "axis": self.axis(data.ndim, axis)}
        self.steps.append({"filter": {name: [{"taps": options}]}, "mode": mode,
                           **({"value": value} if mode == "constant" else {})})
        self.arrays[name] = found

    def difference(self):
        of = self.one_of(list(self.arrays))
        data = self.arrays[of]
        axis, order = int(self.random.integers(data.ndim)), int(self.random.integers(1, 4))
        if data.shape[axis] <= order + 2:
            return
        name = self.new_name()
        self.steps.append({"difference": {name: {"of": of, "axis": self.axis(data.ndim, axis),
                                                 "order": order}}})
        origin = list(self.origins[of])
        origin[axis] += order * SPACING / 2
        self.add(name, numpy.diff(data, order, axis), tuple(origin))
        if of in self.scanned:
            self.scanned.add(name)

    def scan(self):
        of = self.one_of(list(self.arrays))
        data = self.arrays[of]
        operation = self.one_of(["sum", "maximum"])
        function = numpy.cumsum if operation == "sum" else numpy.maximum.accumulate
        found = function(data.ravel()).reshape(data.shape)
        if not self.fits(found) or numpy.abs(data).sum() >= MOST_SUM:
            return
        name = self.new_name()
        self.steps.append({"scan": {name: {"of": of, "operation": operation}}})
        self.add(name, found, self.origins[of])
        self.scanned.add(name)

    def numbers(self, reduce):
        """Appends reductions; returns what they find."""
        found = {}
        for name in list(self.arrays)[-3:]:
            data = self.arrays[name]
            other = self.one_of(self.alike(name))
            reduce += [{"moments": name}, {"where_max": name}, {"integral": {"of": name}},
                       {"integral": {"of": name, "rule": "simpson"}}]
            found |= {f"{name}.minimum": data.min(), f"{name}.maximum": data.max(),
                      f"{name}.sum": data.sum(), f"{name}.where_max": data.max()}
            place = numpy.unravel_index(data.argmax(), data.shape)
            for axis, index in enumerate(place):
                found[f"{name}.where_max.{self.axis(data.ndim, axis)}"] = (
                    self.origins[name][axis] + index * SPACING)
            for rule in ("trapezoid", "simpson"):
                value = data
                while value.ndim > 0:
                    value = getattr(scipy.integrate, rule)(value, dx=SPACING)
                found[f"{name}.{rule}"] = value
            if other != name:
                reduce.append({"dot": [name, other]})
                found[f"{name}.dot.{other}"] = (data * self.arrays[other]).sum()
        assert all(abs(value) < 2 ** 50 for value in found.values())
        return {key: float(value) for key, value in found.items()}

    def case(self):
        reduce = []
        numbers = self.numbers(reduce)
        return {"shape": self.shape, "files": self.files, "steps": self.steps, "reduce": reduce,
                "chunk": int(self.random.integers(8, 2000)), "numbers": numbers,
                "arrays": {name: data.ravel().tolist() for name, data in
                           list(self.arrays.items())[-3:]}}


def whole(data):
    """Numbers without their .0."""
    if isinstance(data, dict):
        return {key: whole(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [whole(value) for value in data]
    return int(data) if isinstance(data, float) and data.is_integer() else data


def main():
    generator = numpy.random.default_rng(5)
    folder = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"
    cases = [whole(Chain(generator).case()) for _ in range(CHAINS)]
    text = json.dumps({"spacing": SPACING, "cases": cases}, separators=(",", ":"))
    (folder / "random_chains.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
