"""Whole runs of `linear_system`: solutions, what is told of them, and what is refused; of sparse
matrices in test_sparse_systems.py."""

import json
import math
import signal

import h5py
import numpy

import support
from support import BAD_INPUT, DOES_NOT_HOLD, FAILED, wait_for

EPSILON = {"float64": 2.0**-53, "float32": 2.0**-24}


def system(matrix="min(i, j) + 1", size=24, rhs="i", **changes):
    """A system with the solution -1, 0, ..., 0, 1. `changes` go to the parameters or the top."""
    own = ("method", "vendor")
    parameters = {"matrix": {"expression": matrix, "size": size} if isinstance(matrix, str)
                  else matrix, "rhs": rhs}
    parameters.update({key: changes.pop(key) for key in own if key in changes})
    return {"simulation": "linear_system", "device": "cpu", "parameters": parameters, **changes}


class LinearSystem(support.Case):
    def solve(self, config, name="case"):
        """Runs a config. Returns x as [row] or [row][column], and the summary."""
        self.call("run", self.write(f"{name}.yaml", config), "--quiet", "--summary", "summary.json")
        with h5py.File(self.directory / f"outputs/{name}/{name}.h5") as file:
            x = file["VTKHDF/PointData/x"][0]
        return x, json.loads((self.directory / "summary.json").read_text())

    def refuse(self, config, message, code=BAD_INPUT):
        """Nothing is written; the message names the place in the config."""
        before = self.files()
        _, err = self.call("run", self.write("case.yaml", config), "--quiet", code=code)
        self.assertRegex(err, message)
        if code == BAD_INPUT:
            self.assertRegex(err, r"^case\.yaml:\d+:\d+: ")
            self.assertEqual(self.files(), sorted({*before, "case.yaml"}))


