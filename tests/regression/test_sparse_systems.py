"""Whole runs of `linear_system` with sparse matrices, of files and generated ones."""

import json

import h5py
import numpy

import support
from support import FAILED
from test_linear_system import LinearSystem, system


class Sparse(LinearSystem):
    def test_sparse_files(self):
        generator = numpy.random.default_rng(2)
        n = 40
        a = numpy.where(generator.random((n, n)) < 0.1, generator.uniform(-1, 1, (n, n)), 0)
        a += 4 * numpy.eye(n)
        x = generator.uniform(-1, 1, n)
        for name, matrix in (("general", a), ("symmetric", a + a.T)):
            with h5py.File(self.directory / "a.h5", "w") as file:
                file["b"] = matrix @ x
                columns = [numpy.nonzero(row)[0] for row in matrix]
                group = file.create_group("A")
                group["data"] = matrix[matrix != 0]
                group["indices"] = numpy.concatenate(columns).astype("int32")
                group["indptr"] = numpy.cumsum([0] + [len(row) for row in columns])
                group.attrs["shape"] = [n, n]
                group.attrs["encoding-type"] = "csr_matrix"
            rows, columns = numpy.nonzero(matrix if name == "general" else numpy.tril(matrix))
            entries = "".join(f"{i + 1} {j + 1} {float(matrix[i, j])!r}\n"
                              for i, j in zip(rows, columns))
            self.write("a.mtx", f"%%MatrixMarket matrix coordinate real {name}\n"
                                f"{n} {n} {len(rows)}\n{entries}")
            rhs = {"file": "a.h5", "dataset": "/b"}
            for source in ({"file": "a.mtx"}, {"file": "a.h5", "dataset": "/A"}):
                for method in ("auto", "bicgstab", "gmres", "lu",
                               *(("minres",) if name == "symmetric" else ())):
                    with self.subTest(matrix=name, source=source, method=method):
                        config = system(matrix=source, rhs=rhs, method=method)
                        if method != "lu":
                            config["parameters"]["tolerance"] = 1e-12
                        found, summary = self.solve(config)
                        condition = numpy.linalg.cond(matrix)
                        numpy.testing.assert_allclose(
                            found, x, rtol=0, atol=condition * 2e-12 * numpy.linalg.norm(x))
                        if method != "lu":
                            self.assertEqual(summary["diagnostics"]["nonzeros"],
                                             numpy.count_nonzero(matrix))

    def test_several_right_hand_sides_of_a_sparse_file(self):
        generator = numpy.random.default_rng(5)
        n, count = 30, 4
        a = numpy.where(generator.random((n, n)) < 0.1, generator.uniform(-1, 1, (n, n)), 0)
        a += 4 * numpy.eye(n)
        x = generator.uniform(-1, 1, (n, count)) * [1, 1e-6, 0, 1e6]
        rows, columns = numpy.nonzero(a)
        entries = "".join(f"{i + 1} {j + 1} {float(a[i, j])!r}\n" for i, j in zip(rows, columns))
        self.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n"
                            f"{n} {n} {len(rows)}\n{entries}")
        b = a @ x
        numpy.save(self.directory / "b.npy", b)
        for method in ("lu", "auto"):
            config = system(matrix={"file": "a.mtx"}, rhs={"file": "b.npy"}, method=method)
            found, _ = self.solve(config)
            self.assertEqual(found.shape, (n, count))
            for column in range(count):
                size = numpy.linalg.norm(x[:, column])
                numpy.testing.assert_allclose(found[:, column], x[:, column], rtol=0,
                                              atol=numpy.linalg.cond(a) * 2e-8 * size)
        told = json.loads(self.call("info", "outputs/case", "--json")[0])["tables"]
        self.assertEqual([table["name"] for table in told], ["history", "right_hand_sides"])
        for column in range(count):
            numpy.save(self.directory / "b.npy", b[:, column])
            alone, _ = self.solve(config)
            numpy.testing.assert_array_equal(found[:, column], alone)

    def test_right_hand_sides_that_go_together(self):
        """More than go together, some of them 0 and others an eigenvector, by all preconditioners."""
        n, count = 40, 33
        generator = numpy.random.default_rng(9)
        a = numpy.where(generator.random((n, n)) < 0.1, generator.uniform(-1, 1, (n, n)), 0)
        a = a + a.T + numpy.diag(abs(a + a.T).sum(axis=1) + 1)
        rows, columns = numpy.nonzero(a)
        entries = "".join(f"{i + 1} {j + 1} {float(a[i, j])!r}\n" for i, j in zip(rows, columns))
        self.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n"
                            f"{n} {n} {len(rows)}\n{entries}")
        b = generator.uniform(-1, 1, (n, count)) * 10.0 ** generator.integers(-9, 9, count)
        b[:, [0, 8, 32]] = 0
        b[:, 5] = numpy.linalg.eigh(a)[1][:, 3]
        numpy.save(self.directory / "b.npy", b)
        solution = numpy.linalg.solve(a, b)
        for method, preconditioner in (("cg", "none"), ("cg", "jacobi"), ("cg", "chebyshev"),
                                       ("cg", "block_jacobi"), ("cg", "ic0"), ("minres", "jacobi"),
                                       ("bicgstab", "ilu0"), ("amg_cg", "auto"), ("auto", "auto")):
            config = system(matrix={"file": "a.mtx"}, rhs={"file": "b.npy"}, method=method)
            config["parameters"]["preconditioner"] = preconditioner
            found, summary = self.solve(config)
            self.assertEqual(summary["chosen"]["together"], "32")
            sizes = numpy.linalg.norm(solution, axis=0)
            numpy.testing.assert_array_less(
                numpy.linalg.norm(found - solution, axis=0),
                numpy.linalg.cond(a) * 2e-8 * sizes + numpy.finfo(float).tiny)
            told = json.loads(self.call("info", "outputs/case", "--json")[0])["tables"]
            self.assertEqual(told[1]["rows"], [count])
        b[3, 20] = numpy.nan
        numpy.save(self.directory / "b.npy", b)
        self.refuse(config, r"parameters\.rhs: b\.npy has nan at \[3\]\[20\] ")
        config["parameters"]["rhs"] = 1
        self.assertNotIn("together", self.solve(config)[1]["chosen"])

    def test_unknowns_and_equations_in_any_units(self):
        """The residual is as small as it has to be as it was given, too, where it does not shrink steadily there."""
        for seed in (37, 115, 125):
            generator = numpy.random.default_rng(seed)
            n = int(generator.choice([10, 10, 40]))
            a = numpy.where(generator.random((n, n)) < 3 / n, generator.uniform(-1, 1, (n, n)), 0)
            a += numpy.diag(abs(a).sum(axis=0) + abs(a).sum(axis=1) + 0.1)
            a *= 10.0 ** generator.integers(-3, 4, n)[:, None] * 10.0 ** generator.integers(-3, 4, n)
            b = a @ (generator.uniform(0.5, 1, n) / abs(a).max(axis=0))
            rows, columns = numpy.nonzero(a)
            entries = "".join(f"{i + 1} {j + 1} {float(a[i, j])!r}\n" for i, j in zip(rows, columns))
            self.write("a.mtx", f"%%MatrixMarket matrix coordinate real general\n{n} {n} {len(rows)}\n{entries}")
            numpy.save(self.directory / "b.npy", b)
            for method in ("gmres", "bicgstab", "auto"):
                with self.subTest(seed=seed, method=method):
                    found, summary = self.solve(system(matrix={"file": "a.mtx"}, rhs={"file": "b.npy"}, method=method))
                    left = numpy.linalg.norm(b - a @ found.ravel()) / numpy.linalg.norm(b)
                    self.assertLess(left, 1e-8)
                    self.assertAlmostEqual(summary["diagnostics"]["relative_residual"], left, delta=1e-12)

    def test_rows_and_columns_in_units_of_their_own(self):
        """What is solved in a moment in one unit is so whatever the units of rows and columns are."""
        for seed in range(6):
            generator = numpy.random.default_rng(seed)
            n = (10, 40)[seed % 2]
            a = numpy.where(generator.random((n, n)) < 3 / n, generator.uniform(-1, 1, (n, n)), 0)
            a += numpy.diag(abs(a).sum(axis=0) + abs(a).sum(axis=1) + 0.1)
            of_rows, of_columns = 10.0 ** generator.integers(-30, 31, (2, n))
            b = a @ generator.uniform(0.5, 1, n)
            rows, columns = numpy.nonzero(a)
            scaled = a * of_rows[:, None] * of_columns
            entries = "".join(f"{i + 1} {j + 1} {float(scaled[i, j])!r}\n" for i, j in zip(rows, columns))
            self.write("a.mtx", f"%%MatrixMarket matrix coordinate real general\n{n} {n} {len(rows)}\n{entries}")
            numpy.save(self.directory / "b.npy", b * of_rows)
            for method in ("gmres", "bicgstab", "auto"):
                with self.subTest(seed=seed, method=method):
                    found, summary = self.solve(system(matrix={"file": "a.mtx"}, rhs={"file": "b.npy"}, method=method))
                    left = numpy.linalg.norm((b - a @ (found.ravel() * of_columns))) / numpy.linalg.norm(b)
                    self.assertLess(left, 1e-6)
                    self.assertLess(summary["diagnostics"]["iterations"], 4 * n)

    def test_generated_matrices(self):
        x = numpy.random.default_rng(3).uniform(-1, 1, (5, 7, 6, 2))
        wide = numpy.pad(x, ((1, 1), (1, 1), (1, 1), (0, 0)))
        box = sum(wide[c:c + 5, b:b + 7, a:a + 6]
                  for c in range(3) for b in range(3) for a in range(3))
        numpy.save(self.directory / "b.npy", (27 * x - box).reshape(-1, 2))
        for precision, tolerance in (("float64", 1e-11), ("float32", 1e-5)):
            for preconditioner in ("auto", "chebyshev"):
                with self.subTest(precision=precision, preconditioner=preconditioner):
                    config = system(matrix={"stencil": "27-point", "points": [6, 7, 5]},
                                    rhs={"file": "b.npy"}, precision=precision)
                    config["parameters"].update(tolerance=tolerance, preconditioner=preconditioner)
                    found, summary = self.solve(config)
                    # The smallest eigenvalue is more than 4, and norm(b) less than 36 norm(x).
                    numpy.testing.assert_allclose(found, x.reshape(-1, 2), rtol=0,
                                                  atol=9 * tolerance * numpy.linalg.norm(x))
                    self.assertEqual(summary["diagnostics"]["nonzeros"], 16 * 19 * 13)
                    self.assertEqual("lattice" in summary["chosen"], preconditioner == "auto")

    def test_generated_matrices_of_axes_of_few_points(self):
        # The diagonal is that of the stencil, whatever the extents: Kronecker sums and products of lines.
        def line(n, diagonal):
            return diagonal * numpy.eye(n) - numpy.eye(n, k=1) - numpy.eye(n, k=-1)

        def on_axis(matrix, axis, points):
            parts = [matrix if a == axis else numpy.eye(n) for a, n in enumerate(points)]
            whole = numpy.ones((1, 1))
            for part in parts:  # x is the fastest
                whole = numpy.kron(part, whole)
            return whole

        for stencil, points in (("3-point", [1]), ("3-point", [2]), ("5-point", [1, 7]), ("5-point", [6, 1]),
                                ("5-point", [1, 1]), ("9-point", [1, 5]), ("9-point", [3, 4]),
                                ("7-point", [2, 1, 4]), ("7-point", [1, 1, 6]), ("27-point", [1, 3, 4]),
                                ("27-point", [5, 1, 1]), ("27-point", [2, 3, 2])):
            if stencil in ("9-point", "27-point"):
                box = numpy.ones((1, 1))
                for n in points:
                    box = numpy.kron(-line(n, -1), box)
                matrix = 3 ** len(points) * numpy.eye(len(box)) - box
            else:
                matrix = sum(on_axis(line(n, 2), a, points) for a, n in enumerate(points))
            b = numpy.cos(numpy.arange(len(matrix)))
            for method, preconditioner in (("auto", "auto"), ("cg", "multigrid"), ("cg", "ic0"),
                                           ("bicgstab", "multigrid"), ("minres", "jacobi"),
                                           ("gmres", "none")):
                config = system(matrix={"stencil": stencil, "points": points}, rhs="cos(i)", method=method)
                config["parameters"].update(tolerance=1e-11, preconditioner=preconditioner)
                x, _ = self.solve(config)
                numpy.testing.assert_allclose(x.ravel(), numpy.linalg.solve(matrix, b), rtol=0, atol=1e-9,
                                              err_msg=f"{stencil}, {points}, {method}, {preconditioner}")

    def test_multigrid_where_there_is_no_grid(self):
        self.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n")
        config = system(matrix={"file": "a.mtx"})
        config["parameters"]["preconditioner"] = "multigrid"
        self.refuse(config, r"case\.yaml:\d+:\d+: parameters\.preconditioner: multigrid goes by the "
                            r"grid of a generated matrix")

    def test_what_does_not_converge_is_written(self):
        entries = "1 1 1\n2 1 -1\n2 2 2\n3 2 -1\n3 3 1\n"
        self.write("a.mtx", f"%%MatrixMarket matrix coordinate integer symmetric\n3 3 5\n{entries}")
        _, err = self.call("run", self.write("case.yaml", system(
            matrix={"file": "a.mtx"}, rhs="i", method="minres")), "--quiet", code=FAILED)
        self.assertIn("minres did not converge: the matrix is singular", err)
        self.assertRegex(self.info("outputs/case")["head"], "h5: the run came to its end, but minres did not converge: ")
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            found = []
            file.visit(lambda name: found.append(name) if "relative_residual" in name else None)
            history = next(file[name] for name in found if "history" in name)
            self.assertEqual(history[0], 1)
            self.assertGreater(history[-1], 0.1)
        # What fits the range of A is solved.
        x, _ = self.solve(system(matrix={"file": "a.mtx"}, rhs="i - 1", method="minres"))
        numpy.testing.assert_allclose(numpy.diff(x), [1, 1], atol=1e-7)

    def test_gmres_knows_the_matrix_with_its_preconditioner_alone(self):
        # Rows 0 and 1 are the same, and b differs there.
        (self.directory / "a.mtx").write_text("%%MatrixMarket matrix coordinate real general\n3 3 7\n"
                                              "1 1 2\n1 2 1\n2 1 2\n2 2 1\n3 1 1\n3 2 4\n3 3 5\n")
        for preconditioner, what in (("none", "the matrix"), ("jacobi", "the matrix times its preconditioner")):
            config = system(matrix={"file": "a.mtx"}, rhs="i", method="gmres")
            config["parameters"]["preconditioner"] = preconditioner
            _, err = self.call("run", self.write("case.yaml", config), "--quiet", code=FAILED)
            self.assertRegex(err, f"gmres did not converge: {what} is singular as far as rounding tells")

    def test_gmres_does_not_speak_for_every_x(self):
        # x = (0, 1) solves it, and has no part of b, A b = 0, ...
        self.write("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 1\n")
        config = system(matrix={"file": "a.mtx"}, rhs="1 - i", method="gmres")
        config["parameters"]["preconditioner"] = "none"
        _, err = self.call("run", self.write("case.yaml", config), "--quiet", code=FAILED)
        self.assertIn("the matrix is singular as far as rounding tells, and no x that gmres finds has a smaller "
                      "residual: the residual is 1.00e+00", err)

    def test_sparse_files_that_are_refused(self):
        head = "%%MatrixMarket matrix coordinate real general\n"
        self.write("a.mtx", head + "2 3 1\n1 1 1\n")
        self.refuse(system(matrix={"file": "a.mtx"}), r"holds a matrix of 2 x 3 \(a square one")
        self.write("a.mtx", head + "2 2 2\n1 1 1\n3 1 1\n")
        self.refuse(system(matrix={"file": "a.mtx"}),
                    r"a\.mtx:4: there is no row 3 \(they are 1 to 2\)")
        self.write("a.mtx", head + "2 2 3\n1 1 1\n2 1 5\n2 2 1\n")
        self.refuse(system(matrix={"file": "a.mtx"}, method="cg"),
                    r"parameters\.method: cg needs a symmetric matrix \(here A\(0, 1\) = 0 and "
                    r"A\(1, 0\) = 5; gmres and bicgstab take any\)")
        self.refuse(system(matrix="i == j", size=3, rhs={"file": "a.mtx"}), "the matrix is sparse")
        self.write("a.mtx", head + "2 2 1\n2 2 1\n")
        self.refuse(system(matrix={"file": "a.mtx"}, rhs="1"),
                    "row 0 of the matrix, counted from 0, has no element but 0", code=FAILED)


if __name__ == "__main__":
    support.main()
