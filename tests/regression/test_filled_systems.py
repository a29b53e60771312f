"""Sparse systems that no iteration solves: `auto` fills them up and factorizes."""

import json

import h5py
import numpy

import support
from support import FAILED

TOLERANCE = {"float64": 1e-8, "float32": 1e-5}
N = 120


def shift():
    return numpy.roll(numpy.eye(N), 1, axis=1)


def scattered(generator, share):
    return numpy.where(generator.random((N, N)) < share, generator.normal(size=(N, N)), 0)


class FilledSystems(support.Case):
    def run_auto(self, a, b, method="auto", precision="float64", code=0, **options):
        """Returns x, the summary where it is solved, and what is told."""
        rows, columns = numpy.nonzero(a)
        entries = "".join(f"{i + 1} {j + 1} {float(a[i, j])!r}\n" for i, j in zip(rows, columns))
        self.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n"
                            f"{len(a)} {len(a)} {len(rows)}\n{entries}")
        numpy.save(self.directory / "b.npy", b)
        parameters = {"matrix": {"file": "a.mtx"}, "rhs": {"file": "b.npy"}, "method": method}
        file = self.write("case.yaml", {"simulation": "linear_system", "device": "cpu",
                                        "precision": precision, "parameters": parameters})
        _, err = self.call("run", file, "--quiet", "--summary", "summary.json", code=code, **options)
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            x = file["VTKHDF/PointData/x"][0]
        summary = json.loads((self.directory / "summary.json").read_text()) if code == 0 else {}
        return x, summary, err

    def expect_solved(self, a, b, precision, x):
        self.assertEqual(x.dtype.name, precision)
        residuals = numpy.linalg.norm(b - a @ x.astype("float64"), axis=0)
        self.assertTrue((residuals <= TOLERANCE[precision] * numpy.linalg.norm(b, axis=0)).all(),
                        residuals)
        exact = numpy.linalg.solve(a, b)
        errors = numpy.linalg.norm(x - exact, axis=0)
        bound = 2 * numpy.linalg.cond(a) * TOLERANCE[precision] * numpy.linalg.norm(exact, axis=0)
        self.assertTrue((errors <= bound).all(), errors)

    def test_what_iterations_do_not_solve(self):
        generator = numpy.random.default_rng(11)
        systems = {
            "shift": shift(),
            "nearly a shift": shift() + 0.01 * scattered(generator, 0.05),
            "permutation": numpy.eye(N)[generator.permutation(N)],
            "permutation of other units": numpy.eye(N)[generator.permutation(N)]
                                          * 10.0 ** generator.integers(-9, 9, (N, 1)),
            "eigenvalues around 0": scattered(generator, 0.1),
        }
        for name, a in systems.items():
            b = a @ generator.normal(size=N)
            for precision in ("float64", "float32"):
                with self.subTest(matrix=name, precision=precision):
                    x, summary, _ = self.run_auto(a, b, precision=precision)
                    self.assertEqual(summary["chosen"]["method"], "lu")
                    self.assertEqual(summary["chosen"]["preconditioner"], "none")
                    self.assertRegex(summary["fallbacks"][-1],
                                     r"^method: gmres gave way to lu \(the residual is ")
                    self.assertLessEqual(summary["diagnostics"]["relative_residual"],
                                         TOLERANCE[precision])
                    if "units" not in name:
                        self.expect_solved(a, b, precision, x)
                    else:  # each equation has one unknown
                        exact = numpy.linalg.solve(a, b)
                        numpy.testing.assert_allclose(x, exact, rtol=TOLERANCE[precision])
                    _, _, err = self.run_auto(a, b, "gmres", precision, code=FAILED)
                    self.assertRegex(err, "^gmres did not converge: ")

    def test_residuals_of_float32_are_summed_in_float64(self):
        # The rounding of sums in float32 is more than the tolerance here, and that of x less.
        generator = numpy.random.default_rng(107)
        n = int(generator.integers(50, 120))
        a = numpy.where(generator.random((n, n)) < 0.1, generator.normal(size=(n, n)), 0)
        a = a.astype("float32").astype("float64")
        b = generator.normal(size=n)
        x, summary, _ = self.run_auto(a, b, precision="float32")
        self.assertEqual(summary["chosen"]["method"], "lu")
        self.expect_solved(a, b, "float32", x)

    def test_several_right_hand_sides(self):
        generator = numpy.random.default_rng(12)
        a = scattered(generator, 0.1)
        b = generator.normal(size=(N, 37)) * 10.0 ** generator.integers(-9, 9, 37)
        b[:, 5] = 0
        for precision in ("float64", "float32"):
            x, summary, _ = self.run_auto(a, b, precision=precision)
            self.expect_solved(a, b, precision, x)
            self.assertEqual(summary["chosen"]["method"], "lu")
            self.assertEqual([line.partition(" (")[0] for line in summary["fallbacks"]],
                             ["right-hand side 0: method: bicgstab gave way to gmres",
                              "right-hand side 0: method: gmres gave way to lu"])
            (self.directory / "outputs/case").rename(self.directory / f"outputs/{precision}")
            for threads in ("1", "3"):
                self.run_auto(a, b, precision=precision, environment={"OMP_NUM_THREADS": threads})
                self.assert_same(f"outputs/{precision}", "outputs/case")

    def test_singular_matrices_fail_as_before(self):
        generator = numpy.random.default_rng(13)
        a = numpy.eye(N) - shift()  # a pivot is exactly 0
        first = numpy.eye(N)[0]
        x, _, err = self.run_auto(a, first, code=FAILED)
        by_gmres, _, told = self.run_auto(a, first, "gmres", code=FAILED)
        # But that auto need not be named.
        self.assertTrue(told.startswith(err.rstrip() + "; method: auto"), told)
        self.assertRegex(err, "^gmres did not converge: the residual is ")
        numpy.testing.assert_array_equal(x, by_gmres)
        # No pivot is, but for rounding.
        a = scattered(generator, 0.1)
        a[:, 0] = 0.3 * a[:, -1] + 0.7 * a[:, N // 2]
        outside = generator.normal(size=N)
        _, _, err = self.run_auto(a, outside, code=FAILED)
        self.assertRegex(err, "^gmres did not converge: the residual is ")

    def test_a_right_hand_side_that_factors_do_not_serve(self):
        generator = numpy.random.default_rng(14)
        a = scattered(generator, 0.1)
        a[:, 0] = 0.3 * a[:, -1] + 0.7 * a[:, N // 2]
        b = a @ generator.normal(size=(N, 5))
        b[:, 2] = generator.normal(size=N)
        x, _, err = self.run_auto(a, b, code=FAILED)
        self.assertRegex(err, r"^right-hand side 2: gmres did not converge: [^:]+: [^:]+$")
        self.assertNotIn("either", err)
        log = (self.directory / "outputs/case/case.log").read_text()
        self.assertRegex(log, "right-hand side 2: method: lu gave way to gmres")
        self.assertRegex(log, "right-hand side 3: method: gmres gave way to lu")
        for column in (0, 1, 3, 4):
            left = numpy.linalg.norm(b[:, column] - a @ x[:, column])
            self.assertLessEqual(left, 1e-8 * numpy.linalg.norm(b[:, column]))
        # That of GMRES, from the beginning.
        alone, _, _ = self.run_auto(a, b[:, 2], "gmres", code=FAILED)
        numpy.testing.assert_array_equal(x[:, 2], alone)

    def test_singular_symmetric_ones_stay_with_minres(self):
        generator = numpy.random.default_rng(15)
        vectors = generator.normal(size=(N, 9))
        a = vectors @ numpy.diag(generator.choice([-1, 1], 9) * generator.uniform(1, 2, 9)) @ vectors.T
        a = (a + a.T) / 2
        b = a @ generator.normal(size=N)
        x, summary, _ = self.run_auto(a, b)
        self.assertEqual(summary["chosen"]["method"], "minres")
        self.assertNotIn("lu", " ".join(summary["fallbacks"]))
        self.assertLessEqual(numpy.linalg.norm(b - a @ x), 1e-8 * numpy.linalg.norm(b))
        _, _, err = self.run_auto(a, generator.normal(size=N), code=FAILED)
        self.assertRegex(err, "^minres did not converge: the matrix is singular")


if __name__ == "__main__":
    support.main()