class Solutions(LinearSystem):
    def test_every_method_in_both_precisions(self):
        n = 24
        exact = numpy.zeros(n)
        exact[0], exact[-1] = -1, 1
        condition = 2 * n * (n + 1)
        for precision in ("float64", "float32"):
            for method in ("auto", "lu", "cholesky", "lu_mixed"):
                for vendor in (False, True):
                    if method == "lu_mixed" and precision == "float32":
                        continue
                    with self.subTest(precision=precision, method=method, vendor=vendor):
                        x, summary = self.solve(system(precision=precision, method=method,
                                                       vendor=vendor))
                        self.assertEqual(x.dtype.name, precision)
                        bound = 50 * n * EPSILON[precision]
                        self.assertLessEqual(abs(x - exact).max(), condition * bound)
                        found = summary["diagnostics"]
                        self.assertLessEqual(found["backward_error"], bound)
                        self.assertEqual(summary["chosen"]["method"],
                                         "cholesky" if method == "auto" else method)

    def test_several_right_hand_sides(self):
        rhs = {"expression": "(j + 1)*i", "count": 3}
        x, _ = self.solve(system(rhs=rhs, matrix="min(i, j) + 1 + (i == 0)*(j == n-1)"))
        self.assertEqual(x.shape, (24, 3))
        numpy.testing.assert_allclose(x, x[:, :1] * [1, 2, 3], rtol=1e-11, atol=1e-11)
        found = self.info("outputs/case")
        self.assertEqual(found["grid"], ["3 x 24"])
        self.assertEqual(found["times"], ["1, from 0 to 0 (step 1)"])
        self.assertEqual(sorted(name for name in self.files("outputs/case")),
                         ["case.h5", "case.log", "case.pvd", "case_000000.vti"])

    def test_files(self):
        generator = numpy.random.default_rng(1)
        a = generator.uniform(-1, 1, (9, 9)) + 5 * numpy.eye(9)
        x = generator.uniform(-1, 1, (9, 2))
        with h5py.File(self.directory / "a.h5", "w") as file:
            file["A"], file["b"], file["b0"] = a, a @ x, (a @ x)[:, 0]
            file["whole"] = numpy.round(100 * a).astype("int16")
        values = "\n".join(repr(float(value)) for value in a.T.ravel())
        self.write("a.mtx", f"%%MatrixMarket matrix array real general\n9 9\n{values}\n")
        values = "\n".join(repr(float(value)) for value in (a @ x).T.ravel())
        self.write("b.mtx", f"%%MatrixMarket matrix array real general\n9 2\n{values}\n")
        for matrix in ({"file": "a.h5", "dataset": "/A"}, {"file": "a.mtx"}):
            for rhs in ({"file": "a.h5", "dataset": "/b"}, {"file": "b.mtx"}):
                found, _ = self.solve(system(matrix=matrix, rhs=rhs))
                numpy.testing.assert_allclose(found, x, atol=1e-13)
        found, _ = self.solve(system(matrix={"file": "a.mtx"}, rhs={"file": "a.h5",
                                                                    "dataset": "/b0"}))
        numpy.testing.assert_allclose(found, x[:, 0], atol=1e-13)
        found, _ = self.solve(system(matrix={"file": "a.h5", "dataset": "whole"}, rhs="1",
                                     precision="float32"))
        numpy.testing.assert_allclose(found, numpy.linalg.solve(numpy.round(100 * a), numpy.ones(9)),
                                      rtol=1e-4)

    def test_a_symmetric_file_is_whole(self):
        self.write("a.mtx", "%%MatrixMarket matrix array integer symmetric\n2 2\n2\n1\n2\n")
        x, summary = self.solve(system(matrix={"file": "a.mtx"}, rhs="3"))
        numpy.testing.assert_allclose(x, [1, 1], rtol=1e-15)
        self.assertEqual(summary["chosen"]["method"], "cholesky")

    def test_right_hand_sides_in_a_list(self):
        n = 30
        generator = numpy.random.default_rng(6)
        one, two = generator.uniform(-1, 1, n), generator.uniform(-1, 1, (n, 2))
        numpy.save(self.directory / "one.npy", one)
        numpy.save(self.directory / "two.npy", two)
        i = numpy.arange(n)
        b = numpy.column_stack([two, numpy.sin(i), one, i, 1 + i, numpy.full(n, 3)])
        rhs = [{"file": "two.npy"}, "sin(i)", {"file": "one.npy"},
               {"expression": "i + j", "count": 2}, 3]
        second = 2 * numpy.eye(n) - numpy.eye(n, k=1) - numpy.eye(n, k=-1)
        for method, more in (("lu", {}), ("cg", {}), ("cg", {"kernels": {"sparse": "threads"}})):
            config = system(matrix={"stencil": "3-point", "points": n}, rhs=rhs, method=method,
                            **more)
            found, _ = self.solve(config)
            self.assertEqual(found.shape, b.shape)
            condition = numpy.linalg.cond(second)
            for column in range(b.shape[1]):
                x = numpy.linalg.solve(second, b[:, column])
                numpy.testing.assert_allclose(found[:, column], x, rtol=0,
                                              atol=2e-8 * condition * numpy.linalg.norm(x))
        numpy.save(self.directory / "one.npy", one[1:])
        config["parameters"]["rhs"] = [1, {"file": "one.npy"}]
        self.refuse(config, r"parameters\.rhs\.1: .*one\.npy holds \[29\] \(the matrix needs \[30\]")
        config["parameters"]["rhs"] = [1, {"expression": "j/(i - 4)", "count": 2}]
        self.refuse(config, r"parameters\.rhs\.1: is not finite at i = 4, j = 1 ")
        dense = system(rhs=["1", "1/(i - 4)"])
        self.refuse(dense, r"parameters\.rhs\.1: is inf in float64 at i = 4, j = 1 ")

    def test_verification(self):
        verify = {"exact": {"x": "(i == n-1) - (i == 0)"}, "tolerance": {"max": 1e-11, "l2": 1e-11}}
        file = self.write("case.yaml", system(verify=verify))
        out, _ = self.call("verify", file)
        self.assertIn("1 of 1 verified", out)
        self.call("verify", file, "--set", "verify.exact.x=i/n", code=DOES_NOT_HOLD)
        several = system(rhs={"expression": "i*(1-2*j)", "count": 2}, verify={
            "exact": {"x": "((i == n-1) - (i == 0))*(1 - 2*j)"}, "tolerance": {"max": 1e-11}})
        self.call("verify", self.write("several.yaml", several))

    def test_the_same_bits(self):
        config = system(matrix="exp(-abs(i-j)/9) + sin(i*j)/9", size=70, rhs="cos(i)")
        self.solve(config, "a")
        self.solve(config, "b")
        self.assert_same("outputs/a", "outputs/b")


