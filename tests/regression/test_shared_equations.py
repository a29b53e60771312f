"""Equations that several ranks solve together: the same bits, history and ends as in one process."""

import json
import random

import numpy

import support
from support import BAD_INPUT, DONE, FAILED
from shared import Shared

NUMBERS = ("residual", "backward_error", "mean", "imbalance", "solves", "relative_residual",
           "estimated_error", "factor")
SIDES = {"p": "periodic", "d": {"dirichlet": 0.5}, "n": {"neumann": 0},
         "dn": {"lower": {"dirichlet": "0.3"}, "upper": {"neumann": "-0.2"}},
         "nd": {"lower": {"neumann": "0.1"}, "upper": {"dirichlet": "1"}}}


def poisson(points, sides, device="cpu", **parameters):
    along = dict(zip("xyz", (SIDES.get(side, side) if isinstance(side, str) else side
                             for side in sides)))
    return {"simulation": "poisson", "device": device, "grid": {"points": list(points)},
            "boundary": along, "output": {"formats": ["hdf5", "vti"]},
            "parameters": {"method": "cg", "source": "sin(7*x)*y + 1", **parameters}}


def cycles(points, sides, device="cpu", **parameters):
    return poisson(points, sides, device, **{"method": "multigrid", **parameters})


def transforms(points, sides, device="cpu", **parameters):
    return poisson(points, sides, device, **{"method": "fft", **parameters})


class Solved(Shared):
    def solve(self, config, count, folder, code, environment=None):
        """What a run leaves and says: numbers, and the lines of its failure."""
        file = self.write("case.yaml", config)
        arguments = ("run", file, "--output", folder, "--quiet", "--overwrite", "--summary",
                     f"{folder}.json")
        if count == 1:
            _, err = self.call(*arguments, code=code,
                               environment={"OMP_NUM_THREADS": "1"})
        else:
            _, err = self.on_ranks(count, *arguments, code=code, environment=environment)
        summary = self.directory / f"{folder}.json"
        found = json.loads(summary.read_text()) if summary.exists() else {}
        numbers = {name: found["diagnostics"].get(name) for name in NUMBERS} if found else {}
        told = [line for line in err.splitlines() if "gridstride" in line or "poisson" in line
                or "case.yaml" in line]
        return numbers, told, found.get("chosen", {})

    def assert_solved(self, config, counts, code=DONE, has_result=True, environment=None):
        numbers, told, _ = self.solve(config, 1, "one", code)
        images = self.contents("one", "*.vti")
        self.assertEqual(bool(images), has_result)
        for count in counts:
            with self.subTest(ranks=count):
                folder = f"of_{count}"
                theirs, tells, chosen = self.solve(config, count, folder, code, environment)
                self.assertEqual(theirs, numbers)
                self.assertEqual(tells, told)
                self.assertEqual(self.contents(folder, "*.vti"), images)
                if environment:
                    self.assertTrue(chosen["transport"].startswith(environment["GRIDSTRIDE_TRANSPORT"]),
                                    chosen)
                if has_result:
                    self.assertTrue(chosen["ranks"].startswith(f"{count}, of "), chosen)
                    self.assert_same("one/case.h5", f"{folder}/case.h5")
        return told


