"""Diagnostics of runs that several processes share: found of the part that each has, with the bits of one process."""

import json

import h5py

import support
from shared import CHECKPOINTS, FLOW, LARGE_2D, LARGE_3D, Parts, PartsOnGpu, SMALL, THREE_STEPS, WAVE, heat, pde

FRACTIONS = [0, 0.001, 0.25, 0.5, 0.75, 0.999, 1]
COUNTS = [{"histogram": {"bins": 7}}, {"histogram": {"bins": 1000, "range": [-0.2, 0.7]}}, {"quantiles": {"at": FRACTIONS}}]

FORMULAS = [{"integral": {"of": "u^2*(1 + x)*exp(-t) + y", "name": "i"}}, {"integral": "1"},
            {"minimum": {"of": "u*(x - 0.3)", "where": True, "name": "minimum"}},
            {"maximum": {"of": "sin(40*x)*cos(30*y) + 0*u", "where": True, "name": "maximum"}},
            {"maximum": {"of": "min(u, 0.001)", "where": True, "name": "plateau"}}]
OF_VOLUMES = [{"integral": "u*sin(x)*y*z^2"}, {"minimum": {"of": "u - x*y*z", "where": True, "name": "low"}}]
QUANTITIES = [{"integral": "dot(grad(h), grad(h))"}, {"integral": "w + t"},
              {"maximum": {"of": "div(q) + x", "where": True, "name": "most"}}, {"minimum": "laplace(h)"}]

# Values, components of vectors and lengths that are not finite after some steps, or at once.
NOT_FINITE = [pde({"u": "1e200*u"}, initial={"u": "1 + (y > 0.6)*x"}), pde({"q": "1e8*q"}, fields={"q": "vector"}, initial={
    "q": {"x": "1e300*x", "y": "8e307*(1 + y)"}}), pde({"q": "0*q"}, fields={"q": "vector"}, initial={
        "q": {"x": "8e307*(1 + y)", "y": "8e307*(1 + x)"}})]
for case in NOT_FINITE:
    case.update(grid={"points": [1103, 1201]}, time={"step": 1, "end": 3})


class WithCounts(Parts):
    def assert_as_one(self, process, way="^each rank its part"):
        super().assert_as_one(process, way)
        one, many = self.numbers("one"), self.numbers("many")
        self.assertEqual(one.keys(), many.keys())
        for name in one:
            self.assertEqual(many[name].tobytes(), one[name].tobytes(), (name, many[name], one[name]))

    def numbers(self, folder):
        """All that diagnostics have put into the results."""
        found = {}
        with h5py.File(self.directory / folder / "case.h5") as file:
            file["gridstride/diagnostics"].visititems(lambda name, item: found.update({name: item[()]})
                                                      if isinstance(item, h5py.Dataset) else None)
        return found


