"""Sparse systems whose residual rounding keeps above the tolerance that a precision has."""

import json

import h5py
import numpy

import support
from support import FAILED

TOLERANCE = {"float64": 1e-8, "float32": 1e-5}
# What a change of A and b that small makes of a residual: (8 + sqrt(27)) epsilon.
ROUNDINGS = {"float64": 3e-15, "float32": 1.6e-6}
NO_LESS = "the residual is .* of the right-hand side: rounding allows no less$"


def line(n, first=2.0):
    """-x'' with 0 beyond the ends; of `first` = 1 with no flow through them, which is singular."""
    a = 2 * numpy.eye(n) - numpy.eye(n, k=1) - numpy.eye(n, k=-1)
    a[0, 0] = a[-1, -1] = first
    return a


class SystemsAtRounding(support.Case):
    def run_system(self, matrix, b, precision, method, code, tolerance=None):
        """Returns x, what is told, and the summary where it is solved; `code` may be None for 0 or 1."""
        if isinstance(matrix, numpy.ndarray):
            rows, columns = numpy.nonzero(matrix)
            entries = "".join(f"{i + 1} {j + 1} {float(matrix[i, j])!r}\n" for i, j in zip(rows, columns))
            self.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n"
                                f"{len(matrix)} {len(matrix)} {len(rows)}\n{entries}")
            matrix = {"file": "a.mtx"}
        numpy.save(self.directory / "b.npy", b)
        parameters = {"matrix": matrix, "rhs": {"file": "b.npy"}, "method": method}
        if tolerance is not None:
            parameters["tolerance"] = tolerance
        file = self.write("case.yaml", {"simulation": "linear_system", "device": "cpu",
                                        "precision": precision, "parameters": parameters})
        process = self.start("run", file, "--quiet", "--summary", "summary.json")
        _, err = process.communicate(timeout=120)
        self.assertIn(process.returncode, (0, FAILED) if code is None else (code,), err)
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            x = file["VTKHDF/PointData/x"][0].astype("float64")
        summary = self.directory / "summary.json"
        return x, err, json.loads(summary.read_text()) if process.returncode == 0 else {}

    def expect_solved(self, a, b, precision, x, summary):
        """As good as factors give, and told. No residual that is as small is to be had here."""
        self.assertRegex(summary["fallbacks"][-1], NO_LESS)
        left = b - a @ x
        self.assertGreater(numpy.linalg.norm(left), TOLERANCE[precision] * numpy.linalg.norm(b))
        self.assertLess(numpy.linalg.norm(left), 100 * TOLERANCE[precision] * numpy.linalg.norm(b))
        size = abs(a).sum(axis=1).max() * abs(x).max() + abs(b).max()
        self.assertLessEqual(abs(left).max(), ROUNDINGS[precision] * size)
        if precision == "float32":
            self.assertAlmostEqual(summary["diagnostics"]["backward_error"] * size / abs(left).max(), 1, delta=0.01)
        exact = numpy.linalg.solve(a, b)
        bound = 2 * numpy.linalg.cond(a) * ROUNDINGS[precision] * numpy.linalg.norm(exact)
        self.assertLessEqual(numpy.linalg.norm(x - exact), bound)

    def test_lines(self):
        n = 100
        a, b = line(n), numpy.random.default_rng(9).uniform(-0.2, 1.8, n)
        generated = {"stencil": "3-point", "points": [n]}
        for matrix, methods in ((generated, ("auto", "bicgstab", "gmres", "minres")),
                                (a, ("auto", "cg", "bicgstab", "gmres", "minres"))):
            for method in methods:
                with self.subTest(method=method, generated=matrix is generated):
                    x, _, summary = self.run_system(matrix, b, "float32", method, 0)
                    self.expect_solved(a, b, "float32", x, summary)
                    # What is asked for by name is not to be had.
                    _, err, _ = self.run_system(matrix, b, "float32", method, FAILED, tolerance=1e-5)
                    self.assertRegex(err, "did not converge: the residual is .* does not become smaller")

    def test_float64(self):
        n = 60000
        b = numpy.random.default_rng(6).uniform(0.5, 1.5, n)
        generated = {"stencil": "3-point", "points": [n]}
        x, _, summary = self.run_system(generated, b, "float64", "auto", 0)
        self.assertRegex(summary["fallbacks"][-1], NO_LESS)
        left = b - 2 * x
        left[1:] += x[:-1]
        left[:-1] += x[1:]
        self.assertGreater(numpy.linalg.norm(left), 1e-8 * numpy.linalg.norm(b))
        self.assertLessEqual(abs(left).max(), ROUNDINGS["float64"] * 4 * abs(x).max())
        self.run_system(generated, b, "float64", "auto", FAILED, tolerance=1e-8)
        n = 60
        b = numpy.random.default_rng(7).uniform(0.5, 1.5, n)
        a = line(n, 1) + 2e-9 * numpy.eye(n)
        x, _, summary = self.run_system(a, b, "float64", "bicgstab", 0)
        self.expect_solved(a, b, "float64", x, summary)
        self.run_system(a, b, "float64", "bicgstab", FAILED, tolerance=1e-8)

    def test_auto_goes_back_to_what_was_near(self):
        n = 60
        b = numpy.random.default_rng(8).uniform(0.5, 1.5, n)
        a = line(n, 1) + 1e-8 * numpy.eye(n) + 0.1 * numpy.eye(n, k=1) - 0.1 * numpy.eye(n)
        a[-1, -1] += 0.1
        x, _, summary = self.run_system(a, b, "float64", "auto", 0)
        self.expect_solved(a, b, "float64", x, summary)
        self.assertEqual(summary["chosen"]["method"], "bicgstab")
        told = [text.partition(" (")[0] for text in summary["fallbacks"]]
        self.assertEqual(told[:2], ["method: bicgstab gave way to gmres", "method: gmres gave way to bicgstab"])

    def test_what_no_x_solves_is_refused(self):
        # Of a singular matrix, what is not in its range is left by any x, and larger ones make it small beside
        # norm(A) norm(x), as if it were rounding.
        generator = numpy.random.default_rng(3)
        n = 80
        general = numpy.where(generator.random((n, n)) < 0.1, generator.normal(size=(n, n)), 0) + 3 * numpy.eye(n)
        general[:, 0] = 0.3 * general[:, -1] + 0.7 * general[:, n // 2]
        for name, a, methods in (("symmetric", line(36, 1), ("auto", "cg", "minres", "bicgstab", "gmres")),
                                 ("general", general, ("auto", "bicgstab", "gmres"))):
            outside = numpy.linalg.svd(a)[0][:, -1]
            inside = a @ generator.normal(size=len(a))
            inside /= numpy.linalg.norm(inside)
            for share in (3e-5, 1e-4, 5e-4):
                for precision in ("float32", "float64"):
                    for method in methods:
                        with self.subTest(matrix=name, share=share, precision=precision, method=method):
                            _, err, _ = self.run_system(a, inside + share * outside, precision, method, FAILED)
                            self.assertRegex(err, "did not converge: ")

    def test_equations_that_are_small_in_units_of_their_own(self):
        """Beside b of others theirs is less than rounding, and still each has what solves it."""
        blocks = numpy.array([[8.0, 4], [-2, 1]]), numpy.array([[5.0, -4], [-3, 0]])
        definite = numpy.array([[8.0, 4], [4, 9]]), numpy.array([[5.0, -4], [-4, 9]])
        for parts, methods in ((blocks, ("auto", "bicgstab", "gmres")), (definite, ("auto", "cg", "minres"))):
            for unit, precision in ((1e9, "float64"), (1e18, "float32")):
                a = numpy.zeros((6, 6))
                a[:2, :2], a[2:4, 2:4], a[4:, 4:] = parts[0] * unit, parts[1], parts[1] / unit
                b = numpy.array([1, -2, 0, 3e-3, 5, 7.0])
                for method in methods:
                    with self.subTest(unit=unit, method=method):
                        x, _, summary = self.run_system(a, b, precision, method, 0)
                        left = numpy.linalg.norm(b - a @ x) / numpy.linalg.norm(b)
                        self.assertLess(left, TOLERANCE[precision] * 1.1)
                        self.assertLess(summary["diagnostics"]["relative_residual"], TOLERANCE[precision])
                        for i in (0, 4):  # blocks have conditions of less than 10
                            exact = numpy.linalg.solve(a[i:i + 2, i:i + 2], b[i:i + 2])
                            error = numpy.linalg.norm(x[i:i + 2] - exact)
                            self.assertLess(error, 30 * TOLERANCE[precision] * numpy.linalg.norm(exact))

    def test_what_has_no_digits_in_units_of_its_own_is_refused(self):
        a = numpy.diag([1.0, 1, 1, 1])
        a[0, 1], a[2, 3] = 0.5, -0.5
        a[:2] *= 1e25
        a[2:] *= 1e-25
        x, _, _ = self.run_system(a, numpy.ones(4), "float64", "auto", 0)
        numpy.testing.assert_allclose(x, numpy.linalg.solve(a, numpy.ones(4)), rtol=1e-7)
        for method in ("auto", "gmres"):
            self.refuse_run(a, numpy.ones(4), "float32", method,
                            r"b has no place in float32: row 0, counted from 0, is 1, and too small beside others")
        # What is small as given, too, makes no difference.
        self.run_system(a, numpy.array([1e-25, 1e-25, 1, 1]), "float32", "auto", 0)

    def refuse_run(self, *arguments):
        *arguments, what = arguments
        with self.assertRaises(IndexError):  # there is no x
            self.run_system(*arguments, FAILED)
        _, err = self.call("run", "case.yaml", "--quiet", "--overwrite", code=FAILED)
        self.assertRegex(err, what)

    def test_a_tolerance_that_is_named_has_to_be_reached(self):
        a = numpy.diag([3.0, 7])
        for method in ("cg", "minres", "bicgstab", "gmres", "auto"):
            with self.subTest(method=method):
                _, err, _ = self.run_system(a, numpy.ones(2), "float32", method, FAILED, tolerance=1e-15)
                self.assertRegex(err, r"did not converge: the residual is .* in units of their own "
                                      r"\(rounding allows no less: float64, or a larger tolerance\)")
        # Nor is an x that has lost its digits taken for one.
        numpy.save(self.directory / "b.npy", numpy.full(2, 1e-47))
        for matrix in ({"file": "a.mtx"}, {"stencil": "3-point", "points": [2]}):
            file = self.write("case.yaml", {"simulation": "linear_system", "precision": "float32", "parameters": {
                "matrix": matrix, "rhs": {"file": "b.npy"}, "tolerance": 0.5}})
            _, err = self.call("run", file, "--quiet", "--overwrite", code=FAILED)
            self.assertIn("x has no place in float32: row 0", err)

    def test_what_fits_in_float64_is_converged(self):
        # What products in float32 make of residuals is often more than they are.
        generator = numpy.random.default_rng(10)
        for n in range(33, 60, 3):
            b = generator.uniform(-0.2, 1.8, n)
            generated = {"stencil": "3-point", "points": [n]}
            for matrix, method in ((generated, "auto"), (line(n), "cg"), (line(n), "gmres")):
                with self.subTest(n=n, method=method, generated=matrix is generated):
                    x, _, _ = self.run_system(matrix, b, "float32", method, FAILED, tolerance=1e-7)
                    left = numpy.linalg.norm(b - line(n) @ x) / numpy.linalg.norm(b)
                    x, _, summary = self.run_system(matrix, b, "float32", method, None, tolerance=left * 1.01)
                    now = numpy.linalg.norm(b - line(n) @ x) / numpy.linalg.norm(b)
                    self.assertEqual(bool(summary), now <= left * 1.01, now)


if __name__ == "__main__":
    support.main()
