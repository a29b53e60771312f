"""Chains of steps over data from files, in chunks: what is written, told and refused."""

import h5py
import numpy
import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED

POINTS = 20011


def config(**changes):
    """Every kind of step over a file, in small chunks. `changes` replace whole sections."""
    return {
        "simulation": "transform",
        "device": "cpu",
        "precision": "float32",
        "grid": {"spacing": 0.01},
        "input": {"a": {"file": "data.h5", "dataset": "/a"}, "b": "1 + x"},
        "steps": [
            {"formula": {"c": "a*b", "d": "abs(c)"}},
            {"filter": {"c": [{"gaussian": {"sigma": 3}}]}},
            {"scan": {"s": {"of": "c"}}},
            {"difference": {"g": {"of": "s", "order": 2}}},
            {"select": {"p": {"of": "d", "where": "d > 20"}}},
            {"sort": {"o": {"of": "d"}}},
        ],
        "reduce": [{"moments": "c"}, {"quantiles": {"of": "s", "at": [0.5]}},
                   {"histogram": {"of": "d", "bins": 5}}],
        "output": {"fields": ["c", "d", "s", "g", "p", "o"]},
        "limits": {"chunk": "1 GiB", "streams": 1},
        **changes,
    }


class Transform(support.Case):
    def setUp(self):
        super().setUp()
        self.a = numpy.sin(numpy.arange(POINTS) ** 2.0)
        with h5py.File(self.directory / "data.h5", "w") as file:
            file["a"] = self.a
            file["chunked"] = self.a
            file["hole"] = numpy.where(numpy.arange(POINTS) == 4000, numpy.nan, self.a)
            del file["chunked"]
            file.create_dataset("chunked", data=self.a.astype(">i2"), chunks=(100,), compression=1)

    def run_case(self, name, **changes):
        self.call("run", self.write(f"{name}.yaml", config(**changes)), "--quiet")
        return self.directory / f"outputs/{name}/{name}.h5"

    def contents(self, path):
        """Every dataset of a result that does not tell of the run itself."""
        found = {}
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.update({name: item[()]})
                            if isinstance(item, h5py.Dataset) and not
                            any(word in name for word in ("seconds", "config", "wall", "chosen")) else None)
        return found

    def test_bits_are_the_same_in_memory_and_from_file_to_file(self):
        whole = self.contents(self.run_case("whole"))
        self.assertTrue(any(name.endswith("/s") for name in whole), sorted(whole))
        # Too little for arrays to stay: they are written while they are made.
        for i, limits in enumerate([{"device_memory": "700 kB"}, {"chunk": "400 B", "streams": 3},
                                    {"device_memory": "750 kB", "host_memory": "800 kB"}]):
            other = self.contents(self.run_case(f"case{i}", limits=limits))
            self.assertEqual(sorted(whole), sorted(other))
            for name, values in whole.items():
                self.assertEqual(numpy.asarray(values).tobytes(), numpy.asarray(other[name]).tobytes(),
                                 f"{name} with {limits}")

    def test_too_little_memory_is_told(self):
        for key in ("device_memory", "host_memory"):
            path = self.write("case.yaml", config(limits={key: "100 B"}))
            for command in ("check", "run"):
                _, err = self.call(command, path, code=BAD_INPUT)
                self.assertRegex(err, f"limits.{key}: .* are left for chunks")

    def test_values_that_are_not_finite_are_told(self):
        path = self.write("case.yaml", config(input={"a": {"file": "data.h5", "dataset": "/hole"},
                                                     "b": 1}, limits={"chunk": "4 kB"}))
        _, err = self.call("run", path, code=BAD_INPUT)
        self.assertRegex(err, r"nan at \[4000\]")
        path = self.write("case.yaml", config(steps=[{"formula": {"c": "1/(x - 0.05)", "d": "c"}}],
                                              reduce=[], output={"fields": ["c"]},
                                              limits={"device_memory": "100 kB"}))
        _, err = self.call("run", path, code=FAILED)
        self.assertRegex(err, "c is infinite or not a number at x = 0.05")

    def test_sorted_values_and_spectra_from_file_to_file(self):
        n = 400009
        signal = numpy.sin(numpy.arange(n) ** 1.5).astype("f4")
        with h5py.File(self.directory / "data.h5", "a") as file:
            file["signal"] = signal

        def run(name, limits):
            return self.contents(self.run_case(
                name, input={"a": {"file": "data.h5", "dataset": "/signal"}}, limits=limits, reduce=[],
                steps=[{"formula": {"c": "floor(9*a + 0.5)"}}, {"sort": {"s": {"of": "a"}, "r": {"of": "c"}}},
                       {"spectrum": {"p": {"of": "a", "segment": 32, "overlap": 0.75}}}],
                output={"fields": ["c", "s", "r", "p"]}))

        whole = run("whole", {"streams": 1})
        for name, values in (("s", signal), ("r", whole["VTKHDF/PointData/c"])):
            numpy.testing.assert_array_equal(whole[f"VTKHDF/PointData/{name}"].ravel(),
                                             numpy.sort(values, axis=None))
        # scipy.signal.welch, and the bound of the kernel's own tests (tests/support/spectrum_cases.hpp).
        window = 0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(32) / 32)
        segments = numpy.lib.stride_tricks.sliding_window_view(signal.astype("f8"), 32)[::8]
        segments = (segments - segments.mean(axis=1, keepdims=True)) * window
        factor = 2 / (100 * (window ** 2).sum())
        expected = factor * (abs(numpy.fft.rfft(segments)) ** 2).mean(axis=0)
        expected[[0, -1]] /= 2
        error = 30 * 2.0 ** -23 * numpy.log2(4 * 32) * numpy.sqrt(2 * 32) * abs(signal).max()
        (density,) = [values for name, values in whole.items() if name.endswith("/p")]
        bound = 2 * numpy.sqrt(expected * factor) * error + factor * error ** 2
        self.assertTrue((abs(density.ravel() - expected) <= bound).all(), density.ravel() - expected)
        for i, limits in enumerate([{"device_memory": "2 MB"}, {"device_memory": "4 MB", "chunk": "90 kB"}]):
            other = run(f"files{i}", limits)
            self.assertEqual(sorted(whole), sorted(other))
            for name, values in whole.items():
                self.assertEqual(numpy.asarray(values).tobytes(), numpy.asarray(other[name]).tobytes(),
                                 f"{name} with {limits}")

    def test_sorts_and_spectra_are_verified(self):
        # 8 periods in 64 samples: 2/64·(64/2)^2 at the frequency 8/64, and nothing elsewhere.
        def verify(sorted_values, density, code):
            path = self.write("case.yaml", {
                "simulation": "transform", "device": "cpu", "grid": {"points": 640},
                "input": {"a": "sin(2*pi*x/8)", "b": "639 - x"},
                "steps": [{"sort": {"s": {"of": "b"}}},
                          {"spectrum": {"p": {"of": "a", "segment": 64, "window": "boxcar"}}}],
                "output": {"fields": ["a", "s", "p"]},
                "verify": {"exact": {"s": sorted_values, "p": density}, "tolerance": {"max": 1e-10}}})
            return self.call("run", path, code=code)

        density = "32*(abs(x - 8/64) < 1e-6)"
        verify("x", density, 0)
        for wrong in (("639 - x", density), ("x", "32*(abs(x - 9/64) < 1e-6)")):
            verify(*wrong, DOES_NOT_HOLD)

    def test_compressed_big_endian_integers(self):
        path = self.run_case("case", precision="float64",
                             input={"a": {"file": "data.h5", "dataset": "/chunked"}},
                             steps=[{"scan": {"s": {"of": "a"}}}], reduce=[],
                             output={"fields": ["s"]}, limits={"chunk": "1 kB"})
        with h5py.File(path) as file:
            numpy.testing.assert_array_equal(file["VTKHDF/PointData/s"][0].ravel(),
                                             numpy.cumsum(self.a.astype("i2")))

    def test_scans_under_differences_in_chunks_of_few_rows(self):
        # The last chunks need no row of the differences, and fewer of the scan than those before.
        for shape in ((9,), (7, 3), (8, 2, 3)):
            a = numpy.arange(numpy.prod(shape)).reshape(shape) ** 2 % 13 - 5.0
            numpy.save(self.directory / "a.npy", a)
            sums = numpy.cumsum(a).reshape(shape)
            slowest = "xyz"[len(shape) - 1]
            for order in (1, 2, 3, 5):
                for rows in (1, 2, 3):
                    path = self.run_case(
                        "case", precision="float64", grid={}, input={"a": {"file": "a.npy"}}, reduce=[],
                        steps=[{"scan": {"s": {"of": "a"}}},
                               {"difference": {"g": {"of": "s", "axis": slowest, "order": order}}}],
                        output={"fields": ["s", "g"]},
                        limits={"chunk": f"{rows * a[0].nbytes} B", "streams": 2})
                    found = self.contents(path)
                    for name, values in (("s", sums), ("g", numpy.diff(sums, order, axis=0))):
                        (one,) = [v for key, v in found.items() if key.endswith(("PointData/" + name,
                                                                                "fields/" + name))]
                        numpy.testing.assert_array_equal(one.ravel(), values.ravel(),
                                                         f"{name}: {shape}, {order}, {rows}")

    def test_files_in_fortran_order_in_small_chunks(self):
        # They are in memory as a whole from the first pass on, which takes chunks together as far as
        # there is room for what leaves: tables, and arrays that are written while they are made.
        a = numpy.sin(numpy.arange(12000).reshape(4000, 3) ** 1.5)
        numpy.save(self.directory / "a.npy", numpy.asfortranarray(a))

        def run(fields, device_memory):
            return self.contents(self.run_case(
                "case", precision="float64", grid={}, input={"a": {"file": "a.npy"}}, reduce=[],
                steps=[{"formula": {"c": "2*a"}}, {"select": {"p": {"of": "a", "where": "a > 0.5"}}}],
                output={"fields": fields},
                limits={"chunk": "24 B", "streams": 2, "device_memory": device_memory}))

        found = run(["p"], "300 kB")
        index = numpy.flatnonzero(a > 0.5)
        numpy.testing.assert_array_equal(found["gridstride/tables/p/index"], index)
        numpy.testing.assert_array_equal(found["gridstride/tables/p/value"], a.ravel()[index])
        for fields, device_memory in ((["a"], "190 kB"), (["c"], "190 kB"), (["a", "c"], "380 kB")):
            found = run(fields, device_memory)
            for name, values in (("a", a), ("c", 2 * a)):
                if name in fields:
                    numpy.testing.assert_array_equal(found[f"VTKHDF/PointData/{name}"][0], values)


if __name__ == "__main__":
    support.main()
