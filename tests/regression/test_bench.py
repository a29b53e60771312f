"""`gridstride bench`, `list kernels`, and the pictures that tools/plot_bench.py makes of a result."""

import importlib.util
import json
import re
import subprocess
import sys
import unittest

import support
from support import BAD_INPUT, ROOT

PNG = b"\x89PNG\r\n\x1a\n"
LARGEST_PICTURE = 100 * 1024


def bench(*arguments):
    return ("bench", *arguments, "--device", "cpu")


class Bench(support.Case):
    def measure(self, *arguments):
        """The parsed JSON and the standard output of a small measurement."""
        out, _ = self.call(*bench(*arguments), "--json", "bench.json")
        return json.loads((self.directory / "bench.json").read_text()), out

    def test_json_has_all_figures(self):
        report, out = self.measure("reduce", "--size", "100000", "--type", "float32")
        self.assertEqual(report["device"]["id"], "cpu")
        self.assertRegex(report["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        version = self.call("--version")[0]
        for part in report["gridstride"].values():
            self.assertIn(part, version)
        roofs = {roof["name"]: roof for roof in report["roofs"]}
        self.assertLessEqual({"copy", "read", "float32", "float64"}, set(roofs))
        operations = [entry["operation"] for entry in report["measurements"]]
        self.assertEqual(sorted(operations), ["dot", "maximum", "minimum", "moments", "sum", "sum of pieces"])
        for entry in report["measurements"]:
            self.assertEqual((entry["family"], entry["type"], entry["size"], entry["elements"]),
                             ("reduce", "float32", 100000, 100000))
            self.assertEqual(entry["size_of"], "array")
            self.assertIn(entry["roof"], roofs)
            self.assertEqual(entry["checked"],
                             "checked: every value against the reference at 100000 elements")
            names = [v["name"] for v in entry["variants"]]
            by_pieces = entry["operation"] == "sum of pieces"
            self.assertEqual(names, ["whole", "pieces", "odd_pieces"] if by_pieces
                             else ["reference", "threads"])
            self.assertEqual([v["default"] for v in entry["variants"]],
                             [name in ("pieces", "threads") for name in names])
            for variant in entry["variants"]:
                self.check_variant(entry, variant)
                self.assertIn(variant["name"], out)

    def check_variant(self, entry, variant):
        self.assertFalse(variant["wrong"])
        seconds = variant["seconds"]
        self.assertLessEqual(seconds["p10"], seconds["median"])
        self.assertLessEqual(seconds["median"], seconds["p90"])
        self.assertGreater(seconds["p10"], 0)
        self.assertGreaterEqual(variant["samples"], 5)
        for rate, amount in (("bytes_per_second", entry["bytes"]),
                             ("flops_per_second", entry["flops"]),
                             ("elements_per_second", entry["elements"])):
            self.assertAlmostEqual(variant[rate] * seconds["median"], amount,
                                   delta=1e-9 * max(amount, 1))
        self.assertAlmostEqual(variant["roof_fraction"] * seconds["median"],
                               variant["roof_seconds"], delta=1e-9 * variant["roof_seconds"])

    def test_matrices_are_told_by_their_rows_and_have_errors(self):
        for family, flops in (("matmul", 2), ("factorize", 2 / 3)):
            report, out = self.measure(family, "--size", "60", "--type", "float64")
            self.assertIn("n = 60", out)
            entry = report["measurements"][0]
            self.assertEqual((entry["size"], entry["size_of"], entry["elements"]),
                             (60, "matrix", 3600))
            self.assertAlmostEqual(entry["flops"], flops * 60**3, delta=1)
            for variant in entry["variants"]:
                if "seconds" not in variant:
                    self.assertIn("cannot be used", variant["remark"])
                    continue
                self.check_variant(entry, variant)
                self.assertGreater(variant["error"], 0)
                self.assertLess(variant["error"], 1e-14)

    def test_json_on_standard_output_is_all_there_is(self):
        out, err = self.call(*bench("scan", "--size", "2^10", "--variant", "threads",
                                    "--type", "int32", "--json", "-"))
        report = json.loads(out)
        self.assertEqual([(entry["size"], [v["name"] for v in entry["variants"]])
                          for entry in report["measurements"]], [(1024, ["threads"])])
        self.assertIn("[1/1] scan exclusive sum int32", err)
        self.assertEqual(self.files(), [])

    def test_the_machine_as_a_whole(self):
        report, out = self.measure("machine", "--folder", str(self.directory))
        roofs = {roof["name"]: roof for roof in report["roofs"]}
        self.assertLessEqual({"copy", "memory_latency", "launch", "disk_write", "disk_read",
                              "cached_read"}, set(roofs))
        self.assertEqual(report["measurements"], [])
        self.assertRegex(out, r"(?m)^  memory_latency +[0-9.]+ ns ")
        self.assertRegex(out, r"(?m)^  disk_write +[0-9.]+ GB/s ")
        for roof in roofs.values():
            self.assertGreater(roof["rate"], 0)
        self.assertEqual(self.files(), ["bench.json"])

    def test_the_pipeline(self):
        size = 5_000_011  # 64 chunks, and a last one of a few
        report, _ = self.measure("pipeline", "--size", str(size), "--timeline", "timeline.json")
        self.assertEqual([entry["operation"] for entry in report["measurements"]],
                         ["copy, compute, copy", "filter of 9 taps", "sum"])
        for entry in report["measurements"]:
            self.assertIn("serial", [variant["name"] for variant in entry["variants"]])
            for variant in entry["variants"]:
                self.check_variant(entry, variant)
        runs = json.loads((self.directory / "timeline.json").read_text())["runs"]
        self.assertEqual([(run["way"], run["lanes"]) for run in runs],
                         [("serial", 1), ("lanes_4", 4)] * 3)
        for run in runs:
            self.assertEqual(run["stages"][0]["bytes"] >= 4 * size, True)
            for interval in run["intervals"]:
                self.assertLess(interval["start"], interval["end"])
                self.assertLessEqual(interval["end"], run["seconds"])
                self.assertLess(interval["lane"], run["lanes"])
                if interval["chunk"] < run["lanes"]:  # later ones go to whoever is free
                    self.assertEqual(interval["lane"], interval["chunk"])
            self.assertEqual(len(run["intervals"]), 65 * len(run["stages"]))

    def test_wrong_requests(self):
        for arguments, message in (
                (["machine", "--type", "float32"], "--type: is for kernel families"),
                (["machine", "--size", "100"], "--size: is for kernel families"),
                (["reduce", "--folder", "."], "--folder: is for 'bench machine'"),
                (["reduce", "--timeline", "a.json"], "--timeline: is for 'bench pipeline'"),
                (["redcue"], "no kernel family 'redcue'.*did you mean 'reduce'?"),
                (["reduce", "--type", "float23"], "no type 'float23'.*did you mean 'float32'?"),
                (["reduce", "--variant", "thread"], "no variant 'thread'.*did you mean 'threads'?"),
                (["--size", "0"], "--size 0: is not a number of elements"),
                (["--size", "1e3.5"], "--size 1e3.5: is not a number"),
                (["--size", "2^50"], "--size 2\\^50: is not a number"),
                (["--size", "many"], "--size many: is not a number"),
                (["--frequency", "3"], "frequency")):
            out, err = self.call(*bench(*arguments), code=BAD_INPUT)
            self.assertEqual(out, "", arguments)
            self.assertRegex(err, message)
        for device in ("gpu", "cuda:x", "cuda:1x", "cuda:"):
            _, err = self.call("bench", "--device", device, code=BAD_INPUT)
            self.assertIn(f"--device {device}: is no device", err)
        _, err = self.call(*bench("machine", "--folder", "nowhere"), code=1)
        self.assertIn("nowhere: is no folder to measure", err)
        _, err = self.call("bench", "--device", "cuda:9999", code=BAD_INPUT)
        self.assertRegex(err, "no GPU can be used|there is no cuda:9999")
        self.assertEqual(self.files(), [])

    def test_list_kernels_of_a_family(self):
        out, err = self.call("list", "kernels", "reduce")
        self.assertEqual(err, "")
        self.assertRegex(out, r"(?m)^reduce: ")
        self.assertRegex(out, r"(?m)^  cpu +threads +\* ")
        self.assertNotIn("scan: ", out)
        everything = self.call("list", "kernels")[0]
        for family in re.findall(r"(?m)^(\w+): ", everything):
            self.call("list", "kernels", family)
        _, err = self.call("list", "kernels", "redcue", code=BAD_INPUT)
        self.assertIn("did you mean 'reduce'?", err)
        self.call("list", "devices", "reduce", code=BAD_INPUT)

    def plot(self, *arguments, code=0, tool="plot_bench.py"):
        done = subprocess.run([sys.executable, "-B", ROOT / "tools" / tool, *arguments],
                              cwd=self.directory, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_pictures(self):
        self.measure("reduce", "--size", "100000")
        self.plot("bench.json", "--output", "pictures")
        self.assertEqual(self.files("pictures"), ["bench_reduce.png", "bench_roofline.png"])
        for name in self.files("pictures"):
            content = (self.directory / "pictures" / name).read_bytes()
            self.assertTrue(content.startswith(PNG))
            self.assertLess(len(content), LARGEST_PICTURE)
        self.measure("matmul", "--size", "64")
        self.plot("bench.json", "--output", "products", "--operation", "multiply")
        self.assertEqual(self.files("products"), ["bench_matmul.png", "bench_roofline.png"])
        done = self.plot("bench.json", "--operation", "divide", code=1)
        self.assertIn("no operation 'divide' in bench.json (there is multiply, ", done.stderr)
        done = self.plot("missing.json", code=1)
        self.assertIn("missing.json: no result of gridstride bench", done.stderr)

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_timelines(self):
        tool = "plot_timeline.py"
        self.call(*bench("pipeline", "--size", "20000000", "--variant", "serial", "--timeline",
                         "timeline.json"))
        for arguments in ([], ["--operation", "sum", "--chunks", "3"]):
            self.plot("timeline.json", *arguments, tool=tool)
            content = (self.directory / "timeline.png").read_bytes()
            self.assertTrue(content.startswith(PNG))
            self.assertLess(len(content), LARGEST_PICTURE)
        done = self.plot("timeline.json", "--operation", "product", code=1, tool=tool)
        self.assertIn("no operation 'product' in timeline.json (there is copy, ", done.stderr)
        done = self.plot("missing.json", code=1, tool=tool)
        self.assertIn("missing.json: no timeline of gridstride bench", done.stderr)


if __name__ == "__main__":
    support.main()
