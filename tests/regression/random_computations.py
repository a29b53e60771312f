"""Random configs of simulations without time."""

import numpy

from random_dice import EPSILON, Case, axes, lengths
from random_references import taps_of


def condition_of_grid(grid, diffusivity=(1, 1), reaction=(0, 0)):
    """A bound for differences of second order with sides of any kind, none of whose modes is constant."""
    largest = reaction[1] + sum(4 * diffusivity[1] / (length / count) ** 2
                                for length, count in zip(lengths(grid), grid["points"]))
    return largest / (reaction[0] + diffusivity[0] * (numpy.pi / 2 / max(lengths(grid))) ** 2)


def poisson(dice):
    grid = dice.grid(with_levels=True)
    dims = len(grid["points"])
    names, files = axes(grid), {}
    method = dice.choice(("auto", "fft", "multigrid", "mg_cg", "cg", "amg_cg", "direct" if dims == 1 else "multigrid"))
    source = dice.smooth(names) if dice.chance(0.7) else dice.array(files, "f", grid)
    parameters = {"method": method, "source": source}
    bounds = ((1, 1), (0, 0))
    if method not in ("fft", "auto") and dice.chance(0.6):
        parameters["diffusivity"] = dice.choice((dice.positive(names), dice.array(files, "a", grid, 0.5, 4.5)))
        bounds = ((0.5, 4.5), (0, 0))
    if dice.chance(0.5):
        parameters["reaction"] = dice.number(0.1, 20)
        bounds = (bounds[0], (parameters["reaction"],) * 2)
    boundary = dice.sides(grid, (("dirichlet", True), ("neumann", True)), dice.value_on_side(grid))
    is_open = "reaction" not in parameters and "dirichlet" not in str(boundary)
    if is_open:
        parameters.update(imbalance=1, mean=dice.number(-1, 1))
    tolerance = 1e-10
    if method in ("multigrid", "mg_cg", "cg", "amg_cg") and dice.chance(0.5):
        tolerance = parameters["tolerance"] = dice.choice((1e-6, 1e-8, 1e-12))
    if method in ("multigrid", "mg_cg") and dice.chance(0.5):
        parameters["cycle"] = dice.choice(("v", "w", "full"))
    if method == "cg" and dice.chance(0.3):
        parameters["inner"] = "float32"
    config = {"simulation": "poisson", "precision": dice.choice(("float64", "float32")), "grid": grid,
              "boundary": boundary, "parameters": parameters, "diagnostics": dice.diagnostics(grid),
              "output": {"formats": ["hdf5", "vti"]}}
    condition = condition_of_grid(grid, *bounds) * (4 if is_open else 1)
    # u itself is rounded to the run's precision, and so are fields of coefficients.
    bound = 30 * tolerance * (condition if method in ("cg", "amg_cg") else 1)
    bound += 2.0**-52 * condition * 8 + 16 * EPSILON[config["precision"]] * (1 if method != "fft" else condition)
    others = [({"parameters": {"method": name, "cycle": None, "inner": None}}, 2 * bound + 30e-10 * condition)
              for name in ("multigrid", "mg_cg", "cg", "amg_cg") if name != method]
    shared = dims > 1 and method in ("fft", "cg", "multigrid", "mg_cg")
    return Case(config, files, dice.parts(grid, False) if shared else [], [{"kernels": {"evaluate": "reference"}}],
                others=[dice.choice(others)], bound=bound)


def eigenvalues(dice):
    grid = dice.grid(5)
    names, files = axes(grid), {}
    parameters = {"modes": dice.randint(1, 5), "method": dice.choice(("auto", "lobpcg", "lanczos", "dense"))}
    parameters["which"] = dice.choice(("smallest", "smallest", "largest"))
    least = 0
    if dice.chance(0.5):
        parameters["diffusivity"] = dice.choice((dice.positive(names), dice.array(files, "a", grid, 0.5, 4.5)))
    if dice.chance(0.5):
        least = 9
        parameters["reaction"] = dice.choice((f"9*({dice.wave(names[0])})", dice.array(files, "k", grid, -9, 9)))
    config = {"simulation": "eigenvalues", "precision": dice.choice(("float64", "float32")), "grid": grid,
              "boundary": dice.sides(grid, (("dirichlet", True), ("neumann", True)), lambda axis: 0),
              "parameters": parameters, "output": {"formats": ["hdf5"]}}
    largest = 4.5 * sum(4 / (length / count) ** 2 for length, count in zip(lengths(grid), grid["points"])) + least
    bound = 256 * EPSILON[config["precision"]] * largest
    others = [({"parameters": {"method": name}}, bound) for name in ("lobpcg", "lanczos", "dense")]
    return Case(config, files, others=[dice.choice(others)], bound=bound, numbers=("first", "last"))


