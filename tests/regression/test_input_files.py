"""Numbers from the files of other programs: h5py, numpy, and bare ones."""

import h5py
import numpy

import support
from support import BAD_INPUT, heat


class InputFiles(support.Case):
    shape = (16, 17)

    def numbers(self, kind):
        generator = numpy.random.default_rng(7)
        if kind.startswith("f"):
            return generator.standard_normal(self.shape).astype(kind)
        return generator.integers(0, 100, self.shape).astype(kind)

    def config(self, **source):
        return heat(grid={"points": list(self.shape[::-1])}, initial={"u": source},
                    boundary={"x": "periodic", "y": "periodic"},
                    output={"formats": ["hdf5"]})

    def expect_start(self, expected, **source):
        """The first output has the numbers of the file, rounded to the run's precision."""
        for precision in ("float32", "float64"):
            config = {**self.config(**source), "precision": precision}
            self.call("run", self.write("case.yaml", config), "--quiet", "--overwrite")
            with h5py.File(self.directory / "outputs/case/case.h5") as file:
                start = file["VTKHDF/PointData/u"][0]
            numpy.testing.assert_array_equal(start, expected.astype("f8").astype(precision))

    def refuse(self, message, **source):
        _, err = self.call("run", self.write("case.yaml", self.config(**source)), code=BAD_INPUT)
        self.assertRegex(err, message)

    def test_datasets_of_h5py(self):
        kinds = {
            "contiguous": ("f4", {}),
            "big_endian": (">f8", {}),
            "half": ("f2", {}),
            "chunks": ("i2", {"chunks": (5, 6)}),
            "packed": ("f8", {"chunks": (5, 6), "compression": "gzip", "shuffle": True,
                              "fletcher32": True}),
            "lines": (">u2", {"chunks": (4, 17), "compression": 9}),
            "scaled": ("i4", {"chunks": (4, 4), "scaleoffset": 0}),
            "compact": ("u1", {}),
        }
        with h5py.File(self.directory / "data.h5", "w") as file:
            for name, (kind, options) in kinds.items():
                file.create_dataset(name, data=self.numbers(kind), **options)
        for name, (kind, _) in kinds.items():
            with self.subTest(name):
                self.expect_start(self.numbers(kind), file="data.h5", dataset=f"/{name}")

    def test_a_file_with_a_user_block(self):
        with h5py.File(self.directory / "data.h5", "w", userblock_size=512) as file:
            file.create_dataset("a", data=self.numbers("f8"))
            file.create_dataset("b", data=self.numbers("f4"), chunks=(3, 17), compression="gzip")
        self.expect_start(self.numbers("f8"), file="data.h5", dataset="/a")
        self.expect_start(self.numbers("f4"), file="data.h5", dataset="/b")

    def test_arrays_of_numpy(self):
        for kind in ("f2", "<f4", ">f8", "|i1", "|u1", "<i2", ">u2", "<i4", "<u4", ">i8", "<u8"):
            with self.subTest(kind):
                array = self.numbers(kind)
                numpy.save(self.directory / "a.npy", array)
                self.expect_start(array, file="a.npy")
                numpy.save(self.directory / "a.npy", numpy.asfortranarray(array))
                self.expect_start(array, file="a.npy")

    def test_bare_numbers(self):
        for kind, name, order in (("<f4", "float32", "little"), (">i2", "int16", "big")):
            array = self.numbers(kind)
            (self.directory / "a.bin").write_bytes(b"head" + array.tobytes() + b"the rest")
            self.expect_start(array, file="a.bin", type=name, shape=list(self.shape),
                              byte_order=order, offset=4, rest=8)

    def test_what_numpy_saves_otherwise_is_refused(self):
        for array, what in ((self.numbers("f8") + 1j, "complex numbers"),
                            (self.numbers("u1") > 50, "booleans"),
                            (numpy.zeros(self.shape, [("x", "f4"), ("y", "f4")]), "records"),
                            (numpy.full(self.shape, None), "Python objects|an unknown type"),
                            (numpy.full(self.shape, "text"), "text")):
            numpy.save(self.directory / "a.npy", array)
            self.refuse(rf"case\.yaml:\d+:\d+: initial\.u: \S*a\.npy: holds ({what})",
                        file="a.npy")

    def test_files_of_other_formats(self):
        """They are not taken for HDF5, whose dataset is missing."""
        for name, advice in (("a.csv", "numpy.save makes a .npy of what numpy.loadtxt reads"),
                             ("a.npz", "numpy.save writes one array as .npy, scipy.io.mmwrite a sparse matrix"),
                             ("a.mtx.gz", "it has to be unpacked before"), ("a.dat", "'type' says"),
                             ("a.NPY", "the ending has to be .npy, in small letters")):
            (self.directory / name).write_bytes(b"1,2\n")
            message = rf"file: of what format '{name}' is does not show .*; {advice}"
            self.refuse(r"\Acase\.yaml:\d+:\d+: initial\.u\." + message + r".*\n\Z", file=name)
            system = {"simulation": "linear_system", "parameters": {"matrix": {"file": name}, "right": [1, 2]}}
            _, err = self.call("check", self.write("system.yaml", system), code=BAD_INPUT)
            self.assertRegex(err, r"system\.yaml:\d+:\d+: parameters\.matrix\." + message)
        self.refuse(r"initial\.u: a\.csv: ", file="a.csv", dataset="/u")
        self.numbers("f4").tofile(self.directory / "a.dat")
        self.expect_start(self.numbers("f4"), file="a.dat", type="float32", shape=list(self.shape))

    def test_shapes(self):
        numpy.save(self.directory / "a.npy", self.numbers("f4").T)
        self.refuse(r"initial\.u: \S*a\.npy is \[17\]\[16\], the grid needs \[16\]\[17\] \(the "
                    r"slowest axis first\)\n", file="a.npy")
        numpy.save(self.directory / "a.npy", numpy.float64(3))
        self.refuse(r"a\.npy is a single value, the grid needs", file="a.npy")
        self.numbers("f4").tofile(self.directory / "a.bin")
        self.refuse(r"a\.bin: has 1088 bytes, 1088 too few", file="a.bin", type="float64",
                    shape=list(self.shape))

    def test_a_damaged_chunk_is_named(self):
        with h5py.File(self.directory / "data.h5", "w") as file:
            dataset = file.create_dataset("u", data=self.numbers("f8"), chunks=(16, 9),
                                          fletcher32=True)
            chunk = dataset.id.get_chunk_info(1)
        with open(self.directory / "data.h5", "r+b") as file:
            file.seek(chunk.byte_offset + 100)
            file.write(b"\x55\xaa")
        self.refuse(r"data\.h5: '/u' is damaged: chunk 2 of 2: its checksum does not fit",
                    file="data.h5", dataset="/u")

    def test_nothing_is_taken_for_zeros(self):
        with h5py.File(self.directory / "data.h5", "w") as file:
            file.create_dataset("never", self.shape, "f4")
            part = file.create_dataset("part", self.shape, "f4", chunks=(4, 17))
            part[:8] = 1
        self.refuse(r"'/never' was created, but no values were ever written", file="data.h5",
                    dataset="/never")
        self.refuse(r"'/part' was written in part only: 2 of its 4 chunks", file="data.h5",
                    dataset="/part")

    def test_a_run_of_a_result_goes_on(self):
        """Results are in chunks, a time step each."""
        first = {**self.config(file="a.npy"), "output": {"every": {"count": 2}}}
        numpy.save(self.directory / "a.npy", self.numbers("f8"))
        self.call("run", self.write("first.yaml", first), "--quiet")
        with h5py.File(self.directory / "outputs/first/first.h5") as file:
            last = file["VTKHDF/PointData/u"][-1]
        self.expect_start(last, file="outputs/first/first.h5", time="last")

    def test_the_summary_tells_what_was_read(self):
        numpy.save(self.directory / "a.npy", self.numbers("f4"))
        _, err = self.call("run", self.write("case.yaml", self.config(file="a.npy")))
        self.assertRegex(err, r"reading \(of set-up\) +\d\.\d+ s: 1\.1 KiB, \d+\.\d\d GB/s\n")