class OfTheHost(WithCounts):
    def test_counts(self):
        """Of small and large grids, in slabs, pencils and bricks, beside norms and without."""
        self.assert_files({**SMALL, "diagnostics": COUNTS}, (2, 3, 5))
        self.assert_files({**SMALL, "diagnostics": ["norms", *COUNTS]}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_2D, "diagnostics": COUNTS}, (2, 5))
        self.assert_files({**LARGE_2D, "diagnostics": COUNTS}, (6,), "--set", "ranks=[3,2]", precisions=("float32",))
        self.assert_files({**LARGE_3D, "diagnostics": COUNTS}, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        self.assert_files({**WAVE, "diagnostics": COUNTS}, (3,), precisions=("float64",))
        small = {"grid": {"points": [23, 24, 25]}, "time": {"end": 0.1}, "output": {"every": {"count": 3}}}
        self.assert_files({**FLOW, **small, "diagnostics": COUNTS}, (8,), "--set", "ranks=[2,2,2]", precisions=("float32",))

    def test_of_fields_that_no_file_holds(self):
        """Which nobody brings there; of some fields, too, and of lengths."""
        probes = [{"probe": {"at": [0.2, at]}} for at in (0.01, 0.5, 0.98)]
        unseen = {"every": {"count": 1}, "formats": ["hdf5"], "fields": []}
        for config in (SMALL, LARGE_2D):
            self.assert_files({**config, "output": unseen, "diagnostics": ["norms", *probes, *COUNTS]}, (2, 3))
        self.assert_files({**LARGE_2D, "output": unseen, "diagnostics": ["norms", *probes]}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_3D, "output": unseen, "diagnostics": ["norms"]}, (3,), precisions=("float32",))
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}}, grid={"points": [1103, 1201]}, time=THREE_STEPS,
                     output={"every": {"count": 1}, "fields": ["h"]}, diagnostics=["norms", {"probe": {
                         "at": [0.2, 0.98], "field": "q.magnitude"}}, {"probe": {"at": [0.2, 0.01], "field": "q.y"}}])
        self.assert_files(config, (2, 3))
        for config in NOT_FINITE:
            config = {**config, "output": {"every": {"steps": 1}, "formats": ["hdf5"], "fields": []}}
            file = self.write("case.yaml", config)
            _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=support.FAILED)
            _, err = self.end_of(self.start_ranks(3, "run", file, "--output", "many", "--quiet", "--overwrite"), support.FAILED, "")
            self.assertIn(one.strip().splitlines()[0], err)

    def test_counts_of_vectors(self):
        """Of components, lengths and derived fields."""
        counts = [{"histogram": {"field": field, "bins": 12}} for field in ("h", "q.x", "q.magnitude", "slope.magnitude")]
        counts += [{"quantiles": {"field": field, "at": FRACTIONS}} for field in ("q.magnitude", "slope.y", "h")]
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}}, diagnostics=counts,
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}})
        self.assert_files(config, (2, 3, 5))
        self.assert_files({**config, "diagnostics": ["norms", *counts]}, (4,), "--set", "ranks=[2,2]")

    def test_vectors_in_one_dimension(self):
        """Each has a component and a length; of derived ones, too."""
        looked_at = [{kind: {"field": field, **options}} for field in ("q.x", "q.magnitude", "slope.x", "slope.magnitude")
                     for kind, options in (("probe", {"at": 0.77}), ("histogram", {"bins": 5}), ("quantiles", {"at": [0.5]}))]
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     grid={"points": 601}, boundary={"x": "periodic"}, initial={"h": "1 + x*(1 - x)", "q": {"x": "sin(6*x)"}},
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}}, diagnostics=["norms", *looked_at])
        self.assert_files(config, (3,), precisions=("float64",))
        self.assertEqual(len(self.numbers("one")), 5*4 + 4*(1 + 2 + 1))

    def test_counts_of_values_that_lie_apart(self):
        """Of which even bins tell nothing, which are all alike, and whose range overflows."""
        for initial in ("1e-300*x + (y > 0.9)*1e300*y", "0.25", "1.5e308*(2*x - 1)", "1e-300*(x + y)"):
            self.assert_files(pde({"u": "0*u"}, initial={"u": initial}, checkpoint=CHECKPOINTS, time={"step": 1, "end": 2},
                                  output={"every": {"steps": 1}}, diagnostics=[COUNTS[0], COUNTS[2]]), (3,),
                              precisions=("float64",))

    def test_formulas(self):
        """Of small and large grids with ends and without, in slabs, pencils and bricks; with the points of extremes."""
        formulas = FORMULAS
        self.assert_files({**SMALL, "diagnostics": formulas}, (2, 3, 5))
        self.assert_files({**SMALL, "grid": {"points": [25, 31]}, "boundary": {"x": "periodic", "y": "periodic"},
                           "diagnostics": ["norms", *formulas]}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_2D, "diagnostics": formulas}, (2, 5))
        self.assert_files({**LARGE_2D, "diagnostics": formulas}, (6,), "--set", "ranks=[3,2]", precisions=("float32",))
        self.assert_files({**LARGE_3D, "diagnostics": OF_VOLUMES}, (3,), precisions=("float32",))
        self.assert_files({**LARGE_3D, "diagnostics": OF_VOLUMES}, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        self.assert_files({**WAVE, "diagnostics": formulas}, (3,), precisions=("float64",))
        self.assert_files({**FLOW, "diagnostics": OF_VOLUMES}, (8,), "--set", "ranks=[2,2,2]", precisions=("float32",))

    def test_formulas_of_large_planes(self):
        """Planes of more than a piece of a million points, whose pieces are planes; and a line of several pieces."""
        thin = heat(grid={"points": [1301, 1103, 5]}, boundary={"x": "periodic", "y": {"dirichlet": 0}, "z": {"neumann": 0}},
                    initial={"u": "sin(2*pi*x)*y*(1 - y) + z"}, time={"step": 1e-9, "end": 2e-9}, checkpoint=CHECKPOINTS,
                    output={"every": {"count": 1}}, diagnostics=[{"integral": "u^2 + x"}, {
                        "maximum": {"of": "u*y", "where": True, "name": "top"}}])
        self.assert_files(thin, (2,), precisions=("float64",))
        self.assert_files(thin, (4,), "--set", "ranks=[1,2,2]", precisions=("float64",))
        line = heat(grid={"points": 2500001}, boundary={"x": {"dirichlet": 0}}, initial={"u": "sin(6*pi*x)"},
                    time={"step": 1e-14, "end": 2e-14}, checkpoint=CHECKPOINTS, output={"every": {"count": 1}},
                    diagnostics=[{"integral": "u^2 + x"}, {"maximum": {"of": "u", "where": True, "name": "top"}}])
        self.assert_files(line, (3,))

    def test_formulas_of_vectors(self):
        """Of components and derived fields."""
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}},
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}}, diagnostics=[
                         "norms", {"integral": "h + q_x^2*h^(-1) + t"}, {"maximum": {"of": "slope_y*q_y", "where": True,
                                                                              "name": "most"}}, {"minimum": "q_y"}])
        self.assert_files(config, (2, 3, 5))
        self.assert_files(config, (4,), "--set", "ranks=[2,2]", precisions=("float32",))

    def test_quantities(self):
        """In the language of equations, beside derived fields and without; what looks farther than a step, or at the whole,
        the first rank finds."""
        quantities = QUANTITIES
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     let={"w": "h^2 - 0.5"}, initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}},
                     diagnostics=["norms", *quantities])
        self.assert_files(config, (2, 3, 5))
        self.assert_files({**config, "output": {"every": {"count": 3}, "derived": {"slope": "grad(h)"}}}, (3,))
        self.assert_files({**config, "diagnostics": quantities}, (4,), "--set", "ranks=[2,2]")
        large = {**config, "grid": {"points": [1103, 1201]}, "time": THREE_STEPS, "output": {"every": {"count": 1}}}
        self.assert_files(large, (3,), precisions=("float64",))
        heat_like = pde({"u": "0.01*laplace(u) - u^3"}, checkpoint=CHECKPOINTS, time={"end": 0.01, "scheme": "euler"})
        for far in ("laplace(laplace(u))", "u - mean(u)"):
            self.assert_files({**heat_like, "diagnostics": [{"integral": far}]}, (3,), precisions=("float64",),
                              way="^the first rank, of the whole grid")

    def test_formulas_that_are_not_finite(self):
        """The first of them, with the words of one process."""
        for diagnostics in ([{"integral": "laplace(u)*(x - 0.25)^(-1)"}], [{"integral": "(x - 0.25)^(-1)"}, {"maximum": "u"}], [{"maximum": "(y - 0.75)^(-1)"}, "norms"]):
            file = self.write("case.yaml", pde({"u": "0*u"}, initial={"u": "1 + x"}, grid={"points": [16, 20]},
                                               diagnostics=diagnostics))
            _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=support.FAILED)
            for count in (2, 3):
                _, err = self.end_of(self.start_ranks(count, "run", file, "--output", "many", "--quiet", "--overwrite"),
                                     support.FAILED, "a formula that is not finite")
                self.assertIn(one.strip().splitlines()[0], err)
                self.assertNotRegex(err, r"rank \d: ")