def matrix_market(dice, matrix, symmetric):
    """A text in one of the ways that programs write it."""
    rows, columns = numpy.nonzero(numpy.tril(matrix) if symmetric else matrix)
    entries = [(i, j, matrix[i, j]) for i, j in zip(rows, columns)]
    if dice.chance(0.3):  # an element in two halves
        i, j, value = entries.pop(dice.randrange(len(entries)))
        entries += [(i, j, value / 2), (i, j, value / 2)]
    if dice.chance(0.6):
        dice.shuffle(entries)
    end, blank = dice.choice(("\n", "\r\n")), dice.choice((" ", "\t", "   "))
    lines = [f"%%MatrixMarket matrix coordinate real {'symmetric' if symmetric else 'general'}", "% made up",
             blank.join(map(str, (*matrix.shape, len(entries))))]
    lines += [blank.join((str(i + 1), str(j + 1), repr(float(value)))) for i, j, value in entries]
    return end.join(lines) + end


def linear_system(dice):
    symmetric = dice.chance(0.6)
    files, n = {}, dice.choice((1, 2, 7, 33, 80))
    generator = numpy.random.default_rng(dice.getrandbits(32))
    if dice.chance(0.3):
        symmetric, dims = True, dice.choice((1, 2, 3))
        points = [dice.randint(1, {1: 60, 2: 12, 3: 6}[dims]) for _ in range(dims)]
        stencil = {1: ("3-point",), 2: ("5-point", "9-point"), 3: ("7-point", "27-point")}[dims]
        source = {"stencil": dice.choice(stencil), "points": points}
        n = int(numpy.prod(points))
        condition = 2 * 27 * (max(points) + 1) ** 2
    else:
        matrix = numpy.where(generator.random((n, n)) < 3 / n, generator.uniform(-1, 1, (n, n)), 0)
        matrix = matrix + matrix.T if symmetric else matrix
        numpy.fill_diagonal(matrix, 0)
        size = abs(matrix).sum(axis=0) + abs(matrix).sum(axis=1)
        matrix += numpy.diag(size + generator.uniform(0.1, 2, n))
        condition = 2 * size.max(initial=1) / 0.1 + 20
        files["a.mtx"] = matrix_market(dice, matrix, symmetric and dice.chance(0.7))
        source = {"file": "a.mtx"}
    count = dice.choice((1, 1, 3, 10))
    if dice.chance(0.5):
        files["b.npy"] = dice.numbers((n, count), dtype="f8")
        rhs = {"file": "b.npy"}
    else:
        rhs = {"expression": "cos(3*i + j) + 0.1*j", "count": count}
    methods = ["auto", "bicgstab", "gmres"] + (["cg", "minres", "amg_cg", "cg"] if symmetric else [])
    precision = dice.choice(("float64", "float32"))
    parameters = {"matrix": source, "rhs": rhs, "method": dice.choice(methods)}
    takes = {"cg": ["none", "jacobi", "chebyshev", "ic0"], "minres": ["none", "jacobi"], "auto": ["auto"],
             "amg_cg": ["auto"]}.get(parameters["method"], ["none", "jacobi", "block_jacobi", "ilu0"])
    parameters["preconditioner"] = dice.choice(takes)
    tolerance = 1e-8 if precision == "float64" else 1e-5
    config = {"simulation": "linear_system", "precision": precision, "parameters": parameters,
              "output": {"formats": ["hdf5", "vti"]}}
    bound = 4 * condition * tolerance * numpy.sqrt(n) + 64 * EPSILON[precision] * condition
    # In float32 iterations may stay above what is asked for.
    others = [({"parameters": {"method": "lu", "preconditioner": None}}, 2 * bound)]
    if precision == "float64":
        others += [({"parameters": {"method": name, "preconditioner": "none"}}, 2 * bound) for name in ("bicgstab", "gmres")]
    return Case(config, files, others=[dice.choice(others)], bound=bound)


