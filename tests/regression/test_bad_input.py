"""Faulty input ends with exit code 2 and its message, before anything is written."""

import shutil

import support
from support import BAD_INPUT, ROOT, heat, replace_double

BAD = ROOT / "tests/data/bad"


class BadFiles(support.Case):
    """Every file of tests/data/bad through the program, from the top of a copy of the tree."""

    def setUp(self):
        super().setUp()
        shutil.copytree(BAD, self.directory / "tests/data/bad")
        data = "tests/regression/data/phantom_48.h5"  # that some of them name
        (self.directory / data).parent.mkdir(parents=True)
        shutil.copy(ROOT / data, self.directory / data)

    def test_messages(self):
        before = self.files()
        faulty = sorted(path.relative_to(ROOT) for path in BAD.glob("*.yaml"))
        self.assertGreaterEqual(len(faulty), 60)
        for file in faulty:
            with self.subTest(file=file.name):
                expected = (ROOT / file).with_suffix(".expected").read_text(encoding="utf-8")
                out, err = self.call("run", file, code=BAD_INPUT)
                self.assertEqual((out, err), ("", expected))
        self.assertEqual(self.files(), before)


class Refused(support.Case):
    """Input whose fault shows only with the device, the data and the memory at hand."""

    def refuse(self, config, message, *options):
        """`run` and `check` refuse the config with this message, a regular expression."""
        file = self.write("case.yaml", config)
        before = self.files()
        for command in ("run", "check"):
            out, err = self.call(command, file, *options, code=BAD_INPUT)
            self.assertEqual(out, "")
            self.assertRegex(err, message)
        self.assertEqual(self.files(), before)
        self.assertFalse((self.directory / "outputs").exists())

    def test_first_values_from_which_no_step_follows(self):
        """Which formula is no number counts, not what becomes of the rates there."""
        pde = {"simulation": "pde", "device": "cpu", "grid": {"points": 9}, "time": {"end": 1},
               "equations": {"u": "laplace(u) - u*d_dx(u)"}, "initial": {"u": 0}}
        self.refuse({**pde, "initial": {"u": "log(x - 0.5)"}}, r"initial.u: is nan at x = ")
        self.refuse({**pde, "initial": {"u": "1e39*(x + 1)"}, "precision": "float32"},
                    r"initial.u: is 1e.39 at x = 0 .float32 does not reach that far")
        self.refuse({**pde, "boundary": {"x": {"lower": {"dirichlet": "log(t)"}, "upper": {"dirichlet": 0}}}},
                    r"boundary.x.lower.dirichlet: is -inf at x = 0")
        self.refuse({**pde, "equations": {"u": "div(sqrt(x - 0.5)*grad(u))"}},
                    r"case.yaml:\d+:\d+: equations: how the rates change with the fields is not finite at x = 0,")

    def test_options_that_would_do_nothing(self):
        poisson = {"simulation": "poisson", "device": "cpu", "grid": {"points": [9, 8]}}
        for method in ("fft", "cg", "sor", "newton"):
            source = "x - u^3" if method == "newton" else "x"
            self.refuse({**poisson, "parameters": {"source": source, "method": method, "cycle": "w"}},
                        f"parameters.cycle: is of multigrid and mg_cg .method is {method}")
        self.refuse({**poisson, "parameters": {"source": "x", "iterations": 9}},
                    "parameters.iterations: is for iterations .fft solves at once")
        for method in ("fft", "cg"):
            self.refuse({**poisson, "parameters": {"source": "x", "method": method},
                         "kernels": {"multigrid": "reference"}},
                        f"kernels.multigrid: is for methods that relax or have cycles .method is {method}")
        for family in ("fft", "modes"):
            self.refuse({"simulation": "pde", "device": "cpu", "grid": {"points": [9, 8]},
                         "equations": {"u": "laplace(u)"}, "initial": {"u": "x"}, "time": {"end": 0.1},
                         "kernels": {family: "threads"}}, f"kernels.{family}: is for runs in modes")

    def test_settings(self):
        for setting, message in (
                ("time.end", r"^--set time\.end: is not a setting \(KEY=VALUE is needed"),
                ("=3", r"^--set =3: is not a setting"),
                ("time.end=never", r"^--set time\.end=never: .*time\.end: .*'never'"),
                ("time.ende=3", r"^--set time\.ende=3: .*unknown key.*did you mean 'end'\?"),
                ("time.end=-1", r"^--set time\.end=-1: .*time\.end: .*-1"),
                ("grid.points.7=3", r"^--set grid\.points\.7=3: "),
                ("time.end.deep=3", r"^--set time\.end\.deep=3: "),
                ("initial.u=sin(", r"^--set initial\.u=sin\(: .*initial\.u: "),
                ("device=tpu", r"^--set device=tpu: .*'tpu'")):
            with self.subTest(setting=setting):
                self.refuse(heat(), message, "--set", setting)
        self.refuse(heat(), r"device.*'warp'", "--device", "warp")

    def test_step_over_the_stability_limit(self):
        time = {"scheme": "rk4", "end": 1, "step": 0.01}
        self.refuse(heat(grid={"points": 11}, boundary={"x": "periodic"}, initial={"u": "x"},
                         time=time),
                    r"case\.yaml:\d+:\d+: time\.step: 0\.01 s is over the stability limit of "
                    r"0\.00575\d* s \(rk4 is stable up to 2\.785/\(4·α·Σ 1/h²\), here with "
                    r"α = 1 m²/s\); 'auto' takes at most 0\.9 of the limit\n")

    def test_diffusivity_that_is_not_positive_somewhere(self):
        self.refuse(heat(parameters={"diffusivity": "x - 0.5"}),
                    r"parameters\.diffusivity: is -0\.5 at x = 0, y = 0 \(a diffusivity is "
                    r"positive everywhere\)\n")
        self.refuse(heat(parameters={"diffusivity": "1/x"}), r"is inf at x = 0")

    def test_too_large_for_the_memory(self):
        self.refuse(heat(grid={"points": [200000, 100000]}),
                    r"grid\.points: heat: u needs 2 x 149\.0 GiB, all else 1\.5 MiB, the "
                    r"host has \d+\.\d [KMG]iB free\n")
        self.refuse(heat(grid={"points": [10**5, 10**5, 10**5]}, initial={"u": "0"},
                         boundary={axis: {"neumann": 0} for axis in "xyz"},
                         parameters={"diffusivity": "1 + x"}),
                    r"heat: u needs 3 x ")

    def test_variant_of_the_other_backend(self):
        self.refuse(heat(kernels={"stencil": "shared"}),
                    r"kernels\.stencil: 'shared' does not run on this device \(cpu has 'reference' "
                    r"or 'threads'\)\n")

    def test_fused_steps_of_another_dimension(self):
        self.refuse(heat(kernels={"fused_steps": 16}),
                    r"kernels\.fused_steps: '16' is out of range \(must be <= 8 in 2D\)\n")

    def test_no_gpu(self):
        if "cuda:" in self.call("list", "devices")[0]:
            self.skipTest("there is a GPU")
        self.refuse(heat(device="cuda"),
                    r"device: no GPU can be used \(.+\); 'auto' or 'cpu' run on the host\n")
        self.refuse(heat(), r"device: no GPU can be used", "--device", "cuda:1")

    def test_restart_is_no_way_around(self):
        file = self.write("case.yaml", heat(colour="red"))
        self.assertIn("unknown key", self.call("run", file, "--restart", code=BAD_INPUT)[1])


