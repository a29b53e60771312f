"""What a run writes: names, contents, provenance, cadences, and what happens when it cannot."""

import json
import os
import re
import resource
import struct
import xml.etree.ElementTree as xml

import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED, heat


def series(path):
    """The files of a .pvd with their times, as {name: time}."""
    return {item.get("file"): float(item.get("timestep"))
            for item in xml.parse(path).getroot().iter("DataSet")}


class Files(support.Case):
    def test_names(self):
        self.call("run", self.write("in/some.case.yaml", heat()), "--quiet")
        images = [f"some.case_{i:06}.vti" for i in range(5)]
        self.assertEqual(self.files("outputs/some.case"),
                         sorted(["some.case.h5", "some.case.log", "some.case.pvd", *images]))
        self.assertEqual(list(series(self.directory / "outputs/some.case/some.case.pvd")), images)

    def test_names_that_need_care_in_xml(self):
        name = "a & b <\"c\"> 'd'\t--\n]]>"
        self.call("run", self.write(name + ".yaml", heat()), "--quiet")
        images = [f"{name}_{i:06}.vti" for i in range(5)]
        self.assertEqual(list(series(self.directory / f"outputs/{name}/{name}.pvd")), images)
        os.rename(self.directory / (name + ".yaml"), bytes(self.directory) + b"/caf\xe9.yaml")
        latin = b"caf\xe9.yaml".decode("utf-8", "surrogateescape")
        _, err = self.call("run", latin, code=BAD_INPUT, errors="replace")
        self.assertIn("a .pvd cannot hold the name of this file", err)

    def test_formats(self):
        for formats, endings in (([], ["log"]), (["vti"], ["log", "pvd", "vti"]),
                                 (["hdf5"], ["h5", "log"]),
                                 (["hdf5", "vti"], ["h5", "log", "pvd", "vti"])):
            with self.subTest(formats=formats):
                file = self.write("case.yaml", heat(output={"formats": formats}))
                folder = "to" + "".join(formats)
                self.call("run", file, "--quiet", "--output", folder)
                found = self.files(folder)
                self.assertEqual(sorted({name.rpartition(".")[2] for name in found}), endings)

    def test_error_without_a_tolerance_is_told(self):
        file = self.write("case.yaml", heat(verify={"exact": {"u": "0"}}))
        _, err = self.call("run", file, "--quiet", "--summary", "summary.json")
        verified = json.loads((self.directory / "summary.json").read_text())["verified"]
        self.assertEqual(set(verified), {"u l2 error", "u max error"})
        self.assertGreater(verified["u max error"], 0.1)
        self.assertIn("u max error", (self.directory / "outputs/case/case.log").read_text())

    def test_directory(self):
        output = {"directory": "deep/er", "every": {"count": 1}}
        file = self.write("in/case.yaml", heat(output=output))
        self.call("run", file, "--quiet")
        self.assertIn("case.h5", self.files("deep/er"))
        self.call("run", file, "--quiet", "--output", self.directory / "it's: [here]")
        self.assertIn("case.h5", self.files("it's: [here]"))
        self.assert_same("deep/er", "it's: [here]")

    def test_files_of_an_earlier_run_go(self):
        file = self.write("case.yaml", heat(output={"every": {"count": 9}},
                                            checkpoint={"every": {"count": 2}}))
        self.call("run", file, "--quiet")
        self.assertTrue([name for name in self.files("outputs/case") if ".checkpoint" in name])
        kept = ["case_1.txt", "case_a.vti", "other_000001.vti", "notes"]
        for name in kept:
            self.write(f"outputs/case/{name}", "mine")
        self.write("case.yaml", heat(output={"every": {"count": 2}}))
        self.call("run", file, "--quiet", "--overwrite")
        images = [f"case_{i:06}.vti" for i in range(3)]
        self.assertEqual(self.files("outputs/case"),
                         sorted(["case.h5", "case.log", "case.pvd", *images, *kept]))
        self.call("run", file, "--quiet", "--set", "output.formats=[]")
        self.assertEqual(self.files("outputs/case"), sorted(["case.log", *kept]))

    def test_summary(self):
        self.call("run", self.write("case.yaml", heat()), "--quiet", "--summary", "summary.json")
        summary = json.loads((self.directory / "summary.json").read_text())
        self.assertEqual(repr(summary["grid_points"]), str(17 * 16))
        self.assertEqual(summary["time"], 0.01)
        self.assertEqual(summary["files"], len(self.files("outputs")))
        self.assertEqual(summary["bytes_written"], 2 * 5 * 17 * 16 * 8)
        self.assertGreater(summary["updates_per_second"], 0)

    def test_summary_of_what_is_not_verified(self):
        verify = {"exact": {"u": "0"}, "tolerance": {"max": 1e-3}}
        file = self.write("case.yaml", heat(verify=verify))
        self.call("run", file, "--quiet", "--summary", "s.json", "--set", "verify.tolerance.max=9")
        self.call("run", file, "--quiet", "--summary", "s.json", code=DOES_NOT_HOLD)
        summary = json.loads((self.directory / "s.json").read_text())
        self.assertEqual(list(summary), ["config", "failure", "verified"])
        self.assertIn("is over the tolerance 0.001", summary["failure"])
        self.assertGreater(summary["verified"]["u max error"], 0.1)
        out, _ = self.call("run", file, "--quiet", "--summary", "-", code=DOES_NOT_HOLD)
        self.assertEqual(json.loads(out), summary)

    def test_summary_replaces_no_file_that_is_read(self):
        (self.directory / "in").mkdir()
        matrix = struct.pack("<4d", 2, 0, 0, 2)
        (self.directory / "in/a.bin").write_bytes(matrix)
        file = self.write("in/case.yaml", {
            "simulation": "linear_system", "device": "cpu", "parameters": {
                "matrix": {"file": "a.bin", "type": "float64", "shape": [2, 2]}, "rhs": "1"}})
        for name in ("in/a.bin", "in/case.yaml", "./in/../in/a.bin"):
            _, err = self.call("run", file, "--quiet", "--summary", name, code=BAD_INPUT)
            self.assertIn("is a file of in/case.yaml itself", err)
        self.assertEqual((self.directory / "in/a.bin").read_bytes(), matrix)

    def test_summary_in_a_new_folder(self):
        file = self.write("case.yaml", heat())
        self.call("run", file, "--quiet", "--summary", "new/one/s.json")
        self.assertIn("one/s.json", self.files("new"))
        _, err = self.call("run", file, "--quiet", "--summary", "case.yaml/s.json", code=BAD_INPUT)
        self.assertRegex(err, r"--summary case\.yaml/s\.json: '\S+/case\.yaml' is not a folder")

    def test_summary_of_a_name_that_is_no_text(self):
        self.write("case.yaml", heat(output={"formats": ["hdf5"]}))
        os.rename(self.directory / "case.yaml", bytes(self.directory) + b"/caf\xe9.yaml")
        self.call("run", os.fsdecode(b"caf\xe9.yaml"), "--quiet", "--summary", "s.json")
        self.assertEqual(json.loads((self.directory / "s.json").read_text())["config"], "caf\ufffd.yaml")


