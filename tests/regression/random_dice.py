"""What random configs are made of: formulas, grids, sides, files, outputs."""

import dataclasses
import random

import numpy

EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
LARGEST = {1: 160, 2: 34, 3: 13}  # points of an axis


@dataclasses.dataclass
class Case:
    """A legal config, and what its runs have to agree in."""

    config: dict
    files: dict = dataclasses.field(default_factory=dict)    # arrays of numpy, bytes or texts, by their names
    ranks: list = dataclasses.field(default_factory=list)    # parts of runs that ranks share
    changes: list = dataclasses.field(default_factory=list)  # of the config, that leave the bits as they are
    rows: dict = dataclasses.field(default_factory=dict)     # of kernels that have the same bits, on a GPU
    others: list = dataclasses.field(default_factory=list)   # (changes, bound) of other methods
    bound: float = 0     # of the largest value, between the host and a GPU, and numpy; 0 where there is none
    selects: bool = False  # by values, which are others on a GPU within the bound
    numbers: tuple = ()  # diagnostics that are compared in the place of fields, as modes are not unique


class Dice(random.Random):
    def chance(self, part):
        return self.random() < part

    def number(self, least, most, digits=3):
        return round(self.uniform(least, most), digits)

    def wave(self, name):
        return f"{self.choice(('sin', 'cos'))}({self.number(0.5, 7, 2)}*{name} + {self.number(0, 3, 2)})"

    def smooth(self, names):
        """A formula of these names between -5 and 5."""
        terms = [f"{self.number(-1, 1)}*{self.wave(self.choice(names))}" for _ in range(self.randint(1, 2))]
        if self.chance(0.4):
            terms.append(f"{self.number(-1, 1)}*{self.wave(self.choice(names))}*{self.wave(self.choice(names))}")
        if self.chance(0.3):
            terms.append(f"exp(-{self.number(1, 9)}*({self.choice(names)} - {self.number(0, 1)})^2)")
        if self.chance(0.2):
            terms.append(f"if({self.choice(names)} < {self.number(-0.5, 1)}, {self.number(-1, 1)}, 0.25)")
        return " + ".join(terms)

    def positive(self, names):
        """A formula between 0.5 and 4.5."""
        parts = [f"{self.choice((0.4, 0.7, 1))}*{self.wave(self.choice(names))}" for _ in range(self.randint(1, 2))]
        return "2.5 + " + " + ".join(parts)

    def grid(self, least=4, with_levels=False):
        """Few points, or now and then as many as ranks need to cut levels of multigrid."""
        dims = self.choice((1, 2, 2, 3))
        points = [self.randint(least, LARGEST[dims]) for _ in range(dims)]
        if with_levels and dims == 2 and self.chance(0.1):
            points = [self.randint(180, 210), self.randint(180, 260)]
        lower = [self.choice((0, 0, self.number(-1, 1, 2))) for _ in points]
        upper = [round(low + self.choice((1, 1, 2, self.number(0.6, 3, 2))), 2) for low in lower]
        return {"points": points, "lower": lower, "upper": upper}

    def sides(self, grid, kinds, value=None, around=("periodic",)):
        """Of each axis; `kinds` are names alone, or pairs of a name and whether it has a value."""
        def one(axis):
            kind, has_value = self.choice(kinds)
            return {kind: value(axis)} if has_value else kind

        found = {}
        for axis in axes(grid):
            if self.chance(0.3):
                found[axis] = self.choice(around)
            elif self.chance(0.3):
                found[axis] = one(axis)
            else:
                found[axis] = {"lower": one(axis), "upper": one(axis)}
        return found

    def value_on_side(self, grid, in_time=False):
        """Gives formulas of the other axes, and of time where that is asked for."""
        def formula(axis):
            names = [name for name in axes(grid) if name != axis] + (["t"] if in_time else [])
            return self.smooth(names) if names and self.chance(0.6) else self.choice((0, self.number(-1, 1)))
        return formula

    def point(self, grid):
        return [self.number(low, high, 2) for low, high in zip(grid["lower"], grid["upper"])]

    def numbers(self, shape, least=-1, most=1, dtype=None):
        generator = numpy.random.default_rng(self.getrandbits(32))
        return generator.uniform(least, most, shape).astype(dtype or self.choice(("f8", "f8", "f4")))

    def array(self, files, name, grid, least=-1, most=1):
        """A file with a value for each point, as numpy has it, or bare numbers."""
        shape = grid["points"][::-1]
        values = self.numbers(shape, least, most)
        if self.chance(0.6):
            files[f"{name}.npy"] = values
            return {"file": f"{name}.npy"}
        files[f"{name}.raw"] = values.tobytes()
        return {"file": f"{name}.raw", "type": {8: "float64", 4: "float32"}[values.itemsize], "shape": shape}

    def parts(self, grid, several=True):
        """Two ways to share a grid: slabs, and pencils or bricks where they are taken."""
        dims = len(grid["points"])
        ways = [[1] * (dims - 1) + [count] for count in (2, 3, 5)]
        if several and dims == 2:
            ways += [[2, 2], [3, 2], [3, 1]]
        if several and dims == 3:
            ways += [[1, 2, 2], [2, 1, 2], [2, 2, 2], [1, 3, 2]]
        return self.sample(ways, 2)

    def diagnostics(self, grid, field="u"):
        kinds = [{"probe": {"at": self.point(grid), "field": field}},
                 {"histogram": {"field": field, "bins": self.randint(1, 70)}},
                 {"quantiles": {"field": field, "at": [0, 0.31, 0.5, 1]}}, {"integral": f"{field}^2*x"},
                 {"minimum": {"of": f"{field} - x", "where": True}}, {"maximum": {"of": f"{field}^2", "where": True}}]
        if self.chance(0.5):  # what ranks find by parts
            return self.choice((["norms"], ["norms"], []))
        return ["norms"] + self.sample(kinds, self.randint(0, 3))

    def first_values(self, files, name, grid):
        """A formula of the constant s, or a file."""
        return f"s*({self.smooth(axes(grid))})" if self.chance(0.7) else self.array(files, name, grid)

    def output(self, grid, precision):
        found = {"formats": self.choice((["hdf5", "vti"], ["vti", "hdf5"], ["hdf5"]))}
        if self.chance(0.2):
            found["every_nth_point"] = [self.randint(1, 3) for _ in grid["points"]]
        if self.chance(0.2) and precision == "float64":
            found["precision"] = "float32"
        if self.chance(0.2):
            found["compression"] = self.choice((1, 6))
        return found


def axes(grid):
    return list("xyz"[:len(grid["points"])])


def lengths(grid):
    return [high - low for low, high in zip(grid["lower"], grid["upper"])]


def spacing(grid):
    """The least one."""
    return min(length / count for length, count in zip(lengths(grid), grid["points"]))