class Datasets(support.Case):
    """Initial values from a file. A result's own dataset, [steps][y][x], serves as 3D data."""

    dataset = "/VTKHDF/PointData/u"

    def setUp(self):
        super().setUp()
        marked = heat(initial={"u": "if(abs(x - 0.5) + abs(y - 0.5) < 1e-9, 0.1234567, y)"})
        self.call("run", self.write("data.yaml", marked), "--quiet")
        shutil.move(self.directory / "outputs/data/data.h5", self.directory / "data.h5")
        shutil.rmtree(self.directory / "outputs")

    def config(self, points=(17, 16, 5), **source):
        source = {"file": "data.h5", "dataset": self.dataset, **source}
        return heat(grid={"points": list(points)}, initial={"u": source},
                    boundary={axis: "periodic" for axis in "xyz"[:len(points)]})

    def refuse(self, config, message):
        before = self.files()
        _, err = self.call("run", self.write("case.yaml", config), code=BAD_INPUT)
        self.assertRegex(err, r"case\.yaml:\d+:\d+: initial\.u")
        self.assertRegex(err, message)
        self.assertEqual(self.files(), sorted({*before, "case.yaml"}))

    def test_the_right_shape_runs(self):
        self.call("run", self.write("case.yaml", self.config()), "--quiet")
        self.assertEqual(self.info("outputs/case")["grid"], ["17 x 16 x 5"])

    def test_wrong_shape(self):
        self.refuse(self.config(points=(16, 17, 5)),
                    r"is \[5\]\[16\]\[17\], the grid needs \[5\]\[17\]\[16\] \(the slowest axis "
                    r"first\)\n")
        self.refuse(self.config(points=(17, 16)),
                    r"is \[5\]\[16\]\[17\], the grid needs \[16\]\[17\] ")
        self.refuse(self.config(dataset="/VTKHDF/Steps/Values"), r"is \[5\], the grid needs")

    def test_missing_dataset(self):
        self.refuse(self.config(dataset="/VTKHDF/PointData/v"),
                    r"there is no dataset '/VTKHDF/PointData/v' .*did you mean "
                    r"'/VTKHDF/PointData/u'\?\n")
        self.refuse(self.config(dataset="/VTKHDF"), r"'/VTKHDF' is a group, not a dataset")

    def test_dataset_of_text(self):
        self.refuse(self.config(dataset="/gridstride/config"), r"holds text \(numbers are needed\)")

    def test_not_an_hdf5_file(self):
        self.refuse(self.config(file="data.yaml"), r"data\.yaml: ")
        cut = (self.directory / "data.h5").read_bytes()[:1000]
        (self.directory / "cut.h5").write_bytes(cut)
        self.refuse(self.config(file="cut.h5"), r"cut\.h5: ")

    def test_nan_in_the_dataset(self):
        for value, name in ((float("nan"), "-?nan"), (float("inf"), "inf")):
            shutil.copy(self.directory / "data.h5", self.directory / "bad.h5")
            replace_double(self.directory / "bad.h5", 0.1234567, value)
            self.refuse(self.config(file="bad.h5"),
                        rf"has {name} at cell \(8, 8, 0\) \(all values have to be finite\)\n")


if __name__ == "__main__":
    support.main()
