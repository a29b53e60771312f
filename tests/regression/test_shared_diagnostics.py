"""Diagnostics of runs that several processes share: found of the part that each has, with the bits of one process."""

import h5py
import numpy

import support
from shared import CHECKPOINTS, FLOW, LARGE_2D, LARGE_3D, Parts, SMALL, WAVE, pde

FRACTIONS = [0, 0.001, 0.25, 0.5, 0.75, 0.999, 1]
COUNTS = [{"histogram": {"bins": 7}}, {"histogram": {"bins": 1000, "range": [-0.2, 0.7]}}, {"quantiles": {"at": FRACTIONS}}]


class OfTheHost(Parts):
    def assert_as_one(self, process, way="^each rank its part"):
        super().assert_as_one(process, way)
        one, many = self.histograms("one"), self.histograms("many")
        self.assertEqual(one.keys(), many.keys())
        for name in one:
            numpy.testing.assert_array_equal(many[name], one[name], name)

    def histograms(self, folder):
        found = {}
        with h5py.File(self.directory / folder / "case.h5") as file:
            file.visititems(lambda name, item: found.update({name: item[()]})
                            if "histogram" in name and isinstance(item, h5py.Dataset) else None)
        return found

    def test_counts(self):
        """Of small and large grids, in slabs, pencils and bricks, beside norms and without."""
        self.assert_files({**SMALL, "diagnostics": COUNTS}, (2, 3, 5))
        self.assert_files({**SMALL, "diagnostics": ["norms", *COUNTS]}, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**LARGE_2D, "diagnostics": COUNTS}, (2, 3, 5))
        self.assert_files({**LARGE_2D, "diagnostics": COUNTS}, (6,), "--set", "ranks=[3,2]", precisions=("float32",))
        self.assert_files({**LARGE_3D, "diagnostics": COUNTS}, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))
        self.assert_files({**WAVE, "diagnostics": COUNTS}, (3,), precisions=("float64",))
        small = {"grid": {"points": [23, 24, 25]}, "time": {"end": 0.1}, "output": {"every": {"count": 3}}}
        self.assert_files({**FLOW, **small, "diagnostics": COUNTS}, (8,), "--set", "ranks=[2,2,2]", precisions=("float32",))

    def test_counts_of_vectors(self):
        """Of components, lengths and derived fields."""
        counts = [{"histogram": {"field": field, "bins": 12}} for field in ("h", "q.x", "q.magnitude", "slope.magnitude")]
        counts += [{"quantiles": {"field": field, "at": FRACTIONS}} for field in ("q.magnitude", "slope.y", "h")]
        config = pde({"h": "-div(q)", "q": "0.01*laplace(q) - h*q"}, fields={"q": "vector"}, checkpoint=CHECKPOINTS,
                     initial={"h": "1 + x", "q": {"x": "sin(6*y)", "y": "x"}}, diagnostics=counts,
                     output={"every": {"count": 3}, "derived": {"slope": "grad(h)"}})
        self.assert_files(config, (2, 3, 5))
        self.assert_files({**config, "diagnostics": ["norms", *counts]}, (4,), "--set", "ranks=[2,2]")

    def test_counts_of_values_that_lie_apart(self):
        """Of which even bins tell nothing, which are all alike, and whose range overflows."""
        for initial in ("1e-300*x + (y > 0.9)*1e300*y", "0.25", "1.5e308*(2*x - 1)", "1e-300*(x + y)"):
            self.assert_files(pde({"u": "0*u"}, initial={"u": initial}, checkpoint=CHECKPOINTS, time={"step": 1, "end": 2},
                                  output={"every": {"steps": 1}}, diagnostics=[COUNTS[0], COUNTS[2]]), (3,),
                              precisions=("float64",))


if __name__ == "__main__":
    support.main()
