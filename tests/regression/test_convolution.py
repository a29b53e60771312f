"""Filters of data from files: what is read, what is refused, what is written."""

import math

import h5py
import numpy
import support
from support import BAD_INPUT


def config(**changes):
    """A smoothed line as a mapping. `changes` replace whole sections."""
    return {
        "simulation": "convolution",
        "device": "cpu",
        "grid": {"points": 50, "upper": 49},
        "parameters": {"signal": {"file": "data.h5", "dataset": "/u"},
                       "filters": [{"box": {"size": 5}}]},
        **changes,
    }


class Convolution(support.Case):
    def setUp(self):
        super().setUp()
        self.u = numpy.sin(numpy.arange(50.0) ** 2)
        with h5py.File(self.directory / "data.h5", "w") as file:
            file["u"] = self.u
            file["image"] = self.u.reshape(5, 10)
            file["taps"] = numpy.array([0.25, 0.5, 0.25])
            file["even"] = numpy.ones(4)
            file["long"] = numpy.ones(51)
            file["huge"] = numpy.array([1.0, 1e300, 1.0])
            file["hole"] = numpy.array([1.0, math.nan, 1.0])

    def result(self, **changes):
        """The field u of a run."""
        self.call("run", self.write("case.yaml", config(**changes)), "--quiet")
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            numpy.testing.assert_array_equal(file["VTKHDF/PointData/signal"][0].ravel(), self.u)
            return file["VTKHDF/PointData/u"][0]

    def parameters(self, dataset="/u", **filters):
        return {"signal": {"file": "data.h5", "dataset": dataset}, "filters": filters}

    def refuse(self, message, **changes):
        before = self.files()
        for command in ("run", "check"):
            _, err = self.call(command, self.write("case.yaml", config(**changes)), code=BAD_INPUT)
            self.assertRegex(err, message)
        self.assertEqual(self.files(), sorted({*before, "case.yaml"}))

    def test_a_mean(self):
        padded = numpy.concatenate([self.u[1::-1], self.u, self.u[:-3:-1]])
        expected = numpy.convolve(padded, numpy.full(5, 0.2), "valid")
        numpy.testing.assert_allclose(self.result(), expected, rtol=0, atol=1e-14)

    def test_taps_from_a_file(self):
        source = {"file": "data.h5", "dataset": "/taps"}
        padded = numpy.concatenate([[self.u[-1]], self.u, [self.u[0]]])
        expected = numpy.convolve(padded, [0.25, 0.5, 0.25], "valid")
        got = self.result(parameters={**self.parameters(taps_from=source), "mode": "wrap"})
        numpy.testing.assert_allclose(got, expected, rtol=0, atol=1e-14)

    def test_an_image_by_columns(self):
        got = self.result(grid={"points": [10, 5], "upper": [9, 4]},
                          parameters=self.parameters("/image", derivative={"axis": "y"}))
        image = self.u.reshape(5, 10)
        numpy.testing.assert_allclose(got[1:-1], (image[2:] - image[:-2]) / 2, atol=1e-15)
        numpy.testing.assert_allclose(got[0], (image[1] - image[0]) / 2, atol=1e-15)

    def test_only_what_is_asked_for_is_written(self):
        self.call("run", self.write("case.yaml", config(output={"fields": ["u"]})), "--quiet")
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            self.assertEqual(list(file["VTKHDF/PointData"]), ["u"])

    def test_resolved_config_reads_back(self):
        out, _ = self.call("check", self.write("case.yaml", config()))
        again, _ = self.call("check", self.write("again.yaml", out))
        again = again.replace("outputs/again", "outputs/case")
        self.assertEqual(again.split("# device:")[0], out.split("# device:")[0])

    def test_wrong_shapes(self):
        self.refuse(r"case\.yaml:\d+:\d+: parameters\.signal: dataset '/image' of data\.h5 is "
                    r"\[5\]\[10\], the grid needs \[50\] \(the slowest axis first\)\n",
                    parameters=self.parameters("/image", box={"size": 3}))
        for dataset, message in (
                ("/image", r"dataset '/image' of data\.h5 is \[5\]\[10\] \(a list of taps is "),
                ("/even", r"origin is missing \(4 taps, an even number, have no middle"),
                ("/long", r"needs 51 taps, which are more than the 50 points along x"),
                ("/nothing", r"there is no dataset '/nothing'")):
            with self.subTest(dataset=dataset):
                self.refuse(r"case\.yaml:\d+:\d+: parameters\.filters\.taps_from.*" + message,
                            parameters=self.parameters(
                                taps_from={"file": "data.h5", "dataset": dataset}))

    def test_taps_that_are_not_finite(self):
        for dataset, precision, message in (
                ("/hole", "float64", r"has -?nan at "),
                ("/huge", "float32", r"tap 1 of the filter along x is 1e\+300 in float32 ")):
            source = {"file": "data.h5", "dataset": dataset}
            file = self.write("case.yaml", config(precision=precision,
                                                  parameters=self.parameters(taps_from=source)))
            _, err = self.call("run", file, code=BAD_INPUT)
            self.assertRegex(err, message)
            self.assertFalse((self.directory / "outputs").exists())

    def test_taps_that_vanish(self):
        # Taps of 1e-60 were 0 in float32, and so was the derivative, 2e-30.
        second = {"simulation": "convolution", "device": "cpu", "precision": "float32", "grid": {"points": 11, "upper": 1e31},
                  "parameters": {"signal": "x^2*1e-30", "filters": {"derivative": {"order": 2}}}}
        for change, message in (
                ({}, r"parameters\.filters: the taps of the filter along x are no larger than 2e-60 \(float32 has all "
                     r"digits from 1\.2e-38 on; float64 or another unit of length helps\)"),
                ({"precision": "float64", "grid": {"points": 11, "upper": 1e201}, "parameters": {
                    "signal": 1, "filters": {"derivative": {"order": 2}}}}, r"no larger than 0 \(float64 has all digits"),
                ({"parameters": {"signal": "x", "filters": {"taps": {"values": [1e-40]}}}}, r"no larger than 1e-40 ")):
            with self.subTest(change=change):
                _, err = self.call("run", self.write("case.yaml", {**second, **change}), code=BAD_INPUT)
                self.assertRegex(err, message)
        self.call("run", self.write("case.yaml", {**second, "precision": "float64"}), "--quiet")
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            numpy.testing.assert_allclose(file["VTKHDF/PointData/u"][0, 1:-1], 2e-30, rtol=1e-12)
        # Tails of a Gaussian may vanish.
        parameters = self.parameters(gaussian={"sigma": 1, "truncate": 20})
        self.call("run", self.write("case.yaml", config(precision="float32", parameters=parameters)), "--quiet")

    def test_results_that_vanish(self):
        tiny = {"precision": "float32", "grid": {"points": 5},
                "parameters": {"signal": 1e-30, "filters": [{"taps": {"values": [1e-20]}}]}}
        for change, message in (
                ({}, r"parameters\.signal: is no larger than 1e-30, and what the filter along x makes of it than 1e-20 "
                     r"times 1e-30 \(float32 has all digits from 1\.2e-38 on; float64 or another unit helps\)"),
                ({"precision": "float64", "parameters": {"signal": 1e-200, "filters": 2 * [
                    {"taps": {"values": [-1e-60]}}]}}, r"than 1e-60 times 1e-260 \(float64 has all digits from")):
            with self.subTest(change=change):
                _, err = self.call("run", self.write("case.yaml", config(**{**tiny, **change})), code=BAD_INPUT)
                self.assertRegex(err, message)
        # A derivative of a constant is 0, and so is what is made of nothing; beyond the ends there may be more.
        for signal, filters, more in ((1e-30, {"derivative": {"order": 1}}, {}), (0, {"box": {"size": 3}}, {}),
                                      (1e-30, {"taps": {"values": [0, 0, 1e-20]}}, {"mode": "constant", "value": 1})):
            parameters = {"signal": signal, "filters": filters, **more}
            self.call("run", self.write("case.yaml", config(**{**tiny, "parameters": parameters})), "--quiet")

    def test_too_large_for_the_memory(self):
        self.refuse(r"grid\.points: convolution: u needs \d x ",
                    grid={"points": [200000, 100000]},
                    parameters={"signal": "x", "filters": {"box": {"axis": "x", "size": 3}}})


if __name__ == "__main__":
    support.main()
