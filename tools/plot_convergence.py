#!/usr/bin/env python3
"""Draws how iterations came to an end: the residual after each, of results of `gridstride run`.

Results are folders or .h5 files, of `poisson` by a method with iterations, or of `linear_system` with
a sparse matrix: a line each, and one for every right-hand side. Residuals are those of before the
first iteration at 1. Needs matplotlib and h5py (python3-matplotlib, python3-h5py).
"""

import argparse
import pathlib
import sys

try:
    import h5py
    import matplotlib
except ImportError as error:
    sys.exit(f"plot_convergence.py: {error.name} is missing (Debian's package is "
             f"python3-{error.name})")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen before)

# The tables that simulations write, and the column that has the residual.
TABLES = {"iterations": "residual", "history": "relative_residual"}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path, nargs="+", metavar="RESULT",
                        help="a folder or a .h5 file")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("convergence.png"),
                        help="the picture (default: convergence.png)")
    arguments = parser.parse_args()
    lines = [line for result in arguments.results for line in histories(result)]
    draw(lines, arguments.output)
    print(arguments.output)


def histories(result):
    """(name, iterations, residuals over the first) of each right-hand side."""
    files = sorted(result.glob("*.h5")) if result.is_dir() else [result]
    if len(files) != 1:
        sys.exit(f"plot_convergence.py: {result}: {len(files)} .h5 files, one is needed")
    try:
        with h5py.File(files[0]) as file:
            tables = file["gridstride/tables"]
            name = next(name for name in TABLES if name in tables)
            columns = {key: tables[name][key][:] for key in tables[name]}
    except (OSError, KeyError, StopIteration):
        sys.exit(f"plot_convergence.py: {files[0]}: no residuals of iterations")
    residuals = columns[TABLES[name]]
    sides = columns.get("right_hand_side", 0 * columns["iteration"])
    title = files[0].stem
    for side in sorted(set(sides.tolist())):
        chosen = sides == side
        first = residuals[chosen][0]
        label = f"{title}, right-hand side {side}" if len(set(sides.tolist())) > 1 else title
        yield label, columns["iteration"][chosen], residuals[chosen] / (first if first > 0 else 1)


def draw(lines, path):
    plt.rcParams.update({"font.size": 8, "savefig.dpi": 100})
    figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for label, iterations, residuals in lines:
        axes.plot(iterations, residuals, marker="." if len(iterations) < 60 else "", label=label)
    axes.set_yscale("log")
    if max(iterations[-1] for _, iterations, _ in lines) > 200:
        axes.set_xscale("symlog", linthresh=10)
    axes.set_xlim(left=0)
    axes.set_xlabel("iteration")
    axes.set_ylabel("residual over the first")
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    main()
