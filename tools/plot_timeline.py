#!/usr/bin/env python3
"""Draws when each chunk was where: what `gridstride bench pipeline --timeline FILE` wrote.

A panel for each run of an operation, a row for each lane, a box for each stage of a chunk with the
chunk's number, all panels on the same scale. Needs matplotlib (python3-matplotlib).
"""

import argparse
import json
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot_timeline.py: matplotlib is missing (Debian's package is python3-matplotlib)")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen before)

COLORS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, help="what bench pipeline --timeline wrote")
    parser.add_argument("--operation", metavar="NAME", help="which one (default: the first)")
    parser.add_argument("--chunks", type=int, default=12, metavar="N",
                        help="draw the first N chunks (default: 12)")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("timeline.png"),
                        help="the picture (default: timeline.png)")
    arguments = parser.parse_args()
    if arguments.chunks < 1:
        parser.error("--chunks: at least one is needed")
    try:
        report = json.loads(arguments.file.read_text(encoding="utf-8"))
        runs = report["runs"]
        operations = list(dict.fromkeys(run["operation"] for run in runs))
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"plot_timeline.py: {arguments.file}: no timeline of gridstride bench ({error})")
    operation = arguments.operation or operations[0]
    if operation not in operations:
        sys.exit(f"plot_timeline.py: no operation '{operation}' in {arguments.file} "
                 f"(there is {', '.join(operations)})")
    draw(report, [run for run in runs if run["operation"] == operation], arguments.chunks,
         arguments.output)
    print(arguments.output)


def draw(report, runs, chunks, path):
    plt.rcParams.update({"font.size": 8, "savefig.dpi": 90})
    lanes = [run["lanes"] for run in runs]
    figure, axes = plt.subplots(len(runs), 1, squeeze=False, sharex=True, layout="constrained",
                                figsize=(9, 1.2 * len(runs) + 0.35 * sum(lanes)),
                                height_ratios=[1 + count for count in lanes])
    for axis, run in zip(axes.flat, runs):
        draw_run(axis, run, chunks)
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLORS[k % len(COLORS)])
               for k in range(len(runs[0]["stages"]))]
    axes[0, 0].legend(handles, [stage["name"] for stage in runs[0]["stages"]], ncols=len(handles),
                      loc="lower right", bbox_to_anchor=(1, 1), frameon=False)
    axes[-1, 0].set_xlabel("ms")
    figure.suptitle(f"{runs[0]['operation']} on {report['device']}, "
                    f"gridstride {report['gridstride']['git_hash']}")
    figure.savefig(path)
    plt.close(figure)


def draw_run(axis, run, chunks):
    drawn = [each for each in run["intervals"] if each["chunk"] < chunks]
    begin = min(each["start"] for each in drawn)
    for each in drawn:
        start, length = 1e3 * (each["start"] - begin), 1e3 * (each["end"] - each["start"])
        axis.broken_barh([(start, length)], (each["lane"] - 0.4, 0.8), edgecolor="white",
                         facecolor=COLORS[each["stage"] % len(COLORS)], linewidth=0.5)
        axis.text(start + length / 2, each["lane"], each["chunk"], ha="center", va="center",
                  fontsize=6, color="white")
    moved = run["stages"][0]
    axis.set_title(f"{run['way']}: {moved['bytes'] / run['seconds'] * 1e-9:.1f} GB/s in",
                   loc="left")
    axis.set_yticks(range(run["lanes"]), [f"lane {k}" for k in range(run["lanes"])])
    axis.invert_yaxis()


if __name__ == "__main__":
    main()
