#!/usr/bin/env python3
"""Writes the modified Shepp-Logan phantom (Toft's contrast) with Gaussian noise as /u in HDF5.

The image covers [-1, 1] x [-1, 1]; rows run along y, upwards. The same arguments give the same
values. Needs numpy and h5py (Debian: python3-numpy python3-h5py).
"""

import argparse
import os

import h5py
import numpy

# P. A. Toft, The Radon Transform, 1996, table B.3:
# intensity, half axes a (along x) and b (along y), centre x and y, rotation in degrees.
ELLIPSES = (
    (1.0, 0.6900, 0.9200, 0.00, 0.0000, 0),
    (-0.8, 0.6624, 0.8740, 0.00, -0.0184, 0),
    (-0.2, 0.1100, 0.3100, 0.22, 0.0000, -18),
    (-0.2, 0.1600, 0.4100, -0.22, 0.0000, 18),
    (0.1, 0.2100, 0.2500, 0.00, 0.3500, 0),
    (0.1, 0.0460, 0.0460, 0.00, 0.1000, 0),
    (0.1, 0.0460, 0.0460, 0.00, -0.1000, 0),
    (0.1, 0.0460, 0.0230, -0.08, -0.6050, 0),
    (0.1, 0.0230, 0.0230, 0.00, -0.6060, 0),
    (0.1, 0.0230, 0.0460, 0.06, -0.6050, 0),
)


def phantom(size):
    """The image without noise, [size][size]."""
    axis = numpy.linspace(-1.0, 1.0, size)
    x, y = axis[numpy.newaxis, :], axis[:, numpy.newaxis]
    image = numpy.zeros((size, size))
    for intensity, a, b, x0, y0, degrees in ELLIPSES:
        angle = numpy.deg2rad(degrees)
        along = (x - x0) * numpy.cos(angle) + (y - y0) * numpy.sin(angle)
        across = (y - y0) * numpy.cos(angle) - (x - x0) * numpy.sin(angle)
        image[(along / a) ** 2 + (across / b) ** 2 <= 1.0] += intensity
    return image


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=1024, help="points along each axis")
    parser.add_argument("--noise", type=float, default=0.1, help="standard deviation of the noise")
    parser.add_argument("--seed", type=int, default=7, help="seed of the noise")
    parser.add_argument("--output", required=True, help="the HDF5 file to write")
    arguments = parser.parse_args()
    if arguments.size < 2:
        parser.error("--size must be at least 2")
    if not 0 <= arguments.noise < float("inf"):
        parser.error("--noise must not be negative")

    image = phantom(arguments.size)
    noise = numpy.random.default_rng(arguments.seed).standard_normal(image.shape)
    image += arguments.noise * noise
    temporary = f"{arguments.output}.{os.getpid()}.part"
    try:
        with h5py.File(temporary, "w") as file:
            file.create_dataset("u", data=image.astype(numpy.float32))
        os.replace(temporary, arguments.output)
    finally:
        if os.path.exists(temporary):
            os.remove(temporary)


if __name__ == "__main__":
    main()
