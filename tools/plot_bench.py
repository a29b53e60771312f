#!/usr/bin/env python3
"""Draws what `gridstride bench --json FILE` measured.

For each kernel family bench_FAMILY.png: a panel per workload, a bar per variant, and the roof that
binds as a dashed line; a variant that works under another roof has a line of its own. And
bench_roofline.png: arithmetic intensity against rate, with the machine's roofs. Needs matplotlib
(python3-matplotlib).
"""

import argparse
import json
import math
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plot_bench.py: matplotlib is missing (Debian's package is python3-matplotlib)")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend has to be chosen before)

DEFAULT, VENDOR, OTHER = "tab:blue", "tab:orange", "lightsteelblue"
LINKS = ("host_to_device", "device_to_host", "duplex")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=pathlib.Path, help="what bench --json wrote")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("."),
                        help="folder for the pictures (default: the working directory)")
    parser.add_argument("--operation", action="append", metavar="NAME",
                        help="these operations alone, as multiply; may be repeated")
    arguments = parser.parse_args()
    try:
        report = json.loads(arguments.file.read_text(encoding="utf-8"))
        measurements = report["measurements"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.exit(f"plot_bench.py: {arguments.file}: no result of gridstride bench ({error})")
    if arguments.operation:
        known = list(dict.fromkeys(m["operation"] for m in measurements))
        for name in arguments.operation:
            if name not in known:
                sys.exit(f"plot_bench.py: no operation '{name}' in {arguments.file} "
                         f"(there is {', '.join(known)})")
        measurements = [m for m in measurements if m["operation"] in arguments.operation]
        report["measurements"] = measurements
    arguments.output.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update({"font.size": 8, "savefig.dpi": 75})
    for family in dict.fromkeys(measurement["family"] for measurement in measurements):
        ladder(report, [m for m in measurements if m["family"] == family],
               arguments.output / f"bench_{family}.png")
    roofline(report, arguments.output / "bench_roofline.png")


def save(figure, path):
    figure.savefig(path)
    plt.close(figure)
    print(path)


def machine_of(report):
    return f"{report['device']['name']}, gridstride {report['gridstride']['git_hash']}"


def size_text(measurement):
    size, kind = measurement["size"], measurement["size_of"]
    if kind == "none":
        return ""
    if kind == "matrix":
        return f", n = {size}"
    power = math.log2(size)
    return f", 2^{int(power)}" if power.is_integer() else f", {size:,}"


def is_arithmetic(measurement, report):
    unit = {roof["name"]: roof["unit"] for roof in report["roofs"]}[measurement["roof"]]
    return unit == "FLOP/s"


def ladder(report, measurements, path):
    """A panel per workload."""
    columns = min(2, len(measurements))
    rows = math.ceil(len(measurements) / columns)
    most = max(len(m["variants"]) for m in measurements)
    figure, axes = plt.subplots(rows, columns, squeeze=False, layout="constrained",
                                figsize=(5 * columns, (0.9 + 0.2 * most) * rows))
    for axis in axes.flat[len(measurements):]:
        axis.axis("off")
    for axis, measurement in zip(axes.flat, measurements):
        draw_ladder(axis, measurement, is_arithmetic(measurement, report))
    figure.suptitle(f"{measurements[0]['family']} on {machine_of(report)}")
    save(figure, path)


def draw_ladder(axis, measurement, arithmetic):
    amount = measurement["flops" if arithmetic else "bytes"]
    unit = 1e12 if arithmetic and amount / measurement["roof_seconds"] >= 1e12 else 1e9
    amount /= unit
    roof = amount / measurement["roof_seconds"]
    variants = [v for v in measurement["variants"] if "seconds" in v]
    for place, variant in enumerate(variants):
        seconds = variant["seconds"]
        rate = amount / seconds["median"]
        color = DEFAULT if variant["default"] else VENDOR if variant["vendor"] else OTHER
        spread = [[max(0, rate - amount / seconds["p90"])],
                  [max(0, amount / seconds["p10"] - rate)]]
        axis.barh(place, rate, color=color, xerr=spread, error_kw={"linewidth": 0.8})
        axis.text(0.01 * roof, place, f"{100 * variant['roof_fraction']:.1f} %", va="center",
                  fontsize=7)
        if variant["roof"] != measurement["roof"]:
            axis.plot([amount / variant["roof_seconds"]] * 2, [place - 0.4, place + 0.4],
                      color="black", linewidth=1)
    axis.set_yticks(range(len(variants)), [v["name"] for v in variants])
    axis.invert_yaxis()
    axis.axvline(roof, color="black", linestyle="--", linewidth=1)
    axis.set_xlabel(f"{'T' if unit == 1e12 else 'G'}{'FLOP' if arithmetic else 'B'}/s "
                    f"(dashed: {measurement['roof']})")
    axis.set_title(f"{measurement['operation']}, {measurement['type']}{size_text(measurement)}")


def best_of(measurement):
    """The default variant, or else the fastest; None where nothing was timed."""
    timed = [v for v in measurement["variants"] if "seconds" in v]
    chosen = [v for v in timed if v["default"]]
    return (chosen or sorted(timed, key=lambda v: v["seconds"]["median"]) or [None])[0]


def points_of(report):
    """(intensity, GFLOP/s, measurement) of all that count operations and are bound by the device:
    the default variants, each operation at its largest size."""
    points = {}
    for measurement in sorted(report["measurements"], key=lambda m: m["size"]):
        best = best_of(measurement)
        if best is None or measurement["flops"] == 0 or measurement["roof"] in LINKS:
            continue
        key = tuple(measurement[name] for name in ("family", "operation", "type"))
        points[key] = (measurement["flops"] / measurement["bytes"],
                       best["flops_per_second"] / 1e9, measurement)
    return list(points.values())


def roofline(report, path):
    rates = {roof["name"]: roof["rate"] for roof in report["roofs"]}
    points = points_of(report)
    intensities = [rates["float32"] / rates["copy"], *(point[0] for point in points)]
    low, high = min(intensities) / 2, 4 * max(*intensities, 1)
    figure, axis = plt.subplots(figsize=(7, 5), layout="constrained")
    draw_roofs(axis, rates, low, high)
    families = list(dict.fromkeys(measurement["family"] for _, _, measurement in points))
    for number, (intensity, rate, measurement) in enumerate(points):
        double = measurement["type"] == "float64"
        axis.scatter(intensity, rate, s=16, zorder=3, marker="s" if double else "o",
                     color=f"C{families.index(measurement['family'])}")
        if not double:
            axis.annotate(measurement["operation"], (intensity, rate), fontsize=6,
                          xytext=(4, 2 if number % 2 else -6), textcoords="offset points")
    for number, family in enumerate(families):
        axis.scatter([], [], color=f"C{number}", label=family)
    axis.set(xscale="log", yscale="log", xlim=(low, high),
             xlabel="operations per byte that must be moved (squares: float64)", ylabel="GFLOP/s",
             title=f"Roofline of {machine_of(report)}")
    axis.legend(loc="upper left")
    save(figure, path)


def draw_roofs(axis, rates, low, high):
    for name, style in (("copy", "-"), ("read", ":")):
        ridge = rates["float32"] / rates[name]
        axis.plot([low, ridge], [low * rates[name] / 1e9, rates["float32"] / 1e9], style,
                  color="black", linewidth=1, label=f"{name}, {rates[name] / 1e9:.0f} GB/s")
    for name, rate in rates.items():
        if not name.startswith(("float", "tf32")):
            continue
        start = rate / rates["copy"] if name in ("float32", "float64") else high / 8
        axis.plot([start, high], [rate / 1e9] * 2, color="gray", linewidth=1)
        axis.text(high, rate / 1e9, f"{name} {rate / 1e12:.3g} TFLOP/s", ha="right", va="bottom",
                  fontsize=6)


if __name__ == "__main__":
    main()