class Errors(Parts):
    def one(self, config):
        file = self.write("case.yaml", {**config, "device": self.DEVICE})
        out, _ = self.call("run", file, "--output", "one", "--quiet", "--overwrite", "--summary", "-")
        self.errors = json.loads(out)["verified"]
        self.assertTrue(all(error > 0 for error in self.errors.values()), self.errors)
        return file

    def end_of(self, process, code, text):
        out, err = super().end_of(process, code, text)
        if code == support.DONE and out:
            self.assertEqual(json.loads(out)["verified"], self.errors)
        return out, err


class Verified(Errors):
    """Errors beside an exact solution have the bits of one process, and so has what is said of those over a tolerance."""

    def test_scalars(self):
        """Of grids whose blocks lie across ranks, in slabs, pencils and bricks."""
        exact = {"exact": {"u": "sin(3*x)*cos(y + t)"}}
        self.assert_files({**SMALL, "verify": exact}, (2, 3, 5))
        self.assert_files({**LARGE_2D, "verify": exact}, (2, 5))
        self.assert_files({**LARGE_2D, "verify": exact}, (6,), "--set", "ranks=[3,2]", precisions=("float32",))
        of_volumes = {"exact": {"u": "exp(-9*(x - y)^2) + z*cos(t)"}}
        self.assert_files({**LARGE_3D, "verify": of_volumes}, (3,), precisions=("float32",))
        self.assert_files({**FLOW, "verify": of_volumes}, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        self.assert_files({**WAVE, "verify": exact}, (3,), precisions=("float64",))
        line = heat(grid={"points": 250001}, initial={"u": "sin(6*pi*x)"}, time={"step": 1e-14, "end": 2e-14}, checkpoint=CHECKPOINTS,
                    boundary={"x": {"dirichlet": 0}}, output={"every": {"count": 1}}, verify={"exact": {"u": "x*(1 - x)"}})
        self.assert_files(line, (3,))

    def test_vectors(self):
        """Of components, beside derived fields, and of these."""
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}},
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}},
                     verify={"exact": {"h": "1 + x*t", "q": {"y": "x + y"}, "slope": {"x": "cos(y)"}}})
        self.assert_files(config, (2, 3, 5))
        self.assert_files(config, (4,), "--set", "ranks=[2,2]", precisions=("float32",))

    def test_errors_of_any_magnitude(self):
        """Whose squares are beyond all numbers, or none; and all that is known of one that is no number."""
        for unit in ("1e-200", "1e200", "(1e-200 + 1e150*(y > 0.9))", "1e-320"):
            self.assert_files(pde({"u": "0*u"}, grid={"points": [250, 301]}, initial={"u": "0"}, time={"step": 1, "end": 2},
                                  checkpoint=CHECKPOINTS, output={"every": {"steps": 1}},
                                  verify={"exact": {"u": f"{unit}*(1 + x*y)"}}), (3,), precisions=("float64",))

    def test_others_go_on(self):
        file = self.one({**LARGE_2D, "verify": {"exact": {"u": "x*t"}}})
        self.on_ranks(3, "run", file, "--output", "many", "--quiet", "--set", "time.end=2e-8")
        self.on_ranks(2, "run", file, "--output", "many", "--quiet", "--restart", "--summary", "-")
        self.assert_same("one/case.h5", "many/case.h5")

    def test_tolerances(self):
        config = {**SMALL, "verify": {"exact": {"u": "x*y"}, "tolerance": {"l2": 1e-9, "max": 1e-9}}}
        file = self.write("case.yaml", config)
        _, one = self.call("run", file, "--output", "one", "--quiet", code=support.DOES_NOT_HOLD)
        self.assertIn("is over the tolerance", one)
        process = self.start_ranks(3, "run", file, "--output", "many", "--quiet")
        _, many = self.end_of(process, support.DOES_NOT_HOLD, "an error over the tolerance")
        self.assertTrue(many.startswith(one), many)
        self.assertEqual(self.contents("many", "*.h5").keys(), self.contents("one", "*.h5").keys())

    def test_formulas_too_long_for_parts(self):
        """With numbers of points in the place of x and y, or of y alone: the first rank compares the whole."""
        for axis in "xy":
            exact = "1+(" * 63 + axis + ")" * 63
            self.assert_files({**SMALL, "verify": {"exact": {"u": exact}}}, (3,), precisions=("float64",))