class Report(LinearSystem):
    def test_what_is_told(self):
        _, summary = self.solve(system(method="lu"))
        found = summary["diagnostics"]
        names = ["residual_norm", "backward_error", "condition_estimate", "growth_factor",
                 "iterations", "gflops", *(f"seconds.{phase}" for phase in
                                           ("read", "transfer", "factorize", "solve", "check"))]
        self.assertEqual(list(found), names)
        self.assertAlmostEqual(found["condition_estimate"], 2 * 24 * 25, delta=1e-6)
        self.assertNotIn("updates_per_second", summary)
        stored = dict(item.split(" = ") for item in self.info("outputs/case")["last"])
        for name in names:
            self.assertEqual(float(stored[name]), found[name])
        self.assertIn("x.max", stored)
        self.assertIn("method lu", self.info("outputs/case")["chosen"])
        log = (self.directory / "outputs/case/case.log").read_text()
        self.assertRegex(log, r"(?m)^step 1 time 0 x\.min .* residual_norm \S+ ")

    def test_summary_for_people(self):
        _, err = self.call("run", self.write("case.yaml", system()))
        self.assertRegex(err, r"^computed on ")
        for part in ("computation", r"method +cholesky", "backward_error", r"seconds\.factorize"):
            self.assertRegex(err, part)
        for part in ("updates/s", "steps", "nan"):
            self.assertNotIn(part, err)

    def test_hopeless_systems_say_so(self):
        x, summary = self.solve(system(matrix="1/(i + j + 1)", size=13, rhs="1"))
        self.assertTrue(numpy.isfinite(x).all())
        found = summary["diagnostics"]
        self.assertLessEqual(found["backward_error"], 50 * 13 * EPSILON["float64"])
        self.assertGreater(found["condition_estimate"], 1e16)

    def test_what_rounding_leaves_is_not_singular(self):
        def line(points, **parameters):
            return {"simulation": "linear_system", "device": "cpu", "precision": "float32", "parameters": {
                "matrix": {"stencil": "3-point", "points": [points]}, "rhs": "sin(i*i+1)", **parameters}}
        # A hair above the tolerance iterations go on.
        _, summary = self.solve(line(150, method="gmres", preconditioner="jacobi", tolerance=1e-3))
        self.assertLessEqual(summary["diagnostics"]["relative_residual"], 1e-3)
        _, err = self.call("run", self.write("case.yaml", line(800, method="minres", preconditioner="jacobi",
                                                              tolerance=3e-5)), "--quiet", code=FAILED)
        self.assertRegex(err, "does not become smaller .rounding allows no less: float64, or a larger tolerance")
        self.assertNotIn("singular", err)

    def test_growth(self):
        _, summary = self.solve(system(matrix="if(j == n-1, 1, (i == j) - (i > j))", rhs="1",
                                       precision="float32"))
        self.assertEqual(summary["diagnostics"]["growth_factor"], 2**23)

    def test_fallback_from_cholesky(self):
        _, summary = self.solve(system(matrix="if(i == j, 1, 2)", size=5))
        line = "method: cholesky gave way to lu (pivot 2 of 5 is not positive)"
        self.assertIn(line, summary["fallbacks"])
        self.assertEqual(summary["chosen"]["method"], "lu")
        self.assertIn(line, self.info("outputs/case")["fallback"])
        self.assertIn(line, (self.directory / "outputs/case/case.log").read_text())

    def test_fallback_from_mixed_precision(self):
        # In float32 this matrix is singular.
        x, summary = self.solve(system(matrix="1 + (i == j)*1e-12", size=6, rhs="1 + i*1e-12",
                                       method="lu_mixed"))
        self.assertTrue(numpy.isfinite(x).all())
        self.assertEqual(summary["chosen"]["method"], "lu")
        self.assertRegex(summary["fallbacks"][-1], r"^method: lu_mixed gave way to lu \(.+\)$")

    def test_check_tells_what_it_takes(self):
        out, _ = self.call("check", self.write("case.yaml", system(size=100)))
        self.assertNotIn("# time step", out)
        self.assertRegex(out, r"# memory: \d+\.\d KiB on the device, 0 B for output\n"
                              r"# disk: 6\.1 KiB for 1 snapshot, \S+ \S+ free\n")
        resolved = self.write("again.yaml", out)
        again, _ = self.call("check", resolved, "--output", "outputs/case")
        self.assertEqual(again.split("# device:")[0], out.split("# device:")[0])

    def test_one_equation_with_several_right_hand_sides(self):
        x, _ = self.solve(system(matrix="4", size=1, rhs={"expression": "2*j", "count": 3}))
        self.assertEqual(x.tolist(), [0, 0.5, 1])

    def test_describe(self):
        out, _ = self.call("describe", "linear_system")
        self.assertIn("parameters.matrix.expression: formula of i, j, n", out)
        self.assertIn("parameters.method: 'auto', 'lu', 'cholesky', 'lu_mixed', 'cg', 'amg_cg', "
                      "'minres', 'bicgstab' or 'gmres'; default auto", out)
        self.assertNotIn("\ntime:", out)
        schema = json.loads(self.call("describe", "linear_system", "--schema")[0])
        self.assertEqual(schema["required"], ["simulation", "parameters"])

    def test_restart_begins_anew(self):
        file = self.write("case.yaml", system())
        _, err = self.call("run", file, "--restart")
        self.assertIn("--restart: linear_system has no time; from the start\n", err)
        self.call("run", file, "--restart", "some.checkpoint", code=FAILED)

    def test_a_signal_ends_it(self):
        file = self.write("case.yaml", system(matrix="exp(-abs(i-j)/9) + (i == 2*j)", size=3000,
                                              kernels={"factorize": "reference"}))
        process = self.start("run", file, "--quiet")
        log = self.directory / "outputs/case/case.log"
        wait_for(lambda: log.exists() and "gridstride" in log.read_text(), "the start")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn("did not come to its end", self.info("outputs/case")["head"])


