#!/usr/bin/env python3
"""Measures what a Python user has for the same work: JAX, CuPy, PyTorch, py-pde, pystencils; scipy
and PyAMG.

Each work is done by each library that is installed, in the forms that its users write, on random
data; a figure is the median of several runs after a warm-up, in units of work per second. With
--gridstride PROGRAM, gridstride does the same work in the same call, and the table shows how many
times as fast as the best of the others it is: simulations end to end (`gridstride run` of the
files in inputs/bench), filters and Riemann sums as `gridstride bench` measures them. Of first
steps the figure is a time: with nothing compiled before, and with all of it on disk.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peers_amg
import peers_eigen
import peers_integrals
import peers_modes
import peers_pde
from peers_work import Work

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE if (HERE / "inputs").is_dir() else HERE.parent  # a bundle, or a checkout
GIGA = 1e9

# Central differences for a second derivative, from the middle outward.
ORDER_8 = (-205 / 72, 8 / 5, -1 / 5, 8 / 315, -1 / 560)


def heat(dims, side, precision, steps):
    size = "2^27" if dims == 1 else f"{side}^{dims}"
    return Work(f"heat {dims}D {size}", "G updates/s", (side,) * dims, precision, steps,
                config=f"heat_{dims}d_{precision}")


def filtering(taps, log2):
    return Work(f"convolution, {taps} taps, 2^{log2}", "G outputs/s", (1 << log2,), "float32",
                taps=taps, bench=("convolve", f"{taps} taps", None))


WORKS = (
    *(heat(1, 1 << 27, precision, 100) for precision in ("float32", "float64")),
    *(heat(2, 8192, precision, 200) for precision in ("float32", "float64")),
    *(heat(3, 512, precision, 100) for precision in ("float32", "float64")),
    Work("heat 2D 256^2", "steps/s", (256, 256), "float32", 100000, config="heat_small_float32"),
    Work("wave 2D order 8 8192^2", "G updates/s", (8192, 8192), "float32", 100,
         config="wave_8192_float32"),
    filtering(9, 28),
    filtering(255, 26),
    filtering(8191, 26),
    *peers_pde.WORKS,
    *peers_modes.WORKS,
    *peers_integrals.WORKS,
    *peers_eigen.WORKS,
    *peers_amg.WORKS,
)


def median_seconds(run, repeats, warm_ups):
    for _ in range(warm_ups):
        run()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


# ------------------------------------------------------------------------------------------- JAX

def jax_ways(work):
    """(name, function that runs once and waits) for each form."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_enable_x64", True)
    dtype = jnp.dtype(work.precision)
    u = jax.random.uniform(jax.random.PRNGKey(0), work.shape, dtype=dtype)

    def loop(step, state):
        run = jax.jit(lambda s: jax.lax.fori_loop(0, work.steps, lambda _, v: step(v), s))
        return lambda: jax.block_until_ready(run(state))

    if work.taps:
        taps = jax.random.uniform(jax.random.PRNGKey(1), (work.taps,), dtype=dtype)
        convolve = jax.jit(lambda v: jax.scipy.signal.fftconvolve(v, taps, mode="same"))
        yield "JAX fftconvolve", lambda: convolve(u).block_until_ready()
    elif work.name.startswith("wave"):
        yield "JAX roll", loop(lambda s: wave_step(jnp.roll, *s), (u, u))
    else:
        weight = dtype.type(0.1)
        yield "JAX roll", loop(lambda v: v + weight * laplacian(jnp.roll, v), u)
        if len(work.shape) == 2:
            def held(v):
                middle = v[1:-1, 1:-1]
                change = (v[2:, 1:-1] + v[:-2, 1:-1] + v[1:-1, 2:] + v[1:-1, :-2] - 4 * middle)
                return v.at[1:-1, 1:-1].set(middle + weight * change)
            yield "JAX slices", loop(held, u)


def laplacian(roll, v):
    neighbours = sum(roll(v, shift, axis) for axis in range(v.ndim) for shift in (1, -1))
    return neighbours - 2 * v.ndim * v


def wave_step(roll, u, before):
    change = 2 * ORDER_8[0] * u
    for distance in range(1, 5):
        for axis in range(2):
            change += ORDER_8[distance] * (roll(u, distance, axis) + roll(u, -distance, axis))
    return 2 * u - before + u.dtype.type(0.1) * change.astype(u.dtype), u