class Contents(support.Case):
    def test_info(self):
        config = heat(precision="float32", diagnostics=["norms", {"probe": {"at": [0.5, 0.25],
                                                                          "field": "u"}}])
        self.call("run", self.write("case.yaml", config), "--quiet")
        found = self.info("outputs/case")
        self.assertEqual(found["head"], "outputs/case/case.h5: complete")
        self.assertRegex(found["written"][0],
                         r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ by gridstride \S+ \(.+\)$")
        self.assertRegex(found["device"][0], "^cpu: .")
        self.assertEqual(found["grid"], ["17 x 16"])
        self.assertEqual(found["x"], ["from 0 to 1, spacing 0.0625"])
        self.assertEqual(found["y"], ["from 0 to 0.9375, spacing 0.0625"])
        self.assertEqual(found["field"], ["u [1] float32"])
        self.assertRegex(found["times"][0], r"^5, from 0 to 0\.01 \(step \d+\)$")
        last = dict(item.split(" = ") for item in found["last"])
        self.assertEqual(set(last), {"u.min", "u.max", "u.mean", "u.l2", "u(0.5, 0.25)"})
        # Both parts of the solution are at their nodes' and crests' values there.
        decayed = 2.718281828459045 ** (-(3.141592653589793**2) * 0.01)
        self.assertAlmostEqual(float(last["u(0.5, 0.25)"]), decayed, delta=2e-3)

    def test_provenance(self):
        file = self.write("case.yaml", "# A comment that stays.\n" + json.dumps(heat()))
        self.call("run", file, "--quiet", "--set", "time.end=0.02")
        content = (self.directory / "outputs/case/case.h5").read_bytes()
        self.assertIn(b"# A comment that stays.", content)
        self.assertIn(b"end: 0.02", content)
        self.assertIn(b"safety: 0.9", content)

    def test_fallback_is_told(self):
        if "cuda:" in self.call("list", "devices")[0]:
            self.skipTest("there is a GPU")
        _, err = self.call("run", self.write("case.yaml", heat(device="auto")))
        self.assertRegex(err, r"device: auto took the cpu \(.+\)")
        self.assertIn("auto took the cpu", self.info("outputs/case")["fallback"][0])
        self.assertIn("auto took the cpu", (self.directory / "outputs/case/case.log").read_text())

    def test_log(self):
        self.call("run", self.write("case.yaml", heat()), "--quiet")
        log = (self.directory / "outputs/case/case.log").read_text()
        self.assertEqual(len(re.findall(r"^step \d+ time \S+ u\.min ", log, re.MULTILINE)), 5)
        self.assertIn("updates/s", log)

    def test_resolved_config_reads_back_to_the_same_run(self):
        verify = {"exact": {"u": "0"}, "tolerance": {"max": 10}}
        file = self.write("case.yaml", heat(verify=verify, constants={"k": 2}))
        resolved = self.write("again/case.yaml", self.call("check", file)[0])
        self.call("run", file, "--quiet")
        self.call("run", resolved, "--quiet", "--output", "other")
        self.assert_same("outputs/case", "other")

    def test_forecast(self):
        file = self.write("case.yaml", heat(time={"end": 0.01, "step": 0.0005}))
        out, _ = self.call("check", file)
        self.assertIn("# time step: 0.0005 s, 20 steps, at least ", out)
        # Two arrays and two faces; the snapshot that is set aside, the one on its way to the files,
        # and a checkpoint's copy.
        self.assertRegex(out, r"# memory: 6\.8 KiB on the device, 0 B for output\n")
        # For each output two fields of 2176 bytes, a block of the disk, and a record of the .h5.
        self.assertRegex(out, r"# disk: 43\.8 KiB for 5 snapshots, \S+ \S+ free\n")
        self.call("run", file, "--quiet")
        self.assertEqual(self.info("outputs/case")["times"], ["5, from 0 to 0.01 (step 20)"])

    def test_forecast_counts_shortened_steps(self):
        file = self.write("case.yaml", heat(time={"end": 0.01, "step": 0.0003},
                                            checkpoint={"every": {"time": 0.004}}))
        out, _ = self.call("check", file)
        self.call("run", file, "--quiet")
        steps = int(self.info("outputs/case")["times"][0].split("step ")[1].rstrip(")"))
        self.assertGreater(steps, 34)  # 0.01/0.0003, rounded up
        self.assertIn(f", {steps} steps, ", out)


class Cadence(support.Case):
    def times(self, every):
        output = {"formats": ["vti"], **({"every": every} if every else {})}
        config = heat(time={"end": 0.01, "step": 0.0003}, output=output)
        self.call("run", self.write("case.yaml", config), "--quiet")
        return list(series(self.directory / "outputs/case/case.pvd").values())

    def assert_times(self, every, expected):
        times = self.times(every)
        self.assertEqual(len(times), len(expected), times)
        for time, wanted in zip(times, expected):
            self.assertAlmostEqual(time, wanted, delta=1e-15)
        self.assertEqual((times[0], times[-1]), (0, 0.01))

    def test_time(self):
        self.assert_times({"time": 0.003}, [0, 0.003, 0.006, 0.009, 0.01])
        self.assert_times({"time": 1}, [0, 0.01])

    def test_count(self):
        self.assert_times({"count": 3}, [0, 0.01 / 3, 0.02 / 3, 0.01])

    def test_steps(self):
        self.assert_times({"steps": 10}, [0, 0.003, 0.006, 0.009, 0.01])
        self.assert_times({"steps": 1000}, [0, 0.01])

    def test_default(self):
        self.assert_times(None, [i / 1000 for i in range(11)])


class Trouble(support.Case):
    large = heat(grid={"points": [64, 64]}, time={"end": 0.002}, output={"every": {"count": 20}})

    def test_directory_that_cannot_be_made(self):
        self.write("taken", "a file")
        for directory in ("taken", "taken/deeper"):
            _, err = self.call("run", self.write("case.yaml", heat()), "--output", directory,
                               code=BAD_INPUT)
            self.assertRegex(err, r"output\.directory: '\S*taken' is not a folder")
        self.assertEqual(self.files(), ["case.yaml", "taken"])

    def test_result_that_cannot_be_replaced(self):
        (self.directory / "outputs/case/case.h5/full").mkdir(parents=True)
        _, err = self.call("run", self.write("case.yaml", heat()), code=BAD_INPUT)
        self.assertIn("outputs/case/case.h5", err)

    def full_disk(self, limit, **output):
        """Runs with files of at most `limit` bytes, which must fail. Returns the message."""
        def set_limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        config = {**self.large, "output": {**self.large["output"], **output}}
        return self.call("run", self.write("case.yaml", config), "--quiet", code=FAILED,
                         preexec_fn=set_limit)[1]

    def test_full_disk_keeps_the_steps_before(self):
        snapshot = 64 * 64 * 8
        err = self.full_disk(8 * snapshot, formats=["hdf5"])
        self.assertRegex(err, r"^outputs/case/case\.h5: .*(write|space|large|full|File)")
        found = self.info("outputs/case")
        self.assertIn("did not come to its end", found["head"])
        count = int(found["times"][0].split(",")[0])
        self.assertIn(count, range(4, 9))
        self.call("run", self.write("whole.yaml", self.large), "--quiet")
        out, _ = self.call("compare", "outputs/case", "outputs/whole", "--rtol", 0, "--atol", 0,
                           code=support.DOES_NOT_HOLD)
        self.assertRegex(out, r"\nu +0\.000e\+00 +0\.000e\+00 +0\.000e\+00 +0 ")
        self.assertIn(f"mismatch: there are {count} steps in A, 21 in B", out)

    def test_full_disk_leaves_no_half_image(self):
        err = self.full_disk(20000, formats=["vti"])
        self.assertRegex(err, r"^outputs/case/case_000000\.vti: ")
        self.assertEqual(self.files("outputs/case"), ["case.log"])


if __name__ == "__main__":
    support.main()