class NumbersThatFloat32DoesNotHold(support.Case):
    """What a formula is refused for a file is refused for, too."""

    def refuse(self, message, config, *more):
        _, err = self.call("run", self.write("case.yaml", {**config, "precision": "float32"}), *more,
                           code=BAD_INPUT)
        self.assertRegex(err, r"case\.yaml:\d+:\d+: " + message)

    def cases(self, source):
        """Of the name of a key, what reads a file for it."""
        grid = {"grid": {"points": 17}}
        time = {**grid, "time": {"end": 1e-9}}
        return (("initial.u", {**time, "simulation": "heat", "initial": {"u": source},
                               "parameters": {"diffusivity": 1}}),
                ("parameters.source", {**time, "simulation": "heat", "initial": {"u": 0},
                                       "parameters": {"diffusivity": 1, "source": source}}),
                ("initial.u", {**time, "simulation": "advection", "initial": {"u": source},
                               "parameters": {"velocity": {"x": 1}}}),
                ("parameters.initial_velocity", {**time, "simulation": "wave", "initial": {"u": 0},
                                                 "parameters": {"speed": 1, "initial_velocity": source}}),
                ("initial.u", {**time, "simulation": "pde", "equations": {"u": "laplace(u)"},
                               "initial": {"u": source}}),
                ("parameters.source", {**grid, "simulation": "poisson", "parameters": {"source": source}}))

    def test_small_ones(self):
        for least, values in (("1e-50", numpy.full(17, 1e-50)), ("1e-43", numpy.linspace(0, 1e-43, 17))):
            numpy.save(self.directory / "a.npy", values)
            for key, config in self.cases({"file": "a.npy"}):
                with self.subTest(key, least=least, simulation=config["simulation"]):
                    self.refuse(rf"{key}: a\.npy has no value larger than {least} \(float32 has all "
                                r"digits from 1\.2e-38 on; float64 or other units help\)", config)
        numpy.save(self.directory / "a.npy", numpy.full(17, 1e-25))
        speed = {"speed": {"file": "a.npy"}}
        self.refuse(r"parameters\.speed: a\.npy squared has no value larger than 1e-50 ",
                    {"simulation": "wave", "grid": {"points": 17}, "initial": {"u": 0},
                     "parameters": speed, "time": {"end": 1}})

    def test_large_ones(self):
        values = numpy.ones(17)
        values[5] = -1e50
        numpy.save(self.directory / "a.npy", values)
        for key, config in self.cases({"file": "a.npy"}):
            with self.subTest(key, simulation=config["simulation"]):
                self.refuse(rf"{key}: a\.npy has -1e\+50 at cell \(5, 0, 0\) \(float32 does not reach "
                            r"that far\)", config)

    def test_as_ranks_read_them(self):
        values = numpy.ones((16, 17))
        values[9, 2] = 1e50
        numpy.save(self.directory / "large.npy", values)
        numpy.save(self.directory / "small.npy", numpy.full((16, 17), 1e-50))
        for name, message in (("large", r"has 1e\+50 at cell \(2, 9, 0\) \(float32 does not reach that far"),
                              ("small", r"has no value larger than 1e-50 ")):
            config = heat(grid={"points": [17, 16]}, initial={"u": {"file": f"{name}.npy"}},
                          boundary={"x": "periodic", "y": "periodic"})
            self.refuse(rf"initial\.u: {name}\.npy {message}", config, "--ranks", 2)

    def test_what_it_holds_is_taken(self):
        """One number with all digits, and zeros alone."""
        few = numpy.full(17, 1e-50)
        few[-2] = 2e-38
        for values in (few, numpy.zeros(17)):
            numpy.save(self.directory / "a.npy", values)
            for _, config in self.cases({"file": "a.npy"}):
                file = self.write("case.yaml", {**config, "precision": "float32"})
                self.call("run", file, "--quiet", "--overwrite")