class OnHost(Solved):
    def test_sides_of_every_kind(self):
        for number, sides in enumerate((("p", "p"), ("d", "d"), ("n", "d"), ("dn", "p"), ("p", "nd"),
                                        ("d", "n"), ("p", "dn"))):
            with self.subTest(sides=sides):
                self.assert_solved(poisson([11 + number, 17], sides, reaction=0.5), (2, 3, 8))
        for sides in (("p", "d", "p"), ("n", "p", "dn"), ("d", "nd", "n"), ("p", "n", "d")):
            with self.subTest(sides=sides):
                self.assert_solved(poisson([7, 6, 11], sides, reaction=1), (2, 5))

    def test_what_varies(self):
        rng = random.Random(7)
        for _ in range(6):
            dims = rng.choice((2, 3))
            points = [rng.randrange(5, 14) for _ in range(dims - 1)] + [rng.randrange(16, 24)]
            sides = [rng.choice(list(SIDES)) for _ in range(dims)]
            config = poisson(points, sides, diffusivity="1 + x*y + 0.3*sin(9*y)", reaction="0.1 + x",
                             source="exp(x) - y", inner=rng.choice(("float32", "float64")))
            config["precision"] = rng.choice(("float32", "float64"))
            with self.subTest(config=config):
                self.assert_solved(config, (rng.choice((2, 3, 5)), 8))

    def test_values_on_sides(self):
        around = {"x": {"lower": {"dirichlet": "y*z"}, "upper": {"neumann": "y - z"}},
                  "y": {"lower": {"neumann": "x + z"}, "upper": {"dirichlet": "sin(z) + x"}},
                  "z": {"lower": {"dirichlet": "x*y"}, "upper": {"neumann": "cos(x)*y"}}}
        config = poisson([6, 7, 17], (), diffusivity="1 + z*z + x")
        self.assert_solved({**config, "boundary": around}, (2, 3, 8))
        flat = {"x": {"dirichlet": "y^2"}, "y": {"lower": {"neumann": "x"}, "upper": {"dirichlet": "x"}}}
        self.assert_solved({**poisson([9, 33], ()), "boundary": flat}, (2, 5))

    def test_many_lines(self):
        """More planes and points of a row than a part of a sum has."""
        self.assert_solved(poisson([9, 4999], ("d", "n"), iterations=40), (2, 3), code=FAILED)
        self.assert_solved(poisson([2099, 9], ("d", "p"), iterations=30, diffusivity="1 + y"), (3,),
                           code=FAILED)

    def test_an_open_mean(self):
        for sides in (("p", "p"), ("n", "p"), ("n", "n")):
            with self.subTest(sides=sides):
                self.assert_solved(poisson([12, 17], sides, source="cos(2*pi*x)*cos(pi*y)", mean=3,
                                           imbalance=1), (2, 3, 8))

    def test_what_does_not_end(self):
        told = self.assert_solved(poisson([33, 31], ("d", "d"), iterations=5), (2, 3), code=FAILED)
        self.assertIn("after 5 iterations", told[0])

    def test_what_has_no_solution(self):
        config = poisson([12, 17], ("p", "n"), source="1 + x")
        told = self.assert_solved(config, (2, 5), code=BAD_INPUT, has_result=False)
        self.assertIn("its integral and what flows in", told[0])

    def test_nothing_to_solve(self):
        self.assert_solved(poisson([9, 17], ("p", "n"), source=0), (3,))

    def test_what_roundings_leave(self):
        """No residual is 10^-15 of f: roundings of rows are larger, which is no failure."""
        for points, sides, more in (([33, 31], "dd", {}), ([9, 12, 17], "dpn", {"diffusivity": "1 + x*z"}),
                                    ([17, 21], "pd", {"inner": "float32"})):
            self.assert_solved(poisson(points, sides, tolerance=1e-15, **more), (2, 3))

    def test_coefficients_from_files(self):
        values = 1 + numpy.random.default_rng(3).random((19, 8, 5))
        numpy.save(self.directory / "a.npy", values)
        numpy.save(self.directory / "f.npy", values[::-1] - 1)
        self.assert_solved(poisson([5, 8, 19], ("p", "d", "n"), diffusivity={"file": "a.npy"},
                                   source={"file": "f.npy"}), (2, 8))