class Refusals(LinearSystem):
    def test_singular(self):
        for method in ("auto", "lu", "lu_mixed"):
            self.refuse(system(matrix="(i == j)*(i != 16)", method=method),
                        r"^linear_system: pivot 17 of 24 is exactly zero: the matrix is singular "
                        r"in float64\n$", code=FAILED)

    def test_not_positive_definite(self):
        self.refuse(system(matrix="if(i == j, 1, 2)", method="cholesky"),
                    r"^linear_system: pivot 2 of 24 is not positive: the matrix is not positive "
                    r"definite ", code=FAILED)

    def test_not_symmetric(self):
        self.refuse(system(matrix="i + 2*j", method="cholesky"),
                    r"parameters\.method: cholesky needs a symmetric matrix \(here A\(0, 1\) = 2 "
                    r"and A\(1, 0\) = 1\)\n")

    def test_formulas_that_are_not_finite(self):
        self.refuse(system(matrix="1/((i-3)^2 + (j-5)^2)"),
                    r"parameters\.matrix: is inf in float64 at i = 3, j = 5 ")
        self.refuse(system(matrix="(i == j)*10^(i*20)", size=4, precision="float32"),
                    r"parameters\.matrix: is inf in float32 at i = 2, j = 2 ")
        self.refuse(system(rhs={"expression": "sqrt(j-i)", "count": 2}),
                    r"parameters\.rhs: is -?nan in float64 at i = 1, j = 0 ")

    def test_shapes(self):
        with h5py.File(self.directory / "a.h5", "w") as file:
            for shape in ((4, 4), (3, 4), (4,), (4, 4, 1), (), (0, 0), (5, 2)):
                file["s" + "x".join(map(str, shape))] = numpy.ones(shape)
            file["text"] = "no numbers"

        def named(name):
            return {"file": "a.h5", "dataset": name}

        for name, shape in (("s3x4", r"\[3\]\[4\]"), ("s4", r"\[4\]"), ("s4x4x1", r"\[4\]\[4\]\[1\]"),
                            ("s", "a single value"), ("s0x0", r"\[0\]\[0\]")):
            self.refuse(system(matrix=named(name)),
                        rf"parameters\.matrix: a\.h5 holds {shape} \(a square matrix is needed: ")
        for name, shape in (("s5x2", r"\[5\]\[2\]"), ("s3x4", r"\[3\]\[4\]"), ("s", "a single")):
            self.refuse(system(matrix=named("s4x4"), rhs=named(name)),
                        rf"parameters\.rhs: a\.h5 holds {shape}.* \(the matrix needs \[4\], or "
                        r"\[4\]\[count\]\)\n")
        self.refuse(system(matrix=named("text"), rhs=named("nothing")),
                    r"parameters\.matrix: .*'text' holds text \(numbers are needed\)\n"
                    r"case\.yaml:\d+:\d+: parameters\.rhs: .*there is no dataset 'nothing'")
        self.refuse(system(matrix=named("s3x4"), rhs=named("s4x4x1")),
                    r"parameters\.matrix: .*\ncase\.yaml:\d+:\d+: parameters\.rhs: .*"
                    r"\(the matrix needs \[n\]")

    def test_values_of_datasets(self):
        with h5py.File(self.directory / "a.h5", "w") as file:
            file["A"] = numpy.eye(5)
            file["A"][3, 1] = math.nan
        self.refuse(system(matrix={"file": "a.h5", "dataset": "A"}),
                    r"parameters\.matrix: dataset 'A' of a\.h5 has nan at \[3\]\[1\] ")

    def test_matrix_market_files(self):
        for text, message in (
                ("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", r"1: the "
                 r"field 'complex' is not read \('real', 'integer' or 'pattern' is\)"),
                ("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", r"5: the file ends after "
                 r"3 of 4 values"),
                ("%%MatrixMarket matrix array real general\n2 2\n1\nnan\n3\n4\n", r"4: 'nan' is not "
                 r"finite"),
                ("%%MatrixMarket matrix array real general\n90000 90000\n1\n", r"2: 90000 x 90000 "
                 r"values cannot be in a file of \d+ bytes"),
                ("A B\n", "1: is no Matrix Market file")):
            self.write("a.mtx", text)
            self.refuse(system(matrix={"file": "a.mtx"}),
                        rf"parameters\.matrix: a\.mtx:{message}")

    def test_too_large_for_the_memory(self):
        self.refuse(system(size=400000),
                    r"parameters\.matrix: linear_system: A needs 3 x 1\.2 TiB, all else \S+ MiB, "
                    r"the host has \S+ [KMG]iB free\n")

    def test_variants_that_do_not_fit(self):
        self.refuse(system(vendor=True, kernels={"factorize": "reference"}),
                    r"kernels\.factorize: 'reference' is not what parameters\.vendor asks for")
        self.refuse(system(kernels={"factorize": "cusolver"}),
                    r"kernels\.factorize: 'cusolver' does not run on this device")
        self.refuse(system(kernels={"factorize": "reference", "matmul": "threads"}),
                    r"kernels\.matmul: is for factorizations by blocks .* \(here reference factorizes\)")


if __name__ == "__main__":
    support.main()