class CoefficientsOfHeat(support.Case):
    """On grids of 2^k + 1 points x has few digits, so that a file has what a formula gives."""

    def case(self, points, scheme, **parameters):
        step = {} if scheme in ("ftcs", "rk4") else {"step": 0.003}
        axes = "xyz"[:len(points)]
        return heat(grid={"points": points}, initial={"u": "*".join(f"{x}*(1 - {x})" for x in axes)},
                    boundary=dict(zip(axes, ({"dirichlet": 0}, {"neumann": 1}, {"neumann": 0}))),
                    parameters=parameters, time={"end": 0.01, "scheme": scheme, **step},
                    output={"formats": ["hdf5"], "every": {"count": 2}})

    def test_files_and_formulas_are_the_same(self):
        for points, scheme, solver in (([33], "ftcs", ""), ([17, 9], "ftcs", ""), ([17, 9], "rk4", ""),
                                       ([9, 17, 5], "ftcs", ""), ([33], "crank_nicolson", ""),
                                       ([17, 9], "tr_bdf2", ""), ([9, 17, 5], "backward_euler", ""),
                                       ([17, 9], "backward_euler", "multigrid")):
            mesh = numpy.meshgrid(*(numpy.arange(n) / (n - 1) for n in points[::-1]), indexing="ij")
            numpy.save(self.directory / "a.npy", (1 + mesh[-1]) / 8)
            numpy.save(self.directory / "f.npy", 2 * mesh[-1] - mesh[0])
            files = {"diffusivity": {"file": "a.npy"}, "source": {"file": "f.npy"}}
            formulas = {"diffusivity": "(1 + x)/8", "source": f"2*x - {'xyz'[len(points) - 1]}"}
            for precision in ("float32", "float64"):
                with self.subTest(points=points, scheme=scheme, solver=solver, precision=precision):
                    for name, parameters in (("files", files), ("formulas", formulas)):
                        if solver:
                            parameters = {**parameters, "solver": solver}
                        config = {**self.case(points, scheme, **parameters), "precision": precision}
                        self.call("run", self.write(f"{name}.yaml", config), "--quiet", "--overwrite")
                    self.assert_same("outputs/files/files.h5", "outputs/formulas/formulas.h5")

    def refuse(self, message, **parameters):
        file = self.write("case.yaml", self.case([17, 9], "ftcs", **parameters))
        for command in ("check", "run"):
            _, err = self.call(command, file, code=BAD_INPUT)
            self.assertRegex(err, message)

    def test_what_files_may_not_hold(self):
        good = numpy.ones((9, 17))
        numpy.save(self.directory / "turned.npy", good.T)
        self.refuse(r"case\.yaml:\d+:\d+: parameters\.diffusivity: turned\.npy is \[17\]\[9\], the grid "
                    r"needs \[9\]\[17\]", diffusivity={"file": "turned.npy"})
        for value in (0, -2):
            values = good.copy()
            values[3, 8] = value
            numpy.save(self.directory / "a.npy", values)
            self.refuse(rf"parameters\.diffusivity: is {value:g} at x = 0\.5, y = 0\.375 "
                        r"\(a diffusivity is positive everywhere\)", diffusivity={"file": "a.npy"})
        values[3, 8] = numpy.inf
        numpy.save(self.directory / "a.npy", values)
        for key in ("diffusivity", "source"):
            self.refuse(rf"parameters\.{key}: a\.npy has inf at .*all values have to be finite",
                        **{"diffusivity": 1, key: {"file": "a.npy"}})