class ByCycles(Solved):
    """multigrid: its finest levels are cut where ranks have eight planes of them, and large enough."""

    def test_sides_of_every_kind(self):
        for number, sides in enumerate((("p", "p"), ("d", "d"), ("n", "d"), ("dn", "p"), ("p", "nd"))):
            with self.subTest(sides=sides):
                self.assert_solved(cycles([11 + number, 17], sides, reaction=0.5), (2, 5))
        for sides in (("p", "d", "p"), ("n", "p", "dn"), ("d", "nd", "n")):
            with self.subTest(sides=sides):
                config = cycles([34, 33, 48], sides, reaction=0.1)
                self.assert_solved(config, (2, 3))
                self.assert_solved({**config, "precision": "float32"}, (5,))

    def test_planes(self):
        for sides in (("d", "d"), ("p", "nd"), ("n", "p")):
            with self.subTest(sides=sides):
                self.assert_solved(cycles([257, 194], sides, reaction=0.1, cycle="v"), (3,))

    def test_conjugate_directions(self):
        for points, sides in (([33, 34, 40], "dpn"), ([257, 194], "dn"), ([9, 17], "pd")):
            with self.subTest(sides=sides):
                config = cycles(points, sides, reaction=0.1, method="mg_cg")
                self.assert_solved(config, (2, 3))
                self.assert_solved({**config, "precision": "float32"}, (2,))

    def test_an_open_mean(self):
        for points, sides in (([12, 17], ("p", "p")), ([32, 33, 40], ("n", "p", "n"))):
            with self.subTest(sides=sides):
                self.assert_solved(cycles(points, sides, source="cos(2*pi*x)*cos(pi*y)", mean=3,
                                          imbalance=1), (2, 3))

    def test_fields(self):
        """Smooth ones, and such as go from a thousandth to a thousand."""
        smooth, jumping = "1 + x*z + 0.3*sin(9*y)", "exp(7*sin(9*x)*cos(20*z))"
        self.assert_solved(cycles([34, 33, 48], ("p", "dn", "n"), diffusivity=smooth,
                                  reaction="0.1 + x"), (2, 3))
        self.assert_solved(cycles([33, 34, 40], "dnp", diffusivity=jumping, method="mg_cg"), (3,))
        config = cycles([257, 194], "nd", diffusivity="1 + x*y", cycle="v")
        self.assert_solved({**config, "precision": "float32"}, (2,))

    def test_an_open_mean_of_fields(self):
        values = 1 + numpy.random.default_rng(3).random((40, 33, 32))
        numpy.save(self.directory / "a.npy", values)
        self.assert_solved(cycles([32, 33, 40], ("n", "p", "n"), source="cos(2*pi*x)", mean=3,
                                  imbalance=1, diffusivity={"file": "a.npy"}, method="mg_cg"), (2,))

    def test_what_does_not_end(self):
        told = self.assert_solved(cycles([35, 34, 33], "ddd", iterations=2), (2, 3), code=FAILED)
        self.assertIn("after 2 cycles", told[0])

    def test_what_cycles_do_not_help(self):
        """One process has another method, which has a matrix, and ranks say why they have not."""
        squares = numpy.random.default_rng(1).random((33, 33)) > 0.8
        numpy.save(self.directory / "a.npy", numpy.kron(numpy.where(squares, 1e6, 1),
                                                        numpy.ones((2, 2)))[:65, :65])
        config = cycles([65, 65], "dd", method="auto", diffusivity={"file": "a.npy"})
        self.solve(config, 1, "one", DONE)
        _, told, chosen = self.solve(config, 2, "two", FAILED)
        self.assertIn("method: amg_cg may do", told[0])
        self.assertEqual(chosen["method"], "mg_cg")
        self.assertIn("amg_cg has not been tried (ranks share no matrix)",
                      (self.directory / "two/case.log").read_text())

    def test_what_has_no_solution(self):
        config = cycles([12, 17], ("p", "n"), source="1 + x")
        self.assert_solved(config, (2,), code=BAD_INPUT, has_result=False)

    def test_what_is_not_finite(self):
        config = cycles([33, 33, 34], "ddd", source=1e308)
        self.assert_solved(config, (2, 3), code=FAILED)

    def test_nothing_to_solve(self):
        self.assert_solved(cycles([9, 17], ("p", "n"), source=0), (3,))


