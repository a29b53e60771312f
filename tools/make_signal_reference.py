#!/usr/bin/env python3
"""Writes what numpy and scipy make of a short signal: tests/data/signal_reference.json.

Cumulative sums, maxima and integrals, differences, ranks, a histogram, integrals and spectra by
Welch's method, which the tests of the kernels compare with. Simpson's rule for an even number of points is that of scipy
since 1.11, written out, for older releases do otherwise. Needs numpy and scipy.
"""

import argparse
import json
import pathlib

import numpy
import scipy.integrate
import scipy.signal

SPACING = 0.25


def simpson(values):
    """Cartwright's correction for the last interval of an even number of points."""
    if len(values) == 2:
        return float(scipy.integrate.trapezoid(values, dx=SPACING))
    if len(values) % 2 == 1:
        return float(scipy.integrate.simpson(values, dx=SPACING))
    last = SPACING / 12 * (5 * values[-1] + 8 * values[-2] - values[-3])
    return float(scipy.integrate.simpson(values[:-1], dx=SPACING) + last)


def spectra(signal):
    """Segments of even, odd and prime lengths, and of powers of two."""
    cases = []

    def add(segment, overlap, window="hann", detrend="constant", rate=1.0):
        _, density = scipy.signal.welch(signal, fs=rate, window=window, nperseg=segment,
                                        noverlap=overlap,
                                        detrend=False if detrend == "none" else detrend)
        cases.append({"segment": segment, "overlap": overlap, "window": window, "detrend": detrend,
                      "rate": rate, "density": density.tolist()})

    add(256, 128)
    add(256, 0, "hamming", "linear", 100.0)
    add(64, 48, "blackman", "none", 0.5)
    add(100, 33, "boxcar", "linear")
    add(101, 50, "hann", "linear", 44100.0)
    add(2, 1)
    add(len(signal), 0)
    return cases


def main():
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = pathlib.Path(__file__).resolve().parents[1] / "tests/data/signal_reference.json"
    parser.add_argument("--output", default=default, type=pathlib.Path, help="the file")
    output = parser.parse_args().output

    generator = numpy.random.default_rng(3)
    place = numpy.arange(700)
    signal = numpy.round(3 + 0.01 * place + numpy.sin(0.4 * place) + generator.normal(size=700), 3)
    edges = [0, 1.5, 3, 4.25, 6, 20]  # nothing lies at the last one, which numpy counts too
    content = {
        "signal": signal.tolist(),
        "spacing": SPACING,
        "cumsum": numpy.cumsum(signal).tolist(),
        "cummax": numpy.maximum.accumulate(signal).tolist(),
        "cumulative_trapezoid":
            scipy.integrate.cumulative_trapezoid(signal, dx=SPACING, initial=0).tolist(),
        "diff": [{"order": order, "values": numpy.diff(signal, order).tolist()}
                 for order in (1, 2, 5)],
        "trapezoid": [{"points": n, "value": float(scipy.integrate.trapezoid(signal[:n], dx=SPACING))}
                      for n in (1, 2, 3, 10, 700)],
        "simpson": [{"points": n, "value": simpson(signal[:n])} for n in (2, 3, 4, 9, 10, 699, 700)],
        "sorted_at": [{"rank": rank, "value": float(numpy.sort(signal)[rank])}
                      for rank in (0, 7, 350, 699)],
        "histogram": {"edges": edges, "counts": numpy.histogram(signal, edges)[0].tolist()},
        "welch": spectra(signal),
    }
    output.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
