"""`compare` and `verify` find every difference, and say where it is."""

import json
import math
import shutil

import h5py
import numpy

import support
from support import DOES_NOT_HOLD, FAILED, heat, replace_double

# One value that is easy to find in a file, at the cell (8, 4) of the first step.
MARKED = heat(initial={"u": "if(abs(x - 0.5) + abs(y - 0.25) < 1e-9, 0.1234567, y)"})


class Compare(support.Case):
    def setUp(self):
        super().setUp()
        self.call("run", self.write("a.yaml", MARKED), "--quiet")
        shutil.copy(self.directory / "outputs/a/a.h5", self.directory / "b.h5")

    def change(self, value):
        replace_double(self.directory / "b.h5", 0.1234567, value)

    def compare(self, *options, code=DOES_NOT_HOLD):
        return self.call("compare", "b.h5", "outputs/a", *options, code=code)[0]

    def test_equal(self):
        self.assertIn("equal within tolerance", self.compare("--rtol", 0, "--atol", 0, code=0))

    def test_the_worst_place_is_named(self):
        self.change(0.1234567 + 1e-3)
        out = self.compare()
        self.assertRegex(out, r"\nu +1\.000e-03 +8\.100e-03 +\S+ +1  step 0 \(t = 0\) at "
                              r"\(8, 4, 0\): 0\.1244567 and 0\.1234567\n")
        self.assertTrue(out.endswith("DIFFERENT\n"))

    def test_tolerances(self):
        self.change(0.1234567 * (1 + 1e-6))
        self.compare()
        self.compare("--rtol", "2e-6", code=0)
        self.compare("--rtol", "5e-7")
        self.compare("--rtol", 0, "--atol", "2e-7", code=0)
        self.compare("--rtol", 0, "--atol", "1e-7")

    def test_a_tolerance_is_a_number(self):
        self.change(9.9)
        for option in "--rtol", "--atol":
            for bad in "nan", "-nan", "inf", "-1e-3", "1e999", "many":
                _, err = self.call("compare", "b.h5", "outputs/a", f"{option}={bad}",
                                   code=support.BAD_INPUT)
                self.assertIn(f"'{bad}' is no tolerance", err)

    def test_one_bit(self):
        self.change(math.nextafter(0.1234567, 1))
        self.compare("--rtol", 0, "--atol", 0)

    def test_nan_equals_nan_alone(self):
        self.change(math.nan)
        self.assertIn("nan and 0.1234567", self.compare("--rtol", 1, "--atol", 1))
        shutil.copy(self.directory / "b.h5", self.directory / "c.h5")
        self.call("compare", "b.h5", "c.h5")

    def mismatch(self, message, **changes):
        self.call("run", self.write("other.yaml", {**MARKED, **changes}), "--quiet")
        out, _ = self.call("compare", "outputs/other", "outputs/a", "--rtol", 1e9, "--atol", 1e9,
                           code=DOES_NOT_HOLD)
        self.assertRegex(out, message)

    def test_shapes_types_and_times_are_strict(self):
        self.mismatch("the grid has 16 x 16 points in A, 17 x 16 in B", grid={"points": [16, 16]})
        self.mismatch("axis x has spacing 0.125 in A, 0.0625 in B",
                      grid={"points": [17, 16], "upper": [2, 1]})
        self.mismatch("axis y starts at -1 in A, at 0 in B",
                      grid={"points": [17, 16], "lower": [0, -1], "upper": [1, 0]})
        self.mismatch("there are 3 steps in A, 5 in B", output={"every": {"count": 2}})
        self.mismatch("step 1 is at time 0.005 in A, 0.0025 in B", time={"end": 0.02})

    def test_types_differ_by_their_rounding(self):
        self.call("run", self.write("single.yaml", {**MARKED, "precision": "float32"}), "--quiet")
        def compare(tolerance, code):
            return self.call("compare", "outputs/single", "outputs/a", "--rtol", tolerance,
                             "--atol", tolerance, code=code)[0]
        types = "field 'u' is float32 in A, float64 in B"
        self.assertIn(f"note: {types}\n", compare(1e-5, 0))
        self.assertIn(f"note: {types}\n", compare(1e-12, DOES_NOT_HOLD))
        self.assertIn(f"mismatch: {types}\n", compare(0, DOES_NOT_HOLD))

    def test_a_result_without_fields(self):
        for name in "c", "d":
            self.call("run", self.write(f"{name}.yaml", heat(output={"fields": []})), "--quiet")
        self.assertIn("there is no field in A or B",
                      self.call("compare", "outputs/c", "outputs/d", code=DOES_NOT_HOLD)[0])

    def test_names_are_strict(self):
        # The name stands in the data and in the series of offsets: a field 'v' in place of 'u'.
        content = (self.directory / "b.h5").read_bytes()
        (self.directory / "b.h5").write_bytes(content.replace(b"\0u\0", b"\0v\0"))
        out = self.compare("--rtol", 1e9, "--atol", 1e9)
        self.assertIn("mismatch: field 'v' is in A alone\n", out)
        self.assertIn("mismatch: field 'u' is in B alone\n", out)

    def test_what_is_no_result(self):
        self.call("compare", "a.yaml", "b.h5", code=FAILED)
        self.call("compare", "b.h5", "nowhere.h5", code=FAILED)
        content = (self.directory / "b.h5").read_bytes()
        (self.directory / "cut.h5").write_bytes(content[:len(content) // 2])
        self.call("compare", "b.h5", "cut.h5", code=FAILED)


class Verify(support.Case):
    config = {**MARKED, "verify": {"reference": "reference/case.h5"}}

    def setUp(self):
        super().setUp()
        self.file = self.write("case.yaml", self.config)
        (self.directory / "reference").mkdir()
        out, _ = self.call("verify", self.file, "--update")
        self.assertIn("stored reference/case.h5", out)

    def test_holds(self):
        out, err = self.call("verify", self.file)
        self.assertIn("case.yaml: against reference/case.h5\n", out)
        self.assertTrue(out.endswith("1 of 1 verified\n"))
        self.assertEqual(err, "")

    def test_another_result(self):
        out, _ = self.call("verify", self.file, "--set", "parameters.diffusivity=1.001",
                           code=DOES_NOT_HOLD)
        self.assertIn("DIFFERENT", out)
        self.assertTrue(out.endswith("0 of 1 verified\n"))

    def test_another_reference(self):
        replace_double(self.directory / "reference/case.h5", 0.1234567, 0.1234568)
        out, _ = self.call("verify", self.file, code=DOES_NOT_HOLD)
        self.assertIn("at (8, 4, 0): 0.1234567 and 0.1234568", out)

    def test_update_renews(self):
        self.call("verify", self.file, "--set", "time.end=0.02", "--update")
        self.call("verify", self.file, code=DOES_NOT_HOLD)
        self.call("verify", self.file, "--set", "time.end=0.02")

    def test_all_files_are_judged(self):
        other = self.write("other.yaml", {**self.config, "time": {"end": 0.02}})
        out, _ = self.call("verify", other, self.file, code=DOES_NOT_HOLD)
        self.assertIn("other.yaml: against", out)
        self.assertTrue(out.endswith("1 of 2 verified\n"))

    def test_one_that_fails_does_not_end_the_others(self):
        bad = self.write("bad.yaml", {**self.config, "initial": {"u": "log(x - 2)"}})
        out, err = self.call("verify", bad, self.file, "--json", code=support.BAD_INPUT)
        self.assertIn("bad.yaml:", err)
        found = json.loads(out)
        self.assertEqual((found["verified"], found["of"]), (1, 2))
        self.assertIn("initial.u: is nan at", found["runs"][0]["failure"])
        self.assertFalse(found["runs"][0]["holds"])
        self.assertTrue(found["runs"][1]["holds"])
        out, err = self.call("verify", bad, self.file, code=support.BAD_INPUT)
        self.assertEqual(err.count("initial.u: is nan at"), 1)
        self.assertTrue(out.startswith("case.yaml: against"))
        self.assertTrue(out.endswith("1 of 2 verified\n"))

    def test_a_run_is_not_compared_with_itself(self):
        (self.directory / "link").symlink_to("outputs/case")
        for name in ("case/case.h5", "case", "case/", "./case", "../link"):
            _, err = self.call("verify", self.file, "--set", f"verify.reference=outputs/{name}",
                               code=support.BAD_INPUT)
            self.assertIn("is what this very run writes, and always equal to it", err)

    def test_an_update_replaces_results_alone(self):
        numpy.save(self.directory / "first.npy", numpy.zeros((16, 17)))
        self.write("notes.txt", "mine")
        shutil.rmtree(self.directory / "outputs")
        before = {name: (self.directory / name).read_bytes() for name in self.files()}
        for name, message in (("case.yaml", r"case\.yaml is a file that this run reads"),
                              ("./first.npy", r"first\.npy is a file that this run reads"),
                              ("notes.txt", r"only a result is replaced \(notes\.txt: "),
                              ("reference", r"is a folder \(.* as a file: reference/case\.h5\)"),
                              ("notes.txt/a.h5", r"'\S+/notes\.txt' is not a folder")):
            _, err = self.call("verify", self.file, "--update", "--set", f"verify.reference={name}",
                               "--set", "initial.u={file: first.npy}", code=support.BAD_INPUT)
            self.assertRegex(err, r"verify\.reference: .*" + message)
        _, err = self.call("verify", self.file, "--update", "--set", "output.fields=[]",
                           code=support.BAD_INPUT)
        self.assertIn("output.fields: is empty", err)
        self.assertEqual({name: (self.directory / name).read_bytes() for name in self.files()}, before)

    def test_an_update_makes_the_folder(self):
        self.call("verify", self.file, "--update", "--set", "verify.reference=new/one/case.h5")
        self.call("verify", self.file, "--set", "verify.reference=new/one/case.h5")

    def test_an_update_without_a_reference_says_so(self):
        exact = self.write("exact.yaml", {**MARKED, "verify": {"exact": {"u": 0},
                                                               "tolerance": {"max": 9}}})
        out, _ = self.call("verify", exact, "--update")
        self.assertIn("exact.yaml: nothing is stored (verify.reference names no file)\n", out)

    def test_places_are_the_same_to_rounding(self):
        """As `compare` has it."""
        self.call("verify", self.file, "--set", "grid.upper=[1.00000000000001, 1]")
        _, err = self.call("verify", self.file, "--set", "grid.upper=[1.0000000001, 1]",
                           code=support.BAD_INPUT)
        self.assertIn("or other ends", err)

    def test_missing_reference(self):
        (self.directory / "reference/case.h5").unlink()
        _, err = self.call("verify", self.file, code=support.BAD_INPUT)
        self.assertIn("verify.reference: there is no file reference/case.h5", err)

    def test_nothing_to_compare_with(self):
        plain = self.write("plain.yaml", MARKED)
        _, err = self.call("verify", plain, code=support.BAD_INPUT)
        self.assertIn("has nothing to compare with", err)


class Beside(support.Case):
    """What a result holds beside the fields on its grid: vectors on another one, and tables."""

    def setUp(self):
        super().setUp()
        self.call("run", self.write("a.yaml", MARKED), "--quiet")
        with h5py.File(self.directory / "outputs/a/a.h5") as plain:
            self.steps = len(plain["gridstride/step"])
        for name in "b.h5", "c.h5":
            shutil.copy(self.directory / "outputs/a/a.h5", self.directory / name)
            self.add(name)

    def add(self, name, last=9.0, rows=3):
        """A vector w at 4 points, and a table with one row more at each output."""
        with h5py.File(self.directory / name, "r+") as file:
            home = file["gridstride"]
            for old in "fields", "tables", "table_ends":
                if old in home:
                    del home[old]
            w = numpy.arange(self.steps * 8.0).reshape(self.steps, 4, 2)
            field = home.create_dataset("fields/w", data=w)
            field.attrs.update({"unit": numpy.bytes_("m/s"), "dims": 1, "points": [4, 1, 1],
                                "origin": [1.0, 0.0, 0.0], "spacing": [0.5, 1.0, 1.0]})
            ends = numpy.cumsum([rows] + [1] * (self.steps - 1))
            home["table_ends/peaks"] = ends
            peaks = home.create_group("tables/peaks")
            peaks.attrs["columns"] = numpy.bytes_("value index")
            peaks["value"] = numpy.append(numpy.zeros(ends[-1] - 1), last)
            peaks["index"] = numpy.arange(ends[-1])
            for column in "value", "index":
                peaks[column].attrs["unit"] = numpy.bytes_("K")

    def test_info_tells_them(self):
        out = self.call("info", "b.h5")[0]
        self.assertIn("field      u [1] float64\n"
                      "field      w [m/s] float64, 2 components, on a grid of its own: 4\n"
                      "  x        from 1 to 2.5, spacing 0.5\n"
                      "table      peaks: value [K] float64, index [K] int64; 1 rows at the end\n",
                      out)
        found = json.loads(self.call("info", "b.h5", "--json")[0])
        self.assertEqual(found["fields"][1],
                         {"name": "w", "unit": "m/s", "precision": "float64", "components": 2,
                          "grid": {"points": [4], "origin": [1.0], "spacing": [0.5]}})
        self.assertEqual(found["tables"],
                         [{"name": "peaks", "rows": [3] + [1] * (self.steps - 1),
                           "columns": [{"name": "value", "unit": "K", "type": "float64"},
                                       {"name": "index", "unit": "K", "type": "int64"}]}])
        self.assertEqual(json.loads(self.call("info", "outputs/a", "--json")[0])["tables"], [])

    def test_they_are_compared(self):
        self.call("compare", "b.h5", "c.h5", "--rtol", 0, "--atol", 0)
        self.add("c.h5", last=8.5)
        out = self.call("compare", "b.h5", "c.h5", code=DOES_NOT_HOLD)[0]
        self.assertRegex(out, r"\npeaks\.value +5\.000e-01 .* at row 0: 9 and 8\.5\n")
        self.call("compare", "b.h5", "c.h5", "--atol", 0.5)
        found = json.loads(self.call("compare", "b.h5", "c.h5", "--json", code=DOES_NOT_HOLD)[0])
        worst = found["columns"][0]
        self.assertEqual((worst["name"], worst["violations"]), ("peaks.value", 1))
        self.assertEqual((worst["worst"]["row"], worst["worst"]["output"]), (0, self.steps - 1))
        self.add("c.h5", rows=4)
        out = self.call("compare", "b.h5", "c.h5", "--rtol", 1, code=DOES_NOT_HOLD)[0]
        self.assertIn("mismatch: table 'peaks' has 3 rows at step 0 in A, 4 in B\n", out)
        out = self.call("compare", "b.h5", "outputs/a", "--rtol", 1, code=DOES_NOT_HOLD)[0]
        self.assertIn("mismatch: field 'w' is in A alone\n", out)
        self.assertIn("mismatch: table 'peaks' is in A alone\n", out)

    def test_components_are_named(self):
        with h5py.File(self.directory / "c.h5", "r+") as file:
            file["gridstride/fields/w"][0, 3, 1] += 1
        out = self.call("compare", "b.h5", "c.h5", code=DOES_NOT_HOLD)[0]
        self.assertIn("step 0 (t = 0) at (3, 0, 0), component 1: 7 and 8\n", out)
        found = json.loads(self.call("compare", "b.h5", "c.h5", "--json", code=DOES_NOT_HOLD)[0])
        self.assertEqual(found["fields"][1]["worst"]["component"], 1)


if __name__ == "__main__":
    support.main()
