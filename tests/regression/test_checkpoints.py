"""Checkpoints: which are kept and taken, what they tell, and what is refused."""

import hashlib
import json
import os
import shutil
import struct

import h5py

import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED, heat, moving


class Checkpoints(support.Case):
    """Checkpoints of a run that came to its end."""

    def setUp(self):
        super().setUp()
        self.config = moving(output={"every": {"count": 6}},
                             checkpoint={"every": {"count": 5}, "keep": 3})
        self.file = self.write("case.yaml", self.config)
        self.call("run", self.file, "--quiet")
        shutil.copytree(self.directory / "outputs/case", self.directory / "first")

    def checkpoints(self):
        return sorted((self.directory / "outputs/case").glob("*.checkpoint"))

    def test_as_many_are_kept_as_asked(self):
        self.assertEqual(len(self.checkpoints()), 3)
        self.call("run", self.file, "--quiet", "--overwrite", "--set", "checkpoint.keep=1")
        self.assertEqual(len(self.checkpoints()), 1)

    def test_the_newest_is_taken(self):
        _, err = self.call("run", self.file, "--restart")
        self.assertRegex(err, r"\n0 steps,")
        self.assert_same("outputs/case", "first")

    def test_info(self):
        newest = self.checkpoints()[-1]
        found = self.info(newest)
        self.assertEqual(found["head"], f"{newest}: intact checkpoint")
        self.assertEqual(found["time"][0], "0.25")
        self.assertEqual(int(found["step"][0]), int(newest.stem.rpartition("_")[2]))
        self.assertIn(f"u [{33 * 32}]", found["holds"])
        self.assertEqual(found["simulation:"], ["heat"])
        told = json.loads(self.call("info", "--json", newest)[0])
        self.assertEqual((told["time"], told["values"]["u"]), (0.25, 33 * 32))
        os.truncate(newest, newest.stat().st_size - 1000)
        _, err = self.call("info", newest, code=FAILED)
        self.assertIn(newest.name, err)

    def test_an_older_one_by_name(self):
        oldest = self.checkpoints()[0]
        _, err = self.call("run", self.file, "--restart", oldest)
        self.assertRegex(err, r"\n[1-9]\d* steps,")
        self.assert_same("outputs/case", "first")

    def test_later_ones_go(self):
        oldest, *later = self.checkpoints()
        short = {**self.config, "time": {"scheme": "rk4", "end": 0.2},
                 "output": {"every": {"time": 0.25 / 6}}}
        del short["checkpoint"]
        self.write("case.yaml", short)
        self.call("run", self.file, "--quiet", "--restart", oldest)
        self.assertEqual(self.checkpoints(), [oldest])
        log = (self.directory / "outputs/case/case.log").read_text()
        step = int(oldest.stem.rpartition("_")[2])
        self.assertIn(f"\nremoved, as of later steps than {step}, from which the run goes on: " +
                      ", ".join(path.name for path in reversed(later)) + "\n", log)
        self.write("case.yaml", self.config)
        self.call("run", self.file, "--quiet", "--restart")
        self.assert_same("outputs/case", "first")
        self.assertEqual((self.directory / "outputs/case/case.pvd").read_bytes(),
                         (self.directory / "first/case.pvd").read_bytes())

    def test_formats_end_with_the_same_output(self):
        """Where the outputs of another part have more steps up to the same time."""
        config = heat(grid={"points": 17}, initial={"u": "x"}, boundary={"x": {"neumann": 0}},
                      parameters={"diffusivity": 0.01},
                      time={"scheme": "rk4", "end": 0.4, "step": 0.01},
                      output={"every": {"time": 0.1}}, checkpoint={"every": {"steps": 30}})
        self.write("case.yaml", config)
        self.call("run", self.file, "--quiet", "--overwrite")
        saved = self.directory / "outputs/case/case_000000000030.checkpoint"
        saved.rename(self.directory / "saved.checkpoint")
        self.call("run", self.file, "--quiet", "--overwrite", "--set", "time.end=0.2",
                  "--set", "output.every.time=0.004")
        self.call("run", self.file, "--quiet", "--restart", "saved.checkpoint")
        steps = json.loads(self.call("info", "outputs/case", "--json")[0])["steps"]
        self.assertEqual(steps, [*range(31), 40])
        series = (self.directory / "outputs/case/case.pvd").read_text()
        self.assertEqual(series.count("<DataSet"), len(steps))

    def test_at_the_end_the_verification_is_made(self):
        verify = {"exact": {"u": "0"}, "tolerance": {"max": 1e-3}}
        self.write("case.yaml", {**self.config, "verify": verify})
        _, err = self.call("run", self.file, "--restart", code=DOES_NOT_HOLD)
        self.assertIn("u: max error", err)

    def test_fewer_outputs_leave_none_behind(self):
        middle = self.checkpoints()[0]
        self.call("run", self.file, "--quiet", "--restart", middle, "--set", "output.every.count=1")
        images = [path.name for path in sorted((self.directory / "outputs/case").glob("*.vti"))]
        series = (self.directory / "outputs/case/case.pvd").read_text()
        self.assertEqual(images, [f"case_{i:06}.vti" for i in range(series.count("<DataSet"))])
        self.assertLess(len(images), 7)

    def test_later_end(self):
        # To a multiple of both cadences, so that one run in one go takes the same steps.
        longer = ["--set", "time.end=0.5", "--set", "output.every.count=12",
                  "--set", "checkpoint.every.count=10"]
        self.call("run", self.file, "--quiet", "--restart", *longer)
        self.call("run", self.file, "--quiet", "--output", "whole", *longer)
        self.assert_same("outputs/case", "whole")

    def test_elsewhere(self):
        oldest = self.checkpoints()[0]
        before = self.files()
        _, err = self.call("run", self.file, "--output", "new", "--restart", oldest, code=FAILED)
        self.assertIn("new/case.pvd: of the first part of the run is missing; --new-series", err)
        self.assertEqual(self.files(), before)
        self.call("run", self.file, "--quiet", "--output", "new", "--restart", oldest,
                  "--new-series")
        out, _ = self.call("compare", "new", "first", code=DOES_NOT_HOLD)
        self.assertIn("steps in A, 7 in B", out)

    def contents(self):
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                for path in sorted((self.directory / "outputs/case").iterdir())}

    def refuse(self, message, *options, code=FAILED):
        before = self.contents()
        _, err = self.call("run", self.file, "--restart", *options, code=code)
        self.assertRegex(err, message)
        self.assertEqual(self.contents(), before)

    def test_of_another_problem(self):
        for setting, change in (
                ("parameters.source=1", r"parameters\.source was sin\(50\*t\)\*x and is 1\)"),
                ("grid.points=[33,33]", r"grid\.points was \[33, 32\] and is \[33, 33\]\)"),
                ("time.scheme=ftcs", r"time\.scheme was rk4 and is ftcs\)"),
                ("precision=float32", r"precision was float64 and is float32\)"),
                ("boundary.y={neumann: 0}", r"boundary\.y was periodic")):
            with self.subTest(setting=setting):
                self.refuse(r"the checkpoint outputs/case/case_\d+\.checkpoint belongs to another "
                            r"problem \(.*" + change if "boundary" not in setting else change,
                            "--set", setting, code=BAD_INPUT)

    def test_of_a_file_with_other_values(self):
        def put(*values):
            (self.directory / "speed.raw").write_bytes(struct.pack("<5d", *values))
        put(1, 2, 3, 4, 5)
        speed = {"file": "speed.raw", "type": "float64", "shape": 5}
        self.file = self.write("case.yaml", heat(
            simulation="wave", grid={"points": 5}, boundary=None, initial={"u": "x"},
            parameters={"speed": speed}, checkpoint={"every": {"count": 2}}))
        self.call("run", self.file, "--quiet", "--overwrite")
        put(5, 4, 3, 2, 1)
        self.refuse(r"\d+: parameters\.speed: .*speed\.raw holds other values than when", code=BAD_INPUT)
        put(1, 2, 3, 4, 5)
        self.call("run", self.file, "--restart", "--set", "time.end=2")

    def test_of_coefficients_with_other_values(self):
        def put(name, *values):
            (self.directory / f"{name}.raw").write_bytes(struct.pack("<5d", *values))
        put("a", 1, 2, 3, 4, 5)
        put("f", 5, 4, 3, 2, 1)
        files = {key: {"file": f"{name}.raw", "type": "float64", "shape": 5}
                 for key, name in (("diffusivity", "a"), ("source", "f"))}
        flow = heat(simulation="advection", grid={"points": 5}, boundary=None, initial={"u": "x"},
                    parameters={"velocity": {"x": files["source"]}}, checkpoint={"every": {"count": 2}})
        self.file = self.write("case.yaml", flow)
        self.call("run", self.file, "--quiet", "--overwrite")
        put("f", 5, 4, 3, 2, 1.5)
        self.refuse(r"\d+: parameters\.velocity\.x: .*f\.raw holds other values than when", code=BAD_INPUT)
        put("f", 5, 4, 3, 2, 1)
        for time in ({"end": 0.1}, {"end": 0.1, "scheme": "crank_nicolson", "step": 0.01}):
            self.file = self.write("case.yaml", heat(
                grid={"points": 5}, boundary=None, initial={"u": "x"}, parameters=files, time=time,
                checkpoint={"every": {"count": 2}}))
            self.call("run", self.file, "--quiet", "--overwrite")
            put("a", 1, 2, 4, 3, 5)
            self.refuse(r"\d+: parameters\.diffusivity: .*a\.raw holds other values than when", code=BAD_INPUT)
            put("a", 1, 2, 3, 4, 5)
            put("f", 5, 4, 3, 2, 1.5)
            self.refuse(r"\d+: parameters\.source: .*f\.raw holds other values than when", code=BAD_INPUT)
            put("f", 5, 4, 3, 2, 1)
            self.call("run", self.file, "--restart", "--set", "time.end=0.2")

    def test_of_a_later_time_than_the_end(self):
        for options in ([], [self.checkpoints()[0]]):
            self.refuse(r"time\.end: the checkpoint \S+ is of a later time \(\S+ s\) than the end "
                        r"\(0\.001 s\)", *options, "--set", "time.end=0.001", code=BAD_INPUT)

    def test_files_of_the_first_part_are_missing(self):
        for name in ("case.h5", "case.pvd"):
            with self.subTest(name=name):
                path = self.directory / "outputs/case" / name
                content = path.read_bytes()
                path.unlink()
                self.refuse(rf"{name}: of the first part of the run is missing; --new-series",
                            self.checkpoints()[0])
                path.write_bytes(content)

    def test_files_that_begin_after_the_checkpoint(self):
        options = ["--output", "new", "--restart", self.checkpoints()[0]]
        self.call("run", self.file, "--quiet", *options, "--new-series")
        for formats, name in (("[vti]", "pvd"), ("[hdf5]", "h5")):
            _, err = self.call("run", self.file, *options, "--set", f"output.formats={formats}",
                               code=FAILED)
            self.assertIn(f"new/case.{name}: holds nothing of the first part of the run; "
                          "--new-series begins it anew", err)
        before = self.info("new")["times"]
        self.call("run", self.file, "--quiet", *options, "--new-series")
        self.assertEqual(self.info("new")["times"], before)

    def test_images_without_their_list_stay(self):
        (self.directory / "outputs/case/case.pvd").unlink()
        self.refuse("case.pvd: is missing, but not the images that it listed", "--new-series")

    def test_new_series_where_the_result_is_missing(self):
        oldest = self.checkpoints()[0]
        (self.directory / "outputs/case/case.h5").unlink()
        self.call("run", self.file, "--quiet", "--restart", oldest, "--new-series")
        times = self.info("outputs/case")["times"][0]
        self.assertRegex(times, r"^\d, from 0\.1\d* to 0\.25 ")
        series = (self.directory / "outputs/case/case.pvd").read_text()
        self.assertEqual(series, (self.directory / "first/case.pvd").read_text())

    def test_result_of_another_problem_is_not_gone_on_with(self):
        self.call("run", self.file, "--quiet", "--output", "other", "--set", "checkpoint={}",
                  "--set", "parameters.source=1")
        before = self.files()
        _, err = self.call("run", self.file, "--output", "other", "--restart",
                           self.checkpoints()[0], code=FAILED)
        self.assertIn("other/case.h5: is the result of another problem (parameters.source was 1 "
                      "and is sin(50*t)*x)", err)
        self.assertEqual(self.files(), before)

    def test_a_run_without_restart_replaces_no_checkpoints(self):
        for command in ("run", "verify"):
            before = self.contents()
            out, _ = self.call("check", self.file)
            self.assertIn("\n# outputs/case holds checkpoints of an earlier run: `run` asks for "
                          "--restart", out)
            options = ["--set", "verify={exact: {u: '0'}, tolerance: {max: 1e9}}"]
            _, err = self.call(command, self.file, *options, code=BAD_INPUT)
            self.assertRegex(err, r"output\.directory: outputs/case holds checkpoints of an earlier "
                                  r"run, the newest case_\d+\.checkpoint \(`run --restart` goes on "
                                  r"from it, `--overwrite` removes them")
            self.assertEqual(self.contents(), before)
            self.call(command, self.file, "--output", f"by_{command}", *options)
            shutil.rmtree(self.directory / "outputs/case")
            shutil.copytree(self.directory / "first", self.directory / "outputs/case")
            self.call(command, self.file, "--overwrite", *options)
            self.assert_same("outputs/case", "first")
        _, err = self.call("run", self.file, "--overwrite", "--restart", code=BAD_INPUT)
        self.assertIn("--overwrite", err)

    def test_overwriting_takes_memory_first(self):
        before = self.contents()
        self.call("run", self.file, "--overwrite", "--set", "grid.points=[20000,20000]",
                  code=None, **support.limited_to(2 << 30))
        self.assertEqual(self.contents(), before)

    def test_one_of_several_files(self):
        other = self.write("other.yaml", self.config)
        before = self.files()
        _, err = self.call("run", other, self.file, code=BAD_INPUT)
        self.assertIn("holds checkpoints of an earlier run", err)
        self.assertEqual(self.files(), before)

    def test_damaged(self):
        older, newest = self.checkpoints()[-2:]
        older = older.relative_to(self.directory)
        whole = newest.read_bytes()
        refused = 0
        times = newest.stat().st_atime_ns, newest.stat().st_mtime_ns
        for start in range(0, len(whole), len(whole) // 12):
            with self.subTest(start=start):
                damaged = bytearray(whole)
                damaged[start] ^= 0x10
                newest.write_bytes(damaged)
                os.utime(newest, ns=times)
                process = self.start("run", self.file, "--restart")
                _, err = process.communicate(timeout=60)
                if process.returncode == FAILED:
                    refused += 1
                    self.assertRegex(err, rf"{newest.name}.*; `--restart {older}` goes on from "
                                          "the one before it")
                # Some bytes of the format mean nothing; no other may pass.
                self.assert_same("outputs/case", "first")
        self.assertGreater(refused, 8)
        self.call("run", self.file, "--quiet", "--restart", older)
        self.assert_same("outputs/case", "first")

    def test_cut(self):
        newest = self.checkpoints()[-1]
        os.truncate(newest, newest.stat().st_size - 1000)
        self.refuse(newest.name, newest)

    def test_missing_or_foreign(self):
        self.refuse("nowhere: ", "nowhere")
        self.refuse("is no checkpoint of gridstride", "first/case.h5")


class EqualSteps(support.Case):
    """Steps of leapfrog, which nothing but outputs and the end may shorten."""

    wave = {"simulation": "wave", "grid": {"points": 33}, "boundary": {"x": "free"},
            "initial": {"u": "exp(-50*(x - 0.5)^2)"},
            "parameters": {"speed": 1, "order": 2}}
    pde = {"simulation": "pde", "grid": {"points": 33}, "boundary": {"x": {"neumann": 0}},
           "fields": {"u": {"order": 2}}, "equations": {"u": "laplace(u)"},
           "initial": {"u": "exp(-50*(x - 0.5)^2)", "u_t": 0}}

    def test_checkpoints_shorten_none(self):
        for problem in self.wave, self.pde:
            with self.subTest(simulation=problem["simulation"]):
                config = {**problem, "time": {"scheme": "leapfrog", "end": 1},
                          "output": {"every": {"time": 0.1}, "formats": ["hdf5"]}}
                file = self.write("case.yaml", config)
                self.call("run", file, "--quiet", "--overwrite", "--output", "whole")
                self.write("case.yaml", {**config,
                                         "checkpoint": {"every": {"time": 0.16}, "keep": 9}})
                out, _ = self.call("check", file)
                self.assertRegex(out, r"# time step: 0\.025 s, 40 steps,")
                self.assertRegex(out, r" for 7 checkpoints\b")
                self.call("run", file, "--quiet", "--overwrite")
                self.assert_same("outputs/case", "whole")
                saved = sorted((self.directory / "outputs/case").glob("*.checkpoint"))
                self.assertEqual([int(path.stem.rpartition("_")[2]) for path in saved],
                                 [7, 13, 20, 26, 32, 39, 40])
                self.call("run", file, "--quiet", "--restart", saved[1])
                self.assert_same("outputs/case", "whole")
                for path in saved:
                    self.assertTrue(path.exists(), path)


class GoingOnOtherwise(support.Case):
    """From the middle of a run, with outputs that are not those of its first part, or whose files are not whole."""

    def setUp(self):
        super().setUp()
        self.config = {"simulation": "pde", "device": "cpu", "grid": {"points": 8}, "boundary": {"x": "periodic"},
                       "equations": {"u": "0*u", "v": "-v"}, "initial": {"u": "1 + x", "v": 1},
                       "time": {"scheme": "euler", "step": 0.125, "end": 1}, "output": {"every": {"count": 8},
                                                                                    "derived": {"s": "2*u"}},
                       "checkpoint": {"every": {"time": 0.5}, "keep": 9}, "diagnostics": [
                           "norms", {"integral": {"of": "u", "name": "I"}},
                           {"maximum": {"of": "v", "name": "M", "where": True}}, {"minimum": {"of": "v", "name": "m"}}]}
        self.first = self.directory / "outputs/case"
        self.first_part()

    def first_part(self, **output):
        shutil.rmtree(self.first, ignore_errors=True)
        self.call("run", self.changed(output=output), "--quiet")

    def changed(self, output=None, **changes):
        return self.write("case.yaml", {**self.config, **changes, "output": {**self.config["output"], **(output or {})}})

    def restart(self, *options, **how):
        return self.call("run", "case.yaml", "--quiet", "--restart", "outputs/case/case_000000000004.checkpoint", *options,
                         **how)

    def go_on(self):
        """From the end of it to a later one."""
        self.call("run", "case.yaml", "--quiet", "--restart", "--set", "time.end=2")

    def refuse(self, message, *options, code=FAILED):
        contents = {path: path.read_bytes() for path in self.first.iterdir()}
        _, err = self.restart(*options, code=code)
        self.assertRegex(err, message)
        self.assertEqual({path: path.read_bytes() for path in self.first.iterdir()}, contents)

    def series(self, name):
        with h5py.File(self.first / "case.h5") as file:
            return file["gridstride/diagnostics"][name][()]

    def assert_begun_anew(self):
        """By --new-series; both formats hold the second half alone."""
        self.restart("--new-series")
        self.assertRegex(self.info("outputs/case")["times"][0], r"^5, from 0\.5 to 1 ")
        self.assertEqual((self.first / "case.pvd").read_text().count("<DataSet"), 5)
        self.assertEqual(len(list(self.first.glob("*.vti"))), 5)
        self.assertEqual(list(self.first.glob("*.previous")), [])
        self.go_on()

    def test_derived_fields_of_other_formulas(self):
        told = r"holds fields of other formulas than this run's \(output\.derived\.s was 2\*u and is 3\*u\); --new-series "
        for formats, file in ((["hdf5"], r"case\.h5: "), (["vti"], r"case_000003\.vti: "), (["vti", "hdf5"], "case")):
            with self.subTest(formats=formats):
                self.first_part(formats=formats)
                self.changed(output={"formats": formats, "derived": {"s": "3*u"}})
                self.refuse(file + ".*" + told)
        self.assert_begun_anew()
        self.assertEqual(set(self.series("s.min")), {3})

    def test_other_fields(self):
        for formats, told in (
                (["hdf5"], r"case\.h5: holds other fields than this run writes \(output\.fields was \[u, v, s\] and is "
                           r"\[s, u\]\); --new-series begins it anew"),
                (["vti", "hdf5"], r"case_000003\.vti: holds other fields \(s, u, v\) than this run writes \(s, u; "
                                  r"output\.fields, output\.derived\); --new-series begins case\.pvd anew")):
            with self.subTest(formats=formats):
                self.first_part(formats=formats)
                self.changed(output={"formats": formats, "fields": ["s", "u"]})
                self.refuse(told)
        self.assert_begun_anew()

    def test_fields_in_another_order(self):
        self.changed(output={"fields": ["s", "v", "u"]})
        self.restart()
        self.assertRegex(self.info("outputs/case")["times"][0], "^9, from 0 to 1 ")

    def test_numbers_of_other_formulas(self):
        """Are none that the first part had."""
        self.changed(diagnostics=["norms", {"integral": {"of": "u + 100", "name": "I"}},
                                  {"minimum": {"of": "v", "name": "M", "where": True}},
                                  {"minimum": {"of": "v", "name": "m", "where": True}}])
        self.restart()
        for name, known in (("I", False), ("M", False), ("M.x", False), ("m", True), ("m.x", False), ("u.mean", True)):
            with self.subTest(name=name):
                values = self.series(name)
                self.assertEqual([value == value for value in values], [known]*4 + [True]*5)
        self.assertGreater(self.series("I")[-1], 100)

    def test_formats_that_are_left_out(self):
        for formats, name in (("[vti]", "case.h5"), ("[hdf5]", "case.pvd"), ("[]", "case.pvd")):
            for more in ([], ["--new-series"]):
                self.refuse(rf"output\.formats: outputs/case/{name} of the first part of the run would not be gone on with "
                            r"\('\w+' is left out\); move it elsewhere, or have it written",
                            "--set", f"output.formats={formats}", *more, code=BAD_INPUT)
        self.refuse(r"output\.fields: outputs/case/case\.pvd of the first part .* \(no fields are written\)",
                    "--set", "output.fields=[]", "--new-series", code=BAD_INPUT)
        (self.first / "case.h5").rename(self.directory / "kept.h5")
        self.restart("--set", "output.formats=[vti]", "--set", "time.end=2")

    def test_files_that_are_not_whole(self):
        for name, told in (("case_000002.vti", "has lost its end; --new-series begins case.pvd anew"),
                           ("case.pvd", "is cut off; --new-series begins it anew"),
                           ("case.h5", "truncated file.*; --new-series begins it anew")):
            with self.subTest(name=name):
                self.first_part()
                file = self.first / name
                os.truncate(file, file.stat().st_size - 20)
                self.refuse(rf"{name}: .*{told} from the checkpoint on")
                self.restart("--new-series")
                self.go_on()
        self.first_part()
        (self.first / "case_000001.vti").unlink()
        self.refuse(r"case_000001\.vti: of the first part of the run is missing; --new-series begins case\.pvd anew")
        (self.first / "case.h5").write_bytes(b"")
        self.assert_begun_anew()


if __name__ == "__main__":
    support.main()
