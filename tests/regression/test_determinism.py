"""The same input gives the same bits: run after run, and on any number of threads."""

import os

import support
from support import heat


class Determinism(support.Case):
    # More rows than threads and sums over several blocks, so that the work is really shared out.
    config = heat(grid={"points": [400, 401]},
                  boundary={"x": "periodic", "y": {"neumann": "sin(t)"}},
                  initial={"u": "sin(40*x)*cos(30*y) + x"},
                  parameters={"diffusivity": "1 + sin(10*x)/2", "source": "exp(-t)*y"},
                  diagnostics=["norms", {"probe": {"at": [0.3, 0.7], "field": "u"}}])

    def run_on(self, threads, scheme, precision):
        file = self.write("case.yaml", self.config)
        folder = f"{scheme}_{precision}_{threads}"
        self.call("run", file, "--quiet", "--output", folder, "--set", f"time.scheme={scheme}",
                  "--set", f"precision={precision}", "--set", "time.end=1e-4",
                  environment={"OMP_NUM_THREADS": str(threads)})
        return folder

    def test_threads(self):
        for scheme, precision in (("ftcs", "float64"), ("rk4", "float32")):
            one = self.run_on(1, scheme, precision)
            for threads in (2, 3, 7):
                other = self.run_on(threads, scheme, precision)
                self.assert_same(other, one)
                self.assertEqual(self.info(other)["last"], self.info(one)["last"])
                self.assertEqual(self.images(other), self.images(one))

    def test_again(self):
        first = self.run_on(2, "rk4", "float64")
        os.rename(self.directory / first, self.directory / "first")
        again = self.run_on(2, "rk4", "float64")
        self.assert_same(again, "first")
        self.assertEqual(self.images(again), self.images("first"))

    def images(self, folder):
        return [(self.directory / folder / name).read_bytes()
                for name in self.files(folder) if name.endswith(".vti")]


if __name__ == "__main__":
    support.main()
