"""What configs without time come to, by numpy and the pages of the documentation alone."""

import math
import re

import numpy

from random_dice import axes

MOST_UNKNOWNS = 1200  # of matrices that numpy takes as a whole
FUNCTIONS = {name: getattr(numpy, name) for name in ("sin", "cos", "exp", "where", "sqrt", "abs")}
WIDENED = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}


def value(text, names):
    """Of a formula."""
    return eval(re.sub(r"\bif\(", "where(", str(text)).replace("^", "**"),  # pylint: disable=eval-used
                {**FUNCTIONS, **names})


def numbers(source, files, names, shape):
    """Of a formula or a file."""
    if not isinstance(source, dict) or "file" not in source:
        return numpy.broadcast_to(value(source, names), shape).astype(float)
    content = files[source["file"]]
    if isinstance(content, bytes):
        content = numpy.frombuffer(content, source["type"]).reshape(source["shape"])
    return content.astype(float)


class Points:
    """Of a grid: `sides` has "p", or the two ends of an axis by "d" and "n"; axis `a` of an array is -1 - a."""

    def __init__(self, grid, sides):
        points = grid["points"]
        self.sides = [ends * 2 if ends == "p" else ends for ends in sides]
        self.spacing = [(high - low) / (n if ends[0] == "p" else n - 1)
                        for low, high, n, ends in zip(grid["lower"], grid["upper"], points, self.sides)]
        self.shape = tuple(points[::-1])
        along = [low + h * numpy.arange(n) for low, h, n in zip(grid["lower"], self.spacing, points)]
        self.coordinates = dict(zip("xyz", numpy.meshgrid(*along[::-1], indexing="ij")[::-1]))
        self.weights, self.given = numpy.ones(self.shape), numpy.zeros(self.shape, bool)
        for axis, ends in enumerate(self.sides):
            for end, kind in enumerate(ends):
                if kind != "p":
                    self.weights[self.side(axis, end)] /= 2
                self.given[self.side(axis, end)] |= kind == "d"

    @staticmethod
    def side(axis, end):
        return (Ellipsis, -end) + (slice(None),) * axis

    def operator(self, a, kappa):
        """-div(a grad u) + kappa u, a row for each point. Beyond a side without a slope u is what it is inside."""
        result = numpy.diag(kappa.ravel() * 1.0)
        places = numpy.arange(a.size).reshape(self.shape)
        for axis, ends in enumerate(self.sides):
            for step in (-1, 1):
                to = numpy.roll(places, -step, -1 - axis)
                if ends[0] != "p":
                    end = self.side(axis, step == 1)
                    to[end] = numpy.roll(places, step, -1 - axis)[end]
                flow = (a.ravel() + a.ravel()[to.ravel()]) / 2 / self.spacing[axis] ** 2
                numpy.add.at(result, (places.ravel(), places.ravel()), flow)
                numpy.add.at(result, (places.ravel(), to.ravel()), -flow)
        return result

    def symmetric(self, a, kappa):
        """Of the points that no side gives, by the roots of their weights."""
        free, roots = ~self.given.ravel(), numpy.sqrt(self.weights.ravel())
        return (self.operator(a, kappa) * roots[:, None] / roots)[numpy.ix_(free, free)]


def points_of(config):
    """With the kinds of sides and their values, by axis and end."""
    kinds, given = [], {}
    for axis, name in enumerate(axes(config["grid"])):
        side = config["boundary"].get(name, {"dirichlet": 0})
        if side == "periodic":
            kinds.append("p")
            continue
        ends = [side.get(end, side) for end in ("lower", "upper")]
        kinds.append("".join(next(iter(end))[0] for end in ends))
        given.update({(axis, end): next(iter(one.values())) for end, one in enumerate(ends)})
    return Points(config["grid"], kinds), given


def coefficients(config, files, points):
    parameters = config["parameters"]
    return [numbers(parameters.get(key, default), files, points.coordinates, points.shape)
            for key, default in (("diffusivity", 1), ("reaction", 0))]


def eigenvalues(config, files):
    points, _ = points_of(config)
    if points.given.size > MOST_UNKNOWNS:
        return {}
    parameters = config["parameters"]
    found = numpy.linalg.eigvalsh(points.symmetric(*coefficients(config, files, points)))
    if parameters.get("which") == "largest":
        found = found[::-1]
    return {"first": found[0], "last": found[parameters["modes"] - 1]}


def poisson(config, files):
    points, sides = points_of(config)
    if points.given.size > MOST_UNKNOWNS or "imbalance" in config["parameters"]:
        return {}
    a, kappa = coefficients(config, files, points)
    right = numbers(config["parameters"]["source"], files, points.coordinates, points.shape).copy()
    u, is_set = numpy.zeros(points.shape), numpy.zeros(points.shape, bool)
    for (axis, end), text in sides.items():
        at = points.side(axis, end)
        there = numpy.broadcast_to(value(text, points.coordinates), points.shape)[at]
        if points.sides[axis][end] == "n":
            right[at] += 2 * a[at] * there / points.spacing[axis]
        else:
            u[at] = numpy.where(is_set[at], u[at], there)  # where two of them meet the first axis counts
            is_set[at] = True
    matrix, free = points.operator(a, kappa), ~points.given.ravel()
    left = right.ravel()[free] - matrix[free] @ numpy.where(free, 0, u.ravel())
    u.ravel()[free] = numpy.linalg.solve(matrix[numpy.ix_(free, free)], left)
    return {"u": u}