# ------------------------------------------------------------------------------------------ CuPy

CUPY_HEAT = """
long r = i / n, c = i % n;
v = r > 0 && r < n - 1 && c > 0 && c < n - 1
        ? u[i] + T(0.1) * (u[i - 1] + u[i + 1] + u[i - n] + u[i + n] - T(4) * u[i])
        : u[i];
"""


def cupy_ways(work):
    import cupy
    dtype = cupy.dtype(work.precision)

    def waiting(function):
        def run():
            function()
            cupy.cuda.Device().synchronize()
        return run

    u = cupy.random.rand(*work.shape).astype(dtype)
    if work.taps:
        taps = cupy.random.rand(work.taps).astype(dtype)
        size = work.shape[0] + work.taps - 1
        length = 1 << (size - 1).bit_length()

        def whole():
            return cupy.fft.irfft(cupy.fft.rfft(u, length) * cupy.fft.rfft(taps, length), length)
        yield "CuPy, cuFFT of the whole signal", waiting(whole)
        if work.taps > 1000:
            from cupyx.scipy.signal import oaconvolve
            yield "CuPy oaconvolve", waiting(lambda: oaconvolve(u, taps, mode="same"))
    elif len(work.shape) == 2 and work.name.startswith("heat") and work.unit != "steps/s":
        kernel = cupy.ElementwiseKernel("raw T u, int64 n", "T v", CUPY_HEAT, "heat")
        v = u.copy()

        def steps():
            a, b = u, v
            for _ in range(work.steps):
                kernel(a, work.shape[0], b)
                a, b = b, a
        yield "CuPy ElementwiseKernel", waiting(steps)


# --------------------------------------------------------------------------------------- PyTorch

def torch_ways(work):
    import torch
    if not work.taps or work.taps > 1000:
        return
    dtype = getattr(torch, work.precision)
    u = torch.rand(1, 1, *work.shape, device="cuda", dtype=dtype)
    taps = torch.rand(1, 1, work.taps, device="cuda", dtype=dtype)

    def run():
        torch.nn.functional.conv1d(u, taps)
        torch.cuda.synchronize()
    yield "PyTorch conv1d", run


PEERS = {"jax": jax_ways, "cupy": cupy_ways, "torch": torch_ways}
NAMES = tuple(dict.fromkeys((*PEERS, *peers_pde.PEERS, *peers_integrals.PEERS,
                             *peers_eigen.PEERS, *peers_amg.PEERS)))


def ways(peer, work):
    """The forms of a peer that does such work, as (name, function that runs once and waits), and
    the units of work that it does if they are others than the work's."""
    kinds = {peers_integrals.Integrals: peers_integrals.PEERS, peers_pde.Systems: peers_pde.PEERS,
             peers_pde.FirstStep: peers_pde.PEERS, peers_modes.Modes: peers_modes.PEERS,
             peers_eigen.Spectrum: peers_eigen.PEERS, peers_amg.Diffusion: peers_amg.PEERS}
    find = kinds.get(type(work), PEERS).get(peer)
    return find(work) if find else ()


# ------------------------------------------------------------------------------------ gridstride

def first_step_seconds(program, work, repeats):
    """From the start of the program to its first step, but for the opening of the GPU."""
    seconds = []
    with tempfile.TemporaryDirectory(prefix="gridstride_") as scratch:
        for attempt in range(repeats + 1):
            cache = pathlib.Path(scratch) / (str(attempt) if work.is_new else "cache")
            result = pathlib.Path(scratch) / "result.json"
            command = run_command(program, work, scratch, result)
            execute(command, {**os.environ, "XDG_CACHE_HOME": str(cache)})
            report = json.loads(result.read_text(encoding="utf-8"))
            if report["steps"] != 1:
                raise RuntimeError(f"{report['steps']} steps in place of one")
            seconds.append(report["startup_seconds"] + report["stepping_seconds"])
    return statistics.median(seconds[1:])  # the first one fills the caches of the disk


def run_command(program, work, scratch, result):
    command = [program, "run", ROOT / "inputs/bench" / f"{work.config}.yaml", "--device", "cuda",
               "--quiet", "--output", scratch, "--summary", result]
    for key in work.sets:
        command += ["--set", key]
    return command


