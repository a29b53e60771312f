"""The same input gives the same bits: run after run, and on any number of threads."""

import os
import resource

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

    # Of each simulation a case, enlarged so that there is work for several threads.
    SIMULATIONS = (
        ("advection_2d_waves_weno5", "grid.points=[240,160]", "time.end=0.005"),
        ("advection_3d_lax_wendroff_float32", "grid.points=[40,50,60]", "time.end=0.02"),
        ("heat_3d_manufactured_rk4", "grid.points=[40,50,60]", "time.end=1e-3"),
        ("wave_2d_sides", "grid.points=[300,200]", "time.end=0.05"),
        ("wave_3d_earth_float32", "grid.points=[60,50,40]", "time.end=0.02"),
        ("convolution_volume", "grid.points=[50,60,70]"),
        ("poisson_1d_line_float32", "grid.points=300001"),
        ("poisson_3d_sides", "grid.points=[50,60,70]"),
        ("integration_sweep",),
        ("integration_peaks",),
        ("eigenvalues_2d_sides", "grid.points=[70,60]", "parameters.method=lobpcg"),
        ("eigenvalues_1d_largest_float32", "grid.points=1501"),
        ("linear_system_cholesky", "parameters.matrix.size=300", "kernels.factorize=reference"),
    )

    def test_threads_of_all_simulations(self):
        for name, *changes in self.SIMULATIONS:
            text = (support.ROOT / f"tests/regression/cases/{name}.yaml").read_text()
            file = self.write(f"{name}.yaml", text[:text.index("\nverify:") + 1])
            for threads in (1, 2, 3, 5):
                folder = f"{name}_{threads}"
                options = [part for change in changes for part in ("--set", change)]
                self.call("run", file, "--quiet", "--device", "cpu", "--output", folder, *options,
                          environment={"OMP_NUM_THREADS": str(threads)})
                self.assert_same(folder, f"{name}_1")

    def test_again(self):
        first = self.run_on(2, "rk4", "float64")
        os.rename(self.directory / first, self.directory / "first")
        again = self.run_on(2, "rk4", "float64")
        self.assert_same(again, "first")
        self.assertEqual(self.images(again), self.images("first"))

    def images(self, folder):
        return [(self.directory / folder / name).read_bytes()
                for name in self.files(folder) if name.endswith(".vti")]

    def test_what_is_no_number_of_threads(self):
        file = self.write("case.yaml", heat())
        for bad in "100000", "0", "-2", "many", "2.5", "99999999999999":
            _, err = self.call("run", file, code=support.FAILED,
                               environment={"OMP_NUM_THREADS": bad})
            self.assertIn(f"OMP_NUM_THREADS is '{bad}' (1 to ", err)
        self.assertEqual(self.files(), ["case.yaml"])
        for good in "", "3,2", "250":
            self.call("run", file, "--quiet", environment={"OMP_NUM_THREADS": good})

    def test_small_stacks(self):
        file = self.write("case.yaml", {**self.config, "time": {"end": 1e-4}})

        def run(kilobytes, code):
            def limit():
                resource.setrlimit(resource.RLIMIT_STACK, (kilobytes << 10, kilobytes << 10))
            return self.call("run", file, "--quiet", code=code, preexec_fn=limit,
                             environment={"OMP_NUM_THREADS": "3", "OMP_STACKSIZE": "16k"})[1]
        run(1024, support.DONE)
        for small in (128, 512, 1023):
            self.assertIn(f"the stack may not grow beyond {small} KiB (1 MiB is needed",
                          run(small, support.FAILED))

    def test_loops_of_little_work_stay_on_one_thread(self):
        # Had they several, they would wait for each other 40,000 times.
        file = self.write("case.yaml", heat(time={"end": 50}, output={"every": {"count": 1}}))
        times = {}
        for threads in (1, 8):
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw
            self.call("run", file, "--quiet", environment={"OMP_NUM_THREADS": str(threads)})
            times[threads] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_nvcsw - before
        self.assertLess(times[8], times[1] + 2000)


if __name__ == "__main__":
    support.main()