class ByTransforms(Solved):
    """fft: a rank has its planes, and for what goes along the slowest axis its columns."""

    def test_planes(self):
        for count, sides in ((2, ("p", "nd")), (5, ("dn", "p"))):
            with self.subTest(sides=sides):
                self.assert_solved(transforms([12, 17], sides, reaction=0.5), (count,))

    def test_volumes(self):
        self.assert_solved(transforms([7, 6, 11], ("n", "p", "dn"), reaction=1), (3,))
        self.assert_solved({**transforms([7, 6, 11], ("d", "nd", "p"), reaction=1),
                            "precision": "float32"}, (5,))

    def test_layers(self):
        for axis in "xz":
            config = transforms([6, 7, 9], ("d", "p", "n"), diffusivity=f"1 + {axis}^2",
                                reaction=f"1 + {axis}")
            with self.subTest(axis=axis):
                self.assert_solved(config, (3,))

    def test_what_is_faster_eliminated(self):
        self.assert_solved(transforms([257, 256, 5], "pnd"), (2,))
        self.assert_solved(transforms([257, 4, 256], "ddp"), (2,))

    def test_an_open_mean(self):
        self.assert_solved(transforms([8, 9, 10], ("n", "p", "n"), source="cos(2*pi*x)*cos(pi*y)",
                                      mean=3, imbalance=1), (3,))

    def test_a_negative_reaction(self):
        self.assert_solved(transforms([12, 9, 11], ("d", "n", "p"), reaction=-3.5), (2,))

    def test_resonance(self):
        told = self.assert_solved(transforms([12, 17], ("p", "n"), source="cos(2*pi*x)", imbalance=1,
                                             reaction=-144 * (2 - 3**0.5)), (2,), code=BAD_INPUT,
                                  has_result=False)
        self.assertIn("resonance", told[0])

    def test_values_on_sides_and_files(self):
        values = numpy.random.default_rng(3).random((9, 7, 6))
        numpy.save(self.directory / "f.npy", values)
        around = {"x": {"lower": {"dirichlet": "y*z"}, "upper": {"neumann": "y - z"}},
                  "y": {"lower": {"neumann": "x + z"}, "upper": {"dirichlet": "sin(z) + x"}},
                  "z": {"lower": {"dirichlet": "x*y"}, "upper": {"neumann": "cos(x)*y"}}}
        config = transforms([6, 7, 9], (), source={"file": "f.npy"})
        self.assert_solved({**config, "boundary": around}, (4,))


class Refused(Solved):
    def test_what_is_not_shared(self):
        for points, parameters, needed in (
                ([3, 17], {"method": "fft"}, "fft with one unknown along x is computed by one process"),
                ([17, 17], {"method": "sor"},
                 "sor is computed by one process, since it is there to compare with (there are 2; "
                 "ranks share cg, fft, multigrid and mg_cg)"),
                ([17, 17], {"method": "jacobi", "diffusivity": "1 + x"},
                 "jacobi is computed by one process"),
                ([17, 17], {"method": "newton", "source": "exp(u)"}, "newton is computed by one"),
                ([99], {"source": "x"}, "a line is computed by one process (there are 2"),
                ([17, 17], {"diffusivity": "1+(" * 63 + "y" + ")" * 63}, "with simpler formulas")):
            with self.subTest(parameters=parameters):
                file = self.write("case.yaml", poisson(points, "d" * len(points), **parameters))
                _, err = self.call("check", file, "--ranks", "2", code=BAD_INPUT)
                self.assertIn(needed, err)
        _, err = self.on_ranks(2, "run", file, code=BAD_INPUT)
        self.assertEqual(err.count(needed), 1, err)
        self.assertEqual(self.files(), ["case.yaml"])

    def test_too_many(self):
        file = self.write("case.yaml", poisson([17, 9], "dd"))
        for _, err in (self.call("check", file, "--ranks", "5", code=BAD_INPUT),
                       self.on_ranks(5, "run", file, code=BAD_INPUT)):
            self.assertIn("5 ranks are too many for 9 points along y: up to 4 can share them", err)

    def test_what_check_tells(self):
        out, _ = self.call("check", self.write("case.yaml", poisson([17, 9], "dd")), "--ranks", "2")
        self.assertIn("2 ranks share 9 planes, up to 5 each", out)
        out, _ = self.call("check", self.write("case.yaml", cycles([33, 33, 64], "ddd")), "--ranks", "2")
        self.assertIn("2 ranks share 64 planes, up to 32 each", out)

    def test_what_transforms_take(self):
        """u, the source, two arrays of a rank's planes, and a half of each on the host to be sent;
        along the slowest axis the columns of coefficients, too."""
        def mebibytes(**parameters):
            file = self.write("case.yaml", transforms([64, 64, 64], "ddd", source="x", **parameters))
            told = json.loads(self.call("check", file, "--ranks", "2", "--json")[0])
            return told["rank_bytes"] / 2**20
        self.assertTrue(5 < mebibytes() < 6)
        self.assertTrue(7 < mebibytes(diffusivity="1 + z") < 8)


