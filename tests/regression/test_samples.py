"""Integrals of samples from files of all kinds: what is written, told and refused."""

import h5py
import numpy
import support
from support import BAD_INPUT

SHAPE = (33, 40)  # y, x


class Samples(support.Case):
    def setUp(self):
        super().setUp()
        y, x = numpy.mgrid[:SHAPE[0], :SHAPE[1]]
        self.f = numpy.round(1000 * numpy.sin(0.01 * x * y + x))
        with h5py.File(self.directory / "data.h5", "w") as file:
            file["f"] = self.f
            file.create_dataset("packed", data=self.f.astype(">i2"), chunks=(5, 7), compression=4)
            file["hole"] = self.f
            file["hole"][20, 3] = numpy.nan
        numpy.save(self.directory / "f.npy", self.f.astype("<f4"))
        numpy.save(self.directory / "columns.npy", numpy.asfortranarray(self.f))
        self.f.astype(">f8").tofile(self.directory / "f.bin")

    def config(self, source, **changes):
        return {"simulation": "integration", "device": "cpu",
                "parameters": {"integrand": source,
                               "variables": {"x": {"lower": -1, "spacing": 0.5}, "y": [2, 10]},
                               "rule": "simpson", **changes}}

    def values(self, name, config):
        self.call("run", self.write(f"{name}.yaml", config), "--quiet")
        path, = (self.directory / "outputs").glob(f"*/{name}.h5")
        with h5py.File(path) as file:
            root = file["VTKHDF"]
            return {"origin": root.attrs["Origin"].tolist(), "spacing": root.attrs["Spacing"].tolist(),
                    **{field: root["PointData"][field][0].ravel() for field in root["PointData"]}}

    def test_every_kind_of_file_gives_the_same(self):
        sources = {"plain": {"file": "data.h5", "dataset": "/f"},
                   "packed": {"file": "data.h5", "dataset": "/packed"},
                   "npy": {"file": "f.npy"}, "columns": {"file": "columns.npy"},
                   "bare": {"file": "f.bin", "type": "float64", "shape": SHAPE,
                            "byte_order": "big"}}
        for axis, along in (("x", 1), ("y", 0)):
            # Twelve times Simpson's weights are whole, and so are the samples: sums are exact.
            count = SHAPE[along]
            last = count - 1 - (count % 2 == 0)
            weights = numpy.where(numpy.arange(count) % 2 == 1, 16.0, 8.0)
            weights[0] = weights[last] = 4
            weights[last + 1:] = 0
            if count % 2 == 0:
                weights[-3:] += (-1, 8, 5)
            step = (0.25, 0.5)[along]
            exact = numpy.tensordot(weights, self.f, (0, along)) * (step / 12)
            for name, source in sources.items():
                found = self.values(f"{name}_{axis}", self.config(source, axis=axis))
                numpy.testing.assert_array_equal(found["value"], exact, f"{name} along {axis}")
                self.assertNotIn("error", found)
                self.assertEqual((found["origin"][0], found["spacing"][0]),
                                 {"x": (2, 0.25), "y": (-1, 0.5)}[axis])

    def test_a_field_of_another_run(self):
        self.call("run", self.write("heat.yaml", support.heat()), "--quiet")
        config = self.config({"file": "outputs/heat/heat.h5", "time": "last", "dataset": "u"},
                             variables={"x": [0, 1], "y": [0, 0.9375]}, rule="trapezoid")
        found = self.values("case", config)
        with h5py.File(self.directory / "outputs/heat/heat.h5") as file:
            u = file["VTKHDF/PointData/u"][-1]
        weights = [numpy.r_[0.5, numpy.ones(n - 2), 0.5] / 16 for n in u.shape]
        self.assertAlmostEqual(found["value"][0], weights[0] @ u @ weights[1], 13)

    def test_what_is_told(self):
        path = self.write("case.yaml", self.config({"file": "data.h5", "dataset": "/f"},
                                                   axis="y", rule="romberg"))
        out, err = self.call("run", path)
        for word in ("value", "error_estimate", "samples", "bound by"):
            self.assertIn(word, out + err)

    def test_the_resolved_config_is_the_same_run(self):
        self.f.tofile(self.directory / "f.bin")
        numpy.save(self.directory / "t.npy", numpy.arange(self.f.size) ** 1.5)
        line = {"file": "f.bin", "type": "float64", "shape": [self.f.size]}
        for i, config in enumerate([
                self.config({"file": "data.h5", "dataset": "/f"}, axis="x"),
                self.config(line, variables={"t": {"positions": {"file": "t.npy"}}}),
                {"simulation": "integration", "device": "cpu",
                 "parameters": {"integrand": "x", "variables": {"x": [0, 1]}}}]):
            out, _ = self.call("check", self.write(f"first{i}.yaml", config))
            first, again = self.values(f"first{i}", config), self.values(f"again{i}", out)
            for name, values in first.items():
                numpy.testing.assert_array_equal(again[name], values)

    def test_what_is_refused(self):
        path = self.write("case.yaml", self.config({"file": "data.h5", "dataset": "/hole"}))
        _, err = self.call("run", path, code=BAD_INPUT)
        self.assertRegex(err, r"case.yaml:5:\d+: parameters.integrand: .*nan at \[20\]\[3\]")
        path = self.write("case.yaml", self.config({"file": "data.h5", "dataset": "/f"},
                                                   rule="romberg"))
        _, err = self.call("check", path, code=BAD_INPUT)
        self.assertIn("has 40 samples along x, but romberg takes 2^k + 1 (as 33 or 65; simpson "
                      "takes any number)", err)
        whole = (self.directory / "f.bin").read_bytes()
        (self.directory / "f.bin").write_bytes(whole[:-8])
        path = self.write("case.yaml", self.config({"file": "f.bin", "type": "float64",
                                                    "shape": SHAPE}))
        _, err = self.call("run", path, code=BAD_INPUT)
        self.assertIn("f.bin", err)

    def test_verify(self):
        config = self.config({"file": "f.npy"}, axis="x", rule="trapezoid")
        config["verify"] = {"exact": {"value": "0*y"}, "tolerance": {"max": 1}}
        _, err = self.call("run", self.write("case.yaml", config), code=support.DOES_NOT_HOLD)
        self.assertIn("value", err)


if __name__ == "__main__":
    support.main()
