"""Chains of steps over data that several ranks go by: the same bits, numbers and ends as of one."""

import h5py
import numpy

import support
from support import BAD_INPUT, DONE, FAILED
from shared import MPIRUN, Shared

REDUCTIONS = [{"moments": "c"}, {"norms": "c"}, {"where_max": "c"}, {"where_min": "d"},
              {"dot": ["c", "d"]}, {"integral": {"of": "c", "rule": "simpson"}},
              {"histogram": {"of": "d", "bins": 7}}, {"histogram": {"of": "c", "bins": 5, "range": [-2, 2]}},
              {"quantiles": {"of": "c", "at": [0, 0.3, 0.99]}}]


# Too much to be kept until the end.
WHILE_IT_PASSES = {"limits": {"device_memory": "1500 kB", "chunk": "40 kB"}, "reduce": [{"moments": "c"}]}
BY_THEMSELVES = "each rank its rows"


def transform(device="cpu", axis="x", **changes):
    return {
        "simulation": "transform", "device": device, "precision": "float32", "grid": {"spacing": 0.01},
        "input": {"a": {"file": "data.h5", "dataset": "/a"}, "b": "1 + x"},
        "steps": [{"formula": {"c": "a*b", "d": "abs(c)"}}, {"filter": {"c": [{"gaussian": {"sigma": 3, "axis": axis}}]}},
                  {"difference": {"g": {"of": "c", "axis": axis, "order": 2}}},
                  {"select": {"p": {"of": "d", "where": "d > 0.9"}}}],
        "reduce": REDUCTIONS, "output": {"fields": ["c", "d", "g", "p"]}, **changes}


class Shares(Shared):
    device = "cpu"

    def setUp(self):
        super().setUp()
        flat = numpy.sin(numpy.arange(70001) ** 2.0)
        with h5py.File(self.directory / "data.h5", "w") as file:
            file["a"] = flat
            file["plane"] = flat[:70000].reshape(700, 100)
            file.create_dataset("packed", data=flat, chunks=(1000,), compression=1)
            file["few"] = flat[:7]
            file["hole"] = numpy.where(numpy.arange(70001) == 50000, numpy.nan, flat)

    def config(self, **changes):
        return transform(**{"device": self.device, **changes})

    def numbers(self, path):
        found = {}
        with h5py.File(path) as file:
            file.visititems(lambda name, item: found.update({name: numpy.asarray(item[()]).tobytes()})
                            if isinstance(item, h5py.Dataset) and not
                            any(word in name for word in ("seconds", "config", "wall", "chosen")) else None)
        return found

    def assert_as_one(self, counts, **changes):
        file = self.write("case.yaml", self.config(**changes))
        self.call("run", file, "--output", "one", "--quiet", "--overwrite",
                  environment={"OMP_NUM_THREADS": "1"})
        expected, images = self.numbers(self.directory / "one/case.h5"), self.contents("one", "*.vti")
        for count in counts:
            with self.subTest(ranks=count):
                self.on_ranks(count, "run", file, "--output", f"of_{count}", "--quiet", "--overwrite")
                found = self.numbers(self.directory / f"of_{count}/case.h5")
                self.assertEqual(sorted(found), sorted(expected))
                for name, value in expected.items():
                    self.assertEqual(found[name], value, name)
                self.assertEqual(self.contents(f"of_{count}", "*.vti"), images)

    def assert_written_by(self, expected, folder):
        with h5py.File(self.directory / folder / "case.h5") as file:
            self.assertIn(expected, file["gridstride/chosen/written by"].asstr()[()])

    def assert_fails_as_one(self, code, **changes):
        file = self.write("case.yaml", self.config(**changes))
        _, told = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=code)
        words = [line for line in told.splitlines() if "case.yaml" in line or "gridstride" in line]
        _, err = self.on_ranks(3, "run", file, "--output", "three", "--quiet", "--overwrite", code=code)
        for line in words:
            self.assertIn(line, err)
        self.assertNotIn("rank 1", err)