def filters(dice, grid):
    """One along an axis, with no more taps than that has points."""
    axis = dice.randrange(len(grid["points"]))
    count, axis = grid["points"][axis], "xyz"[axis]
    kinds = [{"taps": {"axis": axis, "values": [dice.number(-1, 1) for _ in range(2 * dice.randint(0, (count - 1) // 2) + 1)]}},
             {"gaussian": {"axis": axis, "sigma": dice.number(0.1, (count - 1) / 9), "order": dice.randint(0, 2)}},
             {"box": {"axis": axis, "size": 2 * dice.randint(0, (count - 1) // 2) + 1}}]
    if count >= 7:
        kinds += [{"derivative": {"axis": axis, "order": dice.randint(1, 2), "accuracy": dice.choice((2, 4))}},
                  {"savitzky_golay": {"axis": axis, "window": 7, "degree": dice.randint(1, 3)}}]
    return dice.choice(kinds)


MODES = ("reflect", "mirror", "nearest", "wrap", "constant")


def amplification(grid, made):
    """Of the sums of magnitudes of the filters' taps: as many roundings of values of some 5, and more by transforms."""
    steps = [h / (count - 1) for h, count in zip(lengths(grid), grid["points"])]
    sums = [abs(taps_of(kind, say, steps["xyz".index(say["axis"])])[0]).sum() for one in made for kind, say in one.items()]
    return 1000 * numpy.prod([max(1, total) for total in sums])


def convolution(dice):
    grid, files = dice.grid(), {}
    names = axes(grid)
    signal = dice.smooth(names) if dice.chance(0.6) else dice.array(files, "s", grid)
    made = [filters(dice, grid) for _ in range(dice.randint(1, 3))]
    config = {"simulation": "convolution", "precision": dice.choice(("float64", "float32")), "grid": grid,
              "parameters": {"signal": signal, "mode": dice.choice(MODES), "filters": made},
              "diagnostics": dice.diagnostics(grid), "output": {"formats": ["hdf5", "vti"]}}
    if config["parameters"]["mode"] == "constant":
        config["parameters"]["value"] = dice.number(-1, 1)
    bound = EPSILON[config["precision"]] * amplification(grid, made)
    return Case(config, files, others=[({"kernels": {"convolve": "reference"}}, bound)], bound=bound)


def transform(dice):
    grid, files = dice.grid(), {}
    names = axes(grid)
    inputs = {"a": dice.smooth(names) if dice.chance(0.6) else dice.array(files, "s", grid), "b": dice.smooth(names)}
    steps, made = [{"formula": {"c": "a*b - x"}}], []
    if dice.chance(0.7):
        made = [filters(dice, grid)]
        steps.append({"filter": {"c": made}, "mode": dice.choice(MODES)})
    axis, order = dice.choice(names), dice.randint(1, 2)
    if min(grid["points"]) > order + 1 and dice.chance(0.5):
        steps.append({"difference": {"d": {"of": "c", "axis": axis, "order": order}}})
    if dice.chance(0.4):
        steps.append({"select": {"peaks": {"of": "c", "where": f"c > {dice.number(-0.5, 0.5)}"}}})
    reduce = [{"moments": "c"}, {"norms": "c"}, {"where_max": "c"}, {"dot": ["a", "c"]}, {"integral": {"of": "c"}},
              {"histogram": {"of": "c", "bins": dice.randint(1, 70)}}, {"quantiles": {"of": "c", "at": [0.1, 0.5, 1]}}]
    fields = ["c", "b"] + [name for step in steps[1:] for kind in ("difference", "select") for name in step.get(kind, ())]
    config = {"simulation": "transform", "precision": dice.choice(("float64", "float32")), "grid": grid,
              "input": inputs, "steps": steps, "reduce": dice.sample(reduce, dice.randint(1, 5)),
              "output": {"formats": ["hdf5", "vti"], "fields": fields}}
    line = numpy.prod(grid["points"][:-1]) * (8 if config["precision"] == "float64" else 4)
    changes = [{"limits": {"chunk": int(line * dice.randint(1, 5)) + 1, "streams": dice.randint(1, 3)}}]
    bound = EPSILON[config["precision"]] * amplification(grid, made)
    return Case(config, files, dice.parts(grid, False), changes, bound=bound,
                selects=any("select" in step for step in steps))


def integration(dice):
    dims = dice.choice((1, 1, 2, 3))
    names = ["p", "q", "r"][:dims]
    variables = {name: sorted((dice.number(-1, 0), dice.number(0.2, 2))) for name in names}
    rule = dice.choice(("auto", "midpoint", "trapezoid", "simpson", "boole", "gauss_legendre", "clenshaw_curtis",
                        "tanh_sinh", "gauss_kronrod") if dims == 1 else
                       ("auto", "genz_malik", "monte_carlo", "quasi_monte_carlo", "vegas"))
    parameters = {"variables": variables, "rule": rule,
                  "integrand": f"s + exp(-{names[0]}^2) + " + " + ".join(f"sin({dice.number(0.5, 3)}*{n})" for n in names),
                  "sweep": {"s": {"from": 1, "to": 2, "count": dice.randint(1, 5)}}}
    if rule in ("midpoint", "trapezoid", "simpson", "boole", "gauss_legendre", "monte_carlo", "quasi_monte_carlo", "vegas"):
        parameters["points"] = dice.randint(1024, 5000)
    config = {"simulation": "integration", "precision": dice.choice(("float64", "float32")), "parameters": parameters,
              "output": {"formats": ["hdf5"], "fields": ["value"]}}
    return Case(config, bound=2e3 * EPSILON[config["precision"]] + 2e-6)
