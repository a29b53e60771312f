"""Eigenvalues and modes against numpy's of the same matrix, which is made from the pages alone."""

import h5py
import numpy
import support
from random_references import Points, value
from support import BAD_INPUT, FAILED

SHAPES = (([9], "p"), ([8], "dn"), ([7, 6], "nd p"), ([5, 6], "nn dd"), ([4, 5, 6], "p nn dn"))


class Eigenvalues(support.Case):
    def find(self, **sections):
        path = self.write("case.yaml", {"simulation": "eigenvalues", "device": "cpu",
                                        "output": {"formats": ["hdf5"]}, **sections})
        self.call("run", path, "--quiet")
        with h5py.File(self.directory / "outputs/case/case.h5") as file:
            fields = {name: field[-1] for name, field in file["VTKHDF/PointData"].items()}
            return file["gridstride/tables/eigenvalues/eigenvalue"][:], fields

    def expect(self, matrix, found, largest, what):
        known = numpy.linalg.eigvalsh(matrix / abs(matrix).max()) * abs(matrix).max()
        known = known[::-1] if largest else known
        numpy.testing.assert_allclose(found, known[:len(found)], rtol=0, atol=1e-12 * abs(known).max(),
                                      err_msg=what)

    def test_what_check_prints_of_a_matrix_is_a_config(self):
        matrix = {"expression": "if(i == j, 2, 0)", "size": 4}
        path = self.write("case.yaml", {"simulation": "eigenvalues", "device": "cpu",
                                        "parameters": {"matrix": matrix, "modes": 2}})
        resolved = self.write("resolved.yaml", self.call("check", path)[0])
        self.call("check", resolved)

    def test_operators_on_grids(self):
        for number, (points, sides) in enumerate(SHAPES):
            sides = sides.split()
            dims = len(points)
            lower, upper = [-1, 0, 2][:dims], [1, 3, 2.5][:dims]
            grid = Points({"points": points, "lower": lower, "upper": upper}, sides)
            words = {"d": "dirichlet", "n": "neumann"}
            boundary = {axis: "periodic" if ends == "p" else
                        {"lower": {words[ends[0]]: 0}, "upper": {words[ends[1]]: 0}}
                        for axis, ends in zip("xyz", sides)}
            diffusivity, reaction = "1 + 0.5*sin(3*x)", f"{(-1) ** number * 40}*x^2"
            matrix = grid.symmetric(*(numpy.broadcast_to(value(text, grid.coordinates), grid.shape)
                                      for text in (diffusivity, reaction)))
            for method in ("lobpcg", "lanczos", "dense"):
                for which in ("smallest", "largest"):
                    what = f"{points}, {sides}, {method}, {which}"
                    found, fields = self.find(
                        grid={"points": points, "lower": lower, "upper": upper}, boundary=boundary,
                        parameters={"diffusivity": diffusivity, "reaction": reaction, "modes": 4,
                                    "method": method, "which": which})
                    self.expect(matrix, found, which == "largest", what)
                    modes = numpy.array([fields[f"mode_{k}"].ravel() for k in range(1, 5)])
                    weights = grid.weights.ravel() * numpy.prod(grid.spacing)
                    numpy.testing.assert_allclose(modes * weights @ modes.T, numpy.eye(4), atol=1e-7,
                                                  err_msg=what)
                    free = ~grid.given.ravel()
                    inner = (modes * numpy.sqrt(weights))[:, free]
                    rest = inner @ matrix - found[:, None] * inner
                    self.assertLess(numpy.linalg.norm(rest, axis=1).max(), 1e-6 * abs(matrix).max(), what)
                    self.assertEqual(abs(modes[:, ~free]).max(initial=0), 0, what)

    def test_sparse_matrices(self):
        random = numpy.random.default_rng(3)
        n = 40
        edges = numpy.tril(random.random((n, n)) < 0.15, -1)
        edges[n // 2:, :n // 2] = False  # two graphs, and 0 an eigenvalue of each
        graph = -(edges | edges.T).astype(float)
        numpy.fill_diagonal(graph, -graph.sum(axis=1))
        weighted = numpy.tril(edges * random.normal(size=(n, n)), -1)
        weighted += weighted.T + numpy.diag(random.normal(size=n))
        for name, matrix in (("graph", graph), ("negative", -graph), ("small units", 1e-20 * weighted),
                             ("multiple", numpy.diag(numpy.repeat([3.0, -1, 2, 7], n // 4)))):
            rows, columns = numpy.nonzero(numpy.tril(matrix))
            (self.directory / "a.mtx").write_text(
                f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(rows)}\n"
                + "".join(f"{i + 1} {j + 1} {matrix[i, j]!r}\n" for i, j in zip(rows, columns)))
            for method in ("lobpcg", "lanczos", "dense"):
                for which in ("smallest", "largest"):
                    found, _ = self.find(parameters={"matrix": {"file": "a.mtx"}, "modes": 5,
                                                     "method": method, "which": which})
                    self.expect(matrix, found, which == "largest", f"{name}, {method}, {which}")

    def test_chains_and_meshes_by_algebraic_multigrid(self):
        def line(n):
            return 2 - 2 * numpy.cos(numpy.pi * numpy.arange(1, n + 1) / (n + 1))
        plane = numpy.add.outer(line(70), line(71)).ravel()
        for stencil, points, known in (("3-point", [5000], line(5000)), ("5-point", [70, 71], plane)):
            found, _ = self.find(parameters={"matrix": {"stencil": stencil, "points": points}, "modes": 4})
            numpy.testing.assert_allclose(found, numpy.sort(known)[:4], rtol=0, atol=1e-14 * known.max())
            with h5py.File(self.directory / "outputs/case/case.h5") as file:
                self.assertEqual(file["gridstride/chosen/preconditioner"][()].decode(), "amg")
                self.assertLess(file["gridstride/diagnostics/iterations"][0], 60)

    def test_parts_that_hang_together_are_as_many_zeros(self):
        n = 300
        rows = [(i, i + 1) for i in range(1, n) if i % 50]
        degrees = numpy.bincount(numpy.array(rows).ravel(), minlength=n + 1)[1:]
        entries = [f"{j} {i} -1" for i, j in rows] + [f"{i} {i} {d}" for i, d in enumerate(degrees, 1)]
        self.write("a.mtx", "\n".join(["%%MatrixMarket matrix coordinate real symmetric", f"{n} {n} {len(entries)}",
                                       *entries, ""]))
        found, _ = self.find(parameters={"matrix": {"file": "a.mtx"}, "modes": 3, "method": "lobpcg"})
        numpy.testing.assert_allclose(found, 0, atol=1e-12)
        found, _ = self.find(parameters={"matrix": {"file": "a.mtx"}, "modes": 8, "method": "lobpcg"})
        self.assertEqual((found < 1e-9).sum(), 6)

    def test_what_iterations_do_not_find_auto_finds_densely(self):
        # Stripes along a diagonal, of which no coarser grid has the neighbours.
        i, j = numpy.indices((41, 41))
        a = numpy.where((i + j) // 2 % 2 == 0, 1, 1e6)
        numpy.save(self.directory / "a.npy", a)
        for which, ends in (("smallest", "nn"), ("largest", "dd")):
            sides = {"n": {"neumann": 0}, "d": {"dirichlet": 0}}[ends[0]]
            found, _ = self.find(grid={"points": [41, 41]}, boundary={"x": sides, "y": sides},
                                 parameters={"diffusivity": {"file": "a.npy"}, "modes": 6, "which": which})
            grid = Points({"points": [41, 41], "lower": [0, 0], "upper": [1, 1]}, [ends, ends])
            matrix = grid.symmetric(a, 0 * a)
            self.expect(matrix, found, which == "largest", which)
            with h5py.File(self.directory / "outputs/case/case.h5") as file:
                chosen = file["gridstride/chosen/method"][()].decode()
                fallbacks = [text.decode() for text in file["gridstride/fallbacks"][:]]
            self.assertEqual(chosen, "dense" if which == "smallest" else "lanczos")
            self.assertEqual(any("method: lobpcg gave way to dense (" in text for text in fallbacks),
                             which == "smallest", fallbacks)

    def test_a_reaction_far_from_0_moves_eigenvalues_alone(self):
        x = numpy.linspace(0, 1, 33)
        for reaction in (1e8, 1e12, -1e12):
            for method in ("lobpcg", "lanczos", "dense"):
                found, fields = self.find(grid={"points": 33}, parameters={
                    "modes": 3, "method": method, "reaction": reaction})
                for k, value in enumerate(found, 1):
                    mode = fields[f"mode_{k}"] * numpy.sign(fields[f"mode_{k}"][1])
                    numpy.testing.assert_allclose(mode, 2**0.5 * numpy.sin(k * numpy.pi * x), atol=1e-10)
                    self.assertLessEqual(abs(value - reaction - 4 * 32**2 * numpy.sin(k * numpy.pi / 64) ** 2),
                                         1e-15 * abs(reaction))

    def test_wells_in_float32_have_small_values_beside_large_ones(self):
        # x is 1e-23 where it would be 0 but for rounding.
        sections = {"precision": "float32", "grid": {"points": 41, "lower": -4, "upper": 4}}
        found, _ = self.find(parameters={"modes": 2, "reaction": "(x + 1e-23)^2"}, **sections)
        grid = Points({"points": [41], "lower": [-4], "upper": [4]}, ["dd"])
        matrix = grid.symmetric(numpy.ones(41), grid.coordinates["x"] ** 2)
        numpy.testing.assert_allclose(found, numpy.linalg.eigvalsh(matrix)[:2], rtol=1e-6)
        path = self.write("case.yaml", {
            "simulation": "eigenvalues", "parameters": {"modes": 2, "reaction": "1e-40*x"}, **sections})
        _, err = self.call("check", path, code=BAD_INPUT)
        self.assertRegex(err, r"parameters.reaction: is 4e-40 at most \(it is beyond what the precision")

    def refuse(self, code, what, **sections):
        path = self.write("case.yaml", {"simulation": "eigenvalues", "device": "cpu", **sections})
        _, err = self.call("run", path, "--quiet", "--overwrite", code=code)
        self.assertRegex(err, what)

    def test_eigenvalues_without_a_place_are_refused(self):
        self.refuse(FAILED, r"eigenvalue 2 has no place in float64: its size is about 10\^308\.3 "
                            r"\(another unit of parameters\.matrix\)",
                    parameters={"matrix": {"expression": "1e308", "size": 2}, "modes": 2})
        found, _ = self.find(parameters={"matrix": {"expression": "8e307", "size": 2}, "modes": 2})
        self.assertAlmostEqual(found[1] / 1.6e308, 1)
        # The square root of 2 times the least number that there is.
        self.refuse(FAILED, r"eigenvalue 1 has no place in float64: its size is about 10\^-323\.2",
                    parameters={"matrix": {"expression": "if(abs(i - j) == 1, 5e-324, 0)", "size": 3}, "modes": 1})
        self.refuse(BAD_INPUT, r"parameters\.diffusivity: is 1e-300 at most \(over the square of the least "
                               r"spacing, 1\.25e\+14 m, that is less than float64 holds",
                    grid={"points": 9, "upper": 1e15}, parameters={"modes": 1, "diffusivity": 1e-300})

    def test_modes_of_domains_of_any_size(self):
        for length, diffusivity, precision in ((1e104, 1e208, "float64"), (1e-104, 1e-208, "float64"),
                                               (1e25, 1, "float32"), (1e-25, 1, "float32")):
            for method in ("dense", "lobpcg"):
                with self.subTest(length=length, method=method):
                    found, fields = self.find(
                        precision=precision, grid={"points": [5, 5, 5], "upper": [length] * 3},
                        parameters={"diffusivity": diffusivity, "modes": 1, "method": method})
                    sine = numpy.sin(numpy.pi * numpy.arange(5) / 4)
                    mode = numpy.einsum("i,j,k", sine, sine, sine) * 8**0.5 * (length**-0.5)**3
                    numpy.testing.assert_allclose(fields["mode_1"] / mode.max(), mode / mode.max(), atol=1e-6)
        for length, size in ((1e31, r"-46\.0"), (1e29, r"-43\.0"), (1e-26, r"39\.5")):
            self.refuse(FAILED, rf"mode 1 has no place in float32: .* its largest value about 10\^{size} "
                                r"\(precision: float64, or another unit of length\)", precision="float32",
                        grid={"points": [5, 5, 5], "upper": [length] * 3}, parameters={"modes": 1})


if __name__ == "__main__":
    support.main()