def matrix_of(source, files):
    if "stencil" in source:
        shape = source["points"][::-1]
        places = numpy.indices(shape).reshape(len(shape), -1).T
        apart = abs(places[:, None] - places[None])
        far = apart.max(-1) if source["stencil"] in ("9-point", "27-point") else apart.sum(-1)
        around = int(source["stencil"].split("-")[0]) - 1
        return numpy.where(far == 0, around, numpy.where(far == 1, -1, 0))
    head, _, size, *entries = files[source["file"]].splitlines()
    matrix = numpy.zeros([int(word) for word in size.split()[:2]])
    for line in entries:
        i, j, element = line.split()
        for row, column in {(i, j), (j, i)} if head.endswith("symmetric") else ((i, j),):
            matrix[int(row) - 1, int(column) - 1] += float(element)
    return matrix


def linear_system(config, files):
    matrix, rhs = matrix_of(config["parameters"]["matrix"], files), config["parameters"]["rhs"]
    if len(matrix) > MOST_UNKNOWNS:
        return {}
    i, j = numpy.indices((len(matrix), rhs.get("count", 1)))
    right = files[rhs["file"]] if "file" in rhs else value(rhs["expression"], {"i": i, "j": j})
    return {"x": numpy.linalg.solve(matrix, right)}


def taps_of(kind, say, h):
    """Of a filter, the one for the point farthest behind first, and how many are behind the point."""
    if kind == "taps":
        return numpy.array(say["values"])[::-1], len(say["values"]) // 2
    if kind == "box":
        return numpy.full(say["size"], 1 / say["size"]), say["size"] // 2
    if kind == "gaussian":
        radius = int(4 * say["sigma"] + 0.5)
        x = numpy.arange(-radius, radius + 1)
        bell, factor = numpy.exp(-0.5 * (x / say["sigma"]) ** 2), numpy.polynomial.Polynomial([1])
        for _ in range(say["order"]):
            factor = factor.deriv() - factor * numpy.polynomial.Polynomial([0, 1 / say["sigma"] ** 2])
        return (bell / bell.sum() * factor(x))[::-1] / h ** say["order"], radius
    if kind == "derivative":
        radius, order = (say["order"] + 1) // 2 - 1 + say["accuracy"] // 2, say["order"]
        powers = numpy.vander(numpy.arange(-radius, radius + 1.0), increasing=True).T
        return numpy.linalg.solve(powers, math.factorial(order) * numpy.eye(len(powers))[order]) / h**order, radius
    radius = say["window"] // 2
    return numpy.linalg.pinv(numpy.vander(numpy.arange(-radius, radius + 1.0), say["degree"] + 1, True))[0], radius


def filtered(data, made, mode, beyond, spacing):
    for one in made:
        (kind, say), = one.items()
        axis = -1 - "xyz".index(say["axis"])
        taps, behind = taps_of(kind, say, spacing["xyz".index(say["axis"])])
        margin = [(0, 0)] * data.ndim
        margin[axis] = (behind, len(taps) - 1 - behind)
        more = {"constant_values": beyond} if mode == "constant" else {}
        wide = numpy.pad(data, margin, WIDENED[mode], **more)
        data = numpy.apply_along_axis(numpy.correlate, axis, wide, taps, "valid")
    return data


def on_points(config):
    """Without periodic axes."""
    return Points(config["grid"], ["dd"] * len(config["grid"]["points"]))


def convolution(config, files):
    points, parameters = on_points(config), config["parameters"]
    signal = numbers(parameters["signal"], files, points.coordinates, points.shape)
    return {"u": filtered(signal, parameters["filters"], parameters["mode"], parameters.get("value", 0), points.spacing)}


def transform(config, files):
    points = on_points(config)
    arrays = {name: numbers(source, files, points.coordinates, points.shape)
              for name, source in config["input"].items()}
    for step in config["steps"]:
        for name, text in step.get("formula", {}).items():
            arrays[name] = value(text, {**points.coordinates, **arrays})
        for name, made in step.get("filter", {}).items():
            arrays[name] = filtered(arrays[name], made, step["mode"], 0, points.spacing)
        for name, say in step.get("difference", {}).items():
            arrays[name] = numpy.diff(arrays[say["of"]], say["order"], axis=-1 - "xyz".index(say["axis"]))
    return {name: arrays[name] for name in config["output"]["fields"] if name in arrays}


def integration(config, _):
    """Of a sum of s, a bell of the first variable and sines: each of one variable."""
    parameters = config["parameters"]
    if parameters["rule"] in ("monte_carlo", "quasi_monte_carlo", "vegas"):
        return {}
    ranges, sweep = parameters["variables"], parameters["sweep"]["s"]
    x, weights = numpy.polynomial.legendre.leggauss(40)

    def along(name, text):
        low, high = ranges[name]
        return weights @ numpy.broadcast_to(value(text, {name: (low + high + (high - low) * x) / 2}), x.shape) / 2

    volume = math.prod(high - low for low, high in ranges.values())
    terms = parameters["integrand"].split(" + ")[1:]
    inner = sum(along(next(name for name in ranges if re.search(rf"\b{name}\b", term)), term) for term in terms)
    return {"value": volume * (numpy.linspace(sweep["from"], sweep["to"], sweep["count"]) + inner)}


KNOWN = {function.__name__: function for function in (
    eigenvalues, poisson, linear_system, convolution, transform, integration)}