class VelocitiesOfAdvection(support.Case):
    def case(self, points, scheme, **velocity):
        axes = "xyz"[:len(points)]
        return heat(simulation="advection", grid={"points": points},
                    boundary=dict(zip(axes, ("periodic", "outflow", "outflow"))),
                    initial={"u": "*".join(f"sin(3*{axis})" for axis in axes)},
                    parameters={"velocity": velocity}, time={"end": 0.1, "scheme": scheme},
                    output={"formats": ["hdf5"], "every": {"count": 2}})

    def test_files_and_formulas_are_the_same(self):
        for points in ([32], [16, 9], [8, 17, 12]):
            shape = points[::-1]
            # A periodic axis has no point at its upper end, and 2^k of them, so that x has few digits.
            x = numpy.broadcast_to(numpy.arange(points[0]) / points[0], shape)
            numpy.save(self.directory / "v.npy", 2 - x)
            formula = {"x": "2 - x", "y": 0.5}
            file = {"x": {"file": "v.npy"}, "y": 0.5}
            turning = {"x": "2 - x", "y": "cos(9*t)"}
            cases = [(formula, file)] + [(turning, {**turning, "x": file["x"]})] * (len(points) > 1)
            for scheme, precision in (("weno5", "float64"), ("lax_wendroff", "float32"), ("upwind", "float64")):
                for of_formulas, of_files in cases:
                    with self.subTest(points=points, scheme=scheme, velocity=of_formulas):
                        for name, velocity in (("formulas", of_formulas), ("files", of_files)):
                            velocity = {axis: velocity[axis] for axis in "xyz"[:len(points)] if axis in velocity}
                            config = {**self.case(points, scheme, **velocity), "precision": precision}
                            self.call("run", self.write(f"{name}.yaml", config), "--quiet", "--overwrite")
                        self.assert_same("outputs/files/files.h5", "outputs/formulas/formulas.h5")

    def test_walls_in_float32(self):
        """Rolls of twenty half waves, whose phase at 1 is 2.7e-6 off in float32."""
        x = numpy.linspace(0, 1, 129, dtype="f4")
        phase = numpy.float32(20) * numpy.float32(numpy.pi) * x
        rolls = {"x": numpy.sin(phase) * numpy.cos(phase)[:, None], "y": -numpy.cos(phase) * numpy.sin(phase)[:, None]}
        velocity = {axis: {"file": f"{axis}.npy"} for axis in rolls}
        config = heat(simulation="advection", grid={"points": [129, 129]}, boundary={"x": "outflow", "y": "outflow"},
                      initial={"u": 1}, parameters={"velocity": velocity}, time={"end": 0.01},
                      output={"formats": ["hdf5"], "every": {"count": 1}})
        for kind, least in (("f4", 0.95), ("f8", 0)):  # such numbers in float64 are no roundings
            for axis, values in rolls.items():
                numpy.save(self.directory / f"{axis}.npy", values.astype(kind))
            self.call("run", self.write("case.yaml", config), "--quiet", "--overwrite")
            with h5py.File(self.directory / "outputs/case/case.h5") as file:
                u = file["VTKHDF/PointData/u"][:]
            self.assertEqual(u[0].min(), round(least))
            self.assertEqual(u[0].max(), 1)
            self.assertGreaterEqual(u[1].min(), least)

    def test_what_files_may_not_hold(self):
        numpy.save(self.directory / "v.npy", numpy.full((9, 16), 1e39))
        for precision, config, message in (
                ("float64", self.case([17, 9], "weno5", y={"file": "v.npy"}),
                 r"case\.yaml:\d+:\d+: parameters\.velocity\.y: v\.npy is \[9\]\[16\], the grid needs \[9\]\[17\]"),
                ("float32", self.case([16, 9], "weno5", y={"file": "v.npy"}),
                 r"parameters\.velocity\.y: is 1e\+39 at x = 0, y = 0 \(a velocity is finite in float32\)")):
            file = self.write("case.yaml", {**config, "precision": precision})
            for command in ("check", "run"):
                _, err = self.call(command, file, code=BAD_INPUT)
                self.assertRegex(err, message)


if __name__ == "__main__":
    support.main()