def execute(command, environment=None):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else "failed")


def gridstride_rate(program, work, repeats):
    """The rate in units per second, or seconds, and what was measured."""
    if work.is_duration:
        return first_step_seconds(program, work, repeats), "run"
    with tempfile.TemporaryDirectory(prefix="gridstride_") as scratch:
        result = pathlib.Path(scratch) / "result.json"
        if work.config:
            command = run_command(program, work, scratch, result)
            if work.compiles:  # a first run compiles what is the work's own
                subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        else:
            command = [program, "bench", work.bench[0], "--size", str(work.points), "--type",
                       work.precision, "--device", "cuda", "--json", result]
            if work.bench[2]:
                command += ["--variant", work.bench[2]]
        execute(command)
        report = json.loads(result.read_text(encoding="utf-8"))
    if work.config:
        if not work.steps_in_time:
            seconds = sum(report["diagnostics"][f"seconds.{phase}"] for phase in work.phases)
            return work.count / seconds, "run"
        if work.unit == "steps/s":
            return report["updates_per_second"] / work.points, "run"
        return report["updates_per_second"], "run"
    measurement = next(m for m in report["measurements"]
                       if m["operation"].startswith(work.bench[1]))
    best = next(v for v in measurement["variants"] if v["default"])
    return work.count / best["seconds"]["median"], f"bench, {best['name']}"


# --------------------------------------------------------------------------------------- the table

def measure(work, peers, repeats):
    """What all ways to do a work reach, as (name, units per second, seconds or None, remark)."""
    for peer in peers:
        try:
            for name, run, *count in ways(peer, work):
                seconds = median_seconds(run, repeats, work.warm_ups)
                yield (name, seconds if work.is_duration else
                       (count[0] if count else work.count) / seconds, "")
        except ImportError as error:
            yield peer, None, f"not installed: {error}"
        except Exception as error:  # a peer that fails must not end the comparison
            text = str(error).strip().splitlines()
            yield peer, None, f"{type(error).__name__}: {text[0][:100] if text else ''}"


def measure_gridstride(program, work, repeats):
    """The same of gridstride."""
    try:
        rate, how = gridstride_rate(program, work, repeats)
        return f"gridstride {how}", rate, ""
    except (OSError, RuntimeError, KeyError, StopIteration) as error:
        return "gridstride", None, str(error)


def show(work, row, others):
    """A line of the table, as soon as it is known."""
    name, rate, remark = row
    scale = GIGA if work.unit.startswith("G ") else 1
    figure = "-" if rate is None else f"{rate / scale:.4g}"
    rates = [other for _, other, _ in others if other]
    if rate and name.startswith("gridstride") and rates:
        remark = f"{min(rates) / rate if work.is_duration else rate / max(rates):.2f}"
    print(f"| {work.key()} | {name} | {figure} {work.unit} | {remark} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", action="append", metavar="TEXT",
                        help="only works whose name has this text; may be repeated")
    parser.add_argument("--peer", action="append", choices=NAMES, help="only these libraries")
    parser.add_argument("--gridstride", metavar="PROGRAM", type=pathlib.Path,
                        help="the program to compare with")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="also write the figures")
    parser.add_argument("--list", action="store_true", help="the works, and no measurement")
    arguments = parser.parse_args()
    works = [work for work in WORKS
             if not arguments.work or any(text in work.key() for text in arguments.work)]
    if not works:
        sys.exit(f"peers.py: no work has that in its name (there is "
                 f"{'; '.join(work.key() for work in WORKS)})")
    if arguments.list:
        print("\n".join(work.key() for work in works))
        return
    if arguments.repeats < 1:
        sys.exit("peers.py: --repeats has to be at least 1")
    results = []
    print("| work | by | rate | times the best other |\n|---|---|---|---|")
    for work in works:
        rows = []
        for row in measure(work, arguments.peer or NAMES, arguments.repeats):
            show(work, row, rows)
            rows.append(row)
        if arguments.gridstride:
            row = measure_gridstride(arguments.gridstride, work, arguments.repeats)
            show(work, row, rows)
            rows.append(row)
        results += [{"work": work.key(), "unit": work.unit, "by": name,
                     "seconds" if work.is_duration else "per_second": rate, "remark": remark}
                    for name, rate, remark in rows]
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