class OnGpu(PartsOnGpu, WithCounts):
    """Sums are those of blocks of points, which a GPU finds with the bits of its host."""

    def test_norms(self):
        """Of small and large grids, in slabs, pencils and bricks, and of fields that no file holds."""
        probe = {"probe": {"at": [0.2, 0.98]}}
        for diagnostics in (["norms"], ["norms", probe]):
            self.assert_files({**SMALL, "diagnostics": diagnostics}, (2, 3))
            self.assert_files({**LARGE_2D, "diagnostics": diagnostics}, (2, 3))
        self.assert_files({**LARGE_2D, "diagnostics": ["norms"]}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_3D, "diagnostics": ["norms"]}, (3,))
        self.assert_files({**LARGE_3D, "diagnostics": ["norms"]}, (8,), "--set", "ranks=[2,2,2]")
        unseen = {"every": {"count": 1}, "formats": ["hdf5"], "fields": []}
        self.assert_files({**LARGE_2D, "output": unseen, "diagnostics": ["norms", probe]}, (2, 3))
        self.assert_files({**LARGE_3D, "output": unseen, "diagnostics": ["norms"]}, (3,))
        line = heat(grid={"points": 2500001}, boundary={"x": {"dirichlet": 0}}, initial={"u": "sin(6*pi*x)"},
                    time={"step": 1e-14, "end": 2e-14}, checkpoint=CHECKPOINTS, output={"every": {"count": 1}},
                    diagnostics=["norms"])
        self.assert_files(line, (3,))

    def test_norms_of_any_magnitude(self):
        """Whose squares are beyond all numbers, or none."""
        for unit in ("1e-200", "1e200", "(1e-200 + 1e150*(y > 0.9))", "0"):
            self.assert_files(pde({"u": "0*u"}, grid={"points": [1250, 1301]}, initial={"u": f"{unit}*(1 + x*y)"},
                                  time={"step": 1, "end": 2}, checkpoint=CHECKPOINTS, output={"every": {"steps": 1}}), (3,),
                              precisions=("float64",))

    def test_norms_of_vectors(self):
        """Of components, lengths and derived fields; where files hold them and where not."""
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}},
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}})
        self.assert_files(config, (2, 3))
        self.assert_files(config, (4,), "--set", "ranks=[2,2]", precisions=("float64",))
        large = {**config, "grid": {"points": [1103, 1201]}, "time": THREE_STEPS}
        large["output"] = {**config["output"], "every": {"count": 1}, "fields": ["h"]}
        probes = [{"probe": {"at": [0.2, at], "field": field}} for at in (0.01, 0.5, 0.98) for field in ("q.y", "q.magnitude")]
        self.assert_files({**large, "diagnostics": ["norms", *probes]}, (2, 3))

    def test_values_that_are_not_finite(self):
        """The first of them, with the words of one process."""
        for config in NOT_FINITE:
            for fields in ({}, {"fields": []}):
                config["output"] = {"every": {"steps": 1}, "formats": ["hdf5"], **fields}
                file = self.write("case.yaml", {**config, "device": self.DEVICE})
                _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=support.FAILED)
                process = self.start_many(3, "run", file, "--output", "many", "--quiet", "--overwrite")
                _, err = self.end_of(process, support.FAILED, "a value that is not finite")
                self.assertIn(one.strip().splitlines()[0], err)

    def test_counts(self):
        counts = [*COUNTS, {"probe": {"at": [0.2, 0.98]}}]
        self.assert_files({**SMALL, "diagnostics": counts}, (2, 3))
        self.assert_files({**LARGE_2D, "diagnostics": counts}, (2, 3))
        self.assert_files({**LARGE_2D, "diagnostics": COUNTS}, (4,), "--set", "ranks=[2,2]")
        config = pde({"u": "0*u"}, checkpoint=CHECKPOINTS, time={"step": 1, "end": 2}, output={"every": {"steps": 1}},
                     diagnostics=COUNTS)
        for initial in ("0.25", "1e-300*x + (y > 0.9)*1e300*y", "max(0, x - 0.5)*(y - 0.5)"):
            self.assert_files({**config, "initial": {"u": initial}}, (3,), precisions=("float64",))

    def test_counts_of_vectors(self):
        counts = [{"histogram": {"field": "q.x", "bins": 12}}, {"quantiles": {"field": "slope.y", "at": FRACTIONS}},
                  {"histogram": {"field": "q.magnitude"}}, {"quantiles": {"field": "q.magnitude", "at": FRACTIONS}}]
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}}, diagnostics=counts,
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}})
        self.assert_files(config, (2, 3))
        self.assert_files(config, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**config, "grid": {"points": [1103, 1201]}, "time": THREE_STEPS}, (3,), precisions=("float64",))

    def test_formulas(self):
        """Of small and large grids with ends and without, in slabs, pencils and bricks; with the points of extremes."""
        formulas = FORMULAS
        self.assert_files({**SMALL, "diagnostics": formulas}, (2, 3))
        self.assert_files({**SMALL, "grid": {"points": [25, 31]}, "boundary": {"x": "periodic", "y": "periodic"},
                           "diagnostics": ["norms", *formulas]}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_2D, "diagnostics": formulas}, (2, 3))
        self.assert_files({**LARGE_2D, "diagnostics": formulas}, (4,), "--set", "ranks=[2,2]", precisions=("float32",))
        self.assert_files({**LARGE_3D, "diagnostics": OF_VOLUMES}, (3,))
        self.assert_files({**LARGE_3D, "diagnostics": OF_VOLUMES}, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        for variant in ("compiled", "interpreter"):
            self.assert_files({**SMALL, "diagnostics": formulas, "kernels": {"evaluate": variant}}, (3,), precisions=("float64",))
        for diagnostics in ([{"integral": "(x - 0.25)^(-1)"}], [{"maximum": "(y - 0.75)^(-1)"}, "norms"]):
            file = self.write("case.yaml", {**pde({"u": "0*u"}, initial={"u": "1 + x"}, grid={"points": [16, 20]},
                                                  diagnostics=diagnostics), "device": self.DEVICE})
            _, one = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=support.FAILED)
            _, err = self.end_of(self.start_many(3, "run", file, "--output", "many", "--quiet", "--overwrite"), support.FAILED, "")
            self.assertIn(one.strip().splitlines()[0], err)

    def test_formulas_of_vectors_and_quantities(self):
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     let={"w": "h^2 - 0.5"}, initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}},
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}}, diagnostics=[
                         "norms", {"integral": "h + q_x^2*h^(-1) + t"}, {"maximum": {"of": "slope_y*q_y", "where": True,
                                                                              "name": "most"}}, {"minimum": "q_y"}])
        self.assert_files(config, (2, 3))
        self.assert_files(config, (4,), "--set", "ranks=[2,2]", precisions=("float32",))
        self.assert_files({**config, "diagnostics": ["norms", *QUANTITIES]}, (2, 3))
        large = {**config, "grid": {"points": [1103, 1201]}, "time": THREE_STEPS, "diagnostics": QUANTITIES}
        self.assert_files(large, (3,), precisions=("float64",))

    def test_others_gather(self):
        """Of one machine, too, with the same bits."""
        whole = "^the first rank, of the whole grid"
        self.assert_files({**SMALL, "kernels": {"reduce": "vectorized"}}, (2,), way=whole)
        file = self.one({**LARGE_2D, "diagnostics": ["norms", *FORMULAS]})
        self.assert_as_one(self.start_ranks(2, "run", file, "--output", "many", "--quiet", "--overwrite", "--summary", "-"),
                           whole)


class VerifiedOnGpu(PartsOnGpu, Errors):
    def test_scalars(self):
        for config in (SMALL, LARGE_2D):
            self.assert_files({**config, "diagnostics": [], "verify": {"exact": {"u": "sin(3*x)*cos(y + t)"}}}, (2, 3))
        self.assert_files({**LARGE_2D, "diagnostics": [], "verify": {"exact": {"u": "x*t"}}}, (4,), "--set", "ranks=[2,2]")


if __name__ == "__main__":
    support.main()