class OnGpu(Solved):
    def setUp(self):
        super().setUp()
        self.need_gpu()

    def assert_solved_on_gpu(self, config, counts):
        for transport, visible in (("p2p", None), ("p2p", "0"), ("staged", None)):
            environment = {"GRIDSTRIDE_TRANSPORT": transport}
            if visible is not None:
                environment["CUDA_VISIBLE_DEVICES"] = visible
            with self.subTest(transport=transport, visible=visible):
                self.assert_solved({**config, "device": "cuda"}, counts, environment=environment)

    def test_volumes(self):
        self.assert_solved_on_gpu(poisson([33, 18, 17], ("p", "d", "n"), reaction=1), (2, 3))
        self.assert_solved_on_gpu(poisson([18, 35, 20], ("n", "p", "p"), inner="float32", reaction=1),
                                  (2, 4))

    def test_fields(self):
        self.assert_solved_on_gpu(poisson([19, 18, 17], ("d", "n", "p"), diffusivity="1 + x*z"), (2, 3))

    def test_cycles(self):
        """Levels that are cut, and small ones that are not; up to the first one with 64 points a side."""
        for points, sides in (([160, 161, 192], ("p", "dn", "p")), ([2049, 2200], ("d", "n")),
                              ([40, 41, 42], "dpd"), ([162, 160, 168], "npn")):
            singular = not any("d" in side for side in sides)
            more = {"source": "cos(2*pi*x)", "imbalance": 1} if singular else {"reaction": 0.1}
            self.assert_solved_on_gpu(cycles(points, sides, **more), (3,))
            self.assert_solved_on_gpu(cycles(points, sides, **more, method="mg_cg"), (2,))

    def test_cycles_of_fields(self):
        """Sums of mg_cg are of 16 planes together in the first volume, and of 15 in planes."""
        smooth, jumping = "1 + x*y + 0.3*sin(9*y)", "exp(7*sin(9*x)*cos(20*y))"
        for points, sides in (([160, 161, 192], ("p", "dn", "p")), ([2049, 2200], ("d", "n")),
                              ([40, 41, 42], "dpd"), ([162, 160, 168], "dpn")):
            self.assert_solved_on_gpu(cycles(points, sides, diffusivity=smooth), (3,))
            self.assert_solved_on_gpu(cycles(points, sides, diffusivity=jumping, reaction="x",
                                             method="mg_cg"), (2,))

    def test_transforms(self):
        """Along all axes, and with elimination along each; of lines that stay on the chip, and others."""
        for points, sides, more in (([34, 33, 40], "dnp", {}), ([33, 36, 35], "ppd", {}),
                                    ([130, 97], ("p", "dn"), {}), ([257, 256, 130], "pnd", {}),
                                    ([260, 130, 253], "pdp", {}),
                                    ([20, 18, 33], "dpn", {"diffusivity": "1 + z"}),
                                    ([20, 18, 33], "pnd", {"diffusivity": "1 + x", "reaction": "x"}),
                                    ([64, 33], "nd", {"reaction": "x"})):
            for precision, counts in (("float64", (2, 3)), ("float32", (2,))):
                config = transforms(points, sides, **{"reaction": 0.5, **more})
                self.assert_solved_on_gpu({**config, "precision": precision}, counts)

    def test_transforms_in_pieces(self):
        """Grids of which each sends several pieces while it makes others."""
        for points, sides in (([160, 162, 168], "ppp"), ([260, 259, 66], "ddd"), ([2048, 2100], "pd")):
            self.assert_solved_on_gpu(transforms(points, sides, reaction=0.5), (2,))

    def test_planes(self):
        config = poisson([130, 97], ("p", "dn"), diffusivity="1 + x*y")
        self.assert_solved_on_gpu({**config, "precision": "float32"}, (2, 3))


if __name__ == "__main__":
    support.main()