class OnHost(Shares):
    def test_all_steps_and_reductions(self):
        self.assert_as_one((2, 3, 5))

    def test_files_that_are_written_while_the_data_pass(self):
        self.assert_as_one((2, 3), **WHILE_IT_PASSES)
        self.assert_written_by(BY_THEMSELVES, "of_3")
        self.assertTrue(self.contents("of_3", "*.vti"))

    def test_files_that_the_first_rank_writes(self):
        fields = ["c", "d", "g", "p"]
        self.assert_as_one((3,), output={"fields": fields, "compression": 1}, **WHILE_IT_PASSES)
        self.assert_written_by("the first rank (what is packed or rounded goes through it)", "of_3")
        self.assert_as_one((2,), precision="float64", output={"fields": fields, "precision": "float32"},
                           **{**WHILE_IT_PASSES, "limits": {"device_memory": "3 MB", "chunk": "40 kB"}})
        self.assert_written_by("the first rank (what is packed or rounded", "of_2")
        # The second rank is in a folder where there are no such files.
        self.assert_as_one((), **WHILE_IT_PASSES)
        words = ("run", self.directory / "case.yaml", "--output", "here", "--quiet")
        (self.directory / "there").mkdir()
        self.end_of(self.start_words(
            MPIRUN, "-n", 1, support.PROGRAM, *words, ":", "-n", 1, "--wdir", self.directory / "there",
            support.PROGRAM, *words), DONE, "two folders")
        self.assert_written_by("the first rank (rank 1: here/case_", "here")
        self.assertEqual(self.contents("here", "*.vti"), self.contents("one", "*.vti"))
        self.assertEqual(self.numbers(self.directory / "here/case.h5"),
                         self.numbers(self.directory / "one/case.h5"))

    def test_a_file_that_a_rank_cannot_write(self):
        """No file of the second rank may be longer than 16 MiB, where its rows begin."""
        file = self.write("case.yaml", self.config(
            input={"a": "x", "b": 2}, grid={"points": 4194301}, steps=[{"formula": {"c": "a*b"}}],
            output={"fields": ["a", "c"]}, **{**WHILE_IT_PASSES, "limits": {"device_memory": "2 MB"}}))
        limited = f"ulimit -f 32768; trap '' XFSZ; exec {support.PROGRAM} \"$@\""
        words = ("run", file, "--output", "out", "--quiet")
        _, err = self.end_of(self.start_words(
            MPIRUN, "-n", 1, support.PROGRAM, *words, ":", "-n", 1, "sh", "-c", limited, "sh", *words),
            FAILED, "a limited rank")
        self.assertIn("File too large", err)
        self.assertIn("out/case", err)
        self.assertEqual(self.contents("out", "*.vti*"), {})
        with h5py.File(self.directory / "out/case.h5") as result:
            self.assertEqual(result["gridstride/step"].shape, (0,))
            self.assertIn("File too large", result["gridstride/ended"].asstr()[()])

    def test_planes_and_packed_files(self):
        plane = {"a": {"file": "data.h5", "dataset": "/plane"}, "b": "1 + x*y"}
        for axis in ("x", "y"):
            self.assert_as_one((3,), input=plane, axis=axis, grid={"spacing": [0.01, 0.01]},
                               limits={"chunk": "3 kB"})
        self.assert_as_one((2,), input={"a": {"file": "data.h5", "dataset": "/packed"}, "b": 2},
                           precision="float64")

    def test_ranks_without_a_row_of_a_difference(self):
        self.assert_as_one((2, 3), input={"a": {"file": "data.h5", "dataset": "/few"}},
                           steps=[{"difference": {"d": {"of": "a", "order": 3}}}], reduce=[{"moments": "d"}],
                           output={"fields": ["d"]})

    def test_fewer_values_than_a_tile(self):
        self.assert_as_one((5,), input={"a": "sin(x)", "b": 1}, grid={"points": 23}, reduce=[
            {"moments": "c"}, {"quantiles": {"of": "d", "at": [0.5]}}], steps=[
            {"formula": {"c": "a*b", "d": "abs(c)"}},
            {"difference": {"g": {"of": "c", "order": 8}}}], output={"fields": ["c", "d", "g"]})

    def test_failures(self):
        self.assert_fails_as_one(BAD_INPUT, input={"a": {"file": "data.h5", "dataset": "/hole"}, "b": 1})
        self.assert_fails_as_one(FAILED, steps=[{"formula": {"c": "1/(x - 600)", "d": "a"}}],
                                 grid={"spacing": 1}, reduce=[{"moments": "c"}], output={"fields": ["d"]})

    def test_what_one_process_makes(self):
        for step, why in (({"scan": {"s": {"of": "a"}}}, "goes on from the first value"),
                          ({"sort": {"s": {"of": "a"}}}, "orders all values"),
                          ({"spectrum": {"s": {"of": "a"}}}, "from segment to segment")):
            file = self.write("case.yaml", self.config(steps=[step], reduce=[], output={"fields": ["s"]}))
            _, err = self.call("check", file, "--ranks", 2, code=BAD_INPUT)
            self.assertIn(why, err)
        file = self.write("case.yaml", self.config(
            input={"a": "x", "b": 1}, grid={"points": 3}, steps=[], reduce=[{"moments": "a"}],
            output={"fields": ["a"]}))
        _, err = self.call("check", file, "--ranks", 4, code=BAD_INPUT)
        self.assertIn("4 ranks are too many for 3 points along x", err)

    def test_the_forecast(self):
        out, _ = self.call("check", self.write("case.yaml", self.config()), "--ranks", 2)
        self.assertIn("on the device for each rank", out)


class OnGpu(Shares):
    device = "cuda"

    def setUp(self):
        super().setUp()
        self.need_gpu()

    def test_all_steps_and_reductions(self):
        self.assert_as_one((2, 3))

    def test_files_that_are_written_while_the_data_pass(self):
        self.assert_as_one((2,), **WHILE_IT_PASSES)
        self.assert_written_by(BY_THEMSELVES, "of_2")
        self.assert_as_one((2,), output={"fields": ["c", "g"], "compression": 1}, **WHILE_IT_PASSES)

    def test_failures(self):
        self.assert_fails_as_one(BAD_INPUT, input={"a": {"file": "data.h5", "dataset": "/hole"}, "b": 1})


if __name__ == "__main__":
    support.main()
