"""Runs whose steps several processes share, started by mpirun: the same bits as of one process."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import time

import support
from support import BAD_INPUT, DONE, FAILED, SIGTERM_STOP

MPIRUN = shutil.which("mpirun")
# A container has one user, and the tests more ranks than processors.
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1"}


def has_module():
    return (pathlib.Path(support.PROGRAM).parent / "gridstride_mpi.so").exists()


def heat(**changes):
    return support.heat(**{"output": {"every": {"count": 3}}, **changes})


def wave(**changes):
    config = {
        "simulation": "wave",
        "device": "cpu",
        "grid": {"points": [13, 19]},
        "boundary": {"x": "periodic", "y": {"lower": "fixed", "upper": "free"}},
        "initial": {"u": "exp(-30*((x - 0.4)^2 + (y - 0.5)^2))"},
        "parameters": {"speed": 1, "initial_velocity": "x*y", "order": 4},
        "time": {"end": 0.3},
        "output": {"every": {"count": 3}},
        "diagnostics": ["norms"],
    }
    config.update(changes)
    return config


def advection(scheme, **changes):
    config = {
        "simulation": "advection",
        "device": "cpu",
        "grid": {"points": [16, 75]},
        "boundary": {"x": "periodic", "y": "outflow"},
        "initial": {"u": "exp(-30*((x - 0.4)^2 + (y - 0.5)^2))"},
        "parameters": {"velocity": {"x": 1}},
        "time": {"end": 0.1, "scheme": scheme},
        "output": {"every": {"count": 3}},
        "diagnostics": ["norms"],
    }
    config.update(changes)
    return config


REACTION = {"u": "2e-3*laplace(u) - u*v^2 + 0.04*(1 - u)", "v": "1e-3*laplace(v) + u*v^2 - 0.1*v"}


def pde(equations, **changes):
    config = {
        "simulation": "pde",
        "device": "cpu",
        "grid": {"points": [11, 34]},
        "boundary": {"x": "periodic", "y": "periodic"},
        "equations": equations,
        "initial": {name: "0.5 + 0.3*sin(5*x)*cos(3*y)" for name in equations},
        "time": {"end": 0.1},
        "output": {"every": {"count": 3}},
        "diagnostics": ["norms"],
    }
    config.update(changes)
    return config


class Shared(support.Case):
    def setUp(self):
        super().setUp()
        if MPIRUN is None or not has_module():
            self.skipTest("there is no mpirun, or this build has no MPI")

    def start_ranks(self, count, *arguments, environment=None):
        return self.start_words(MPIRUN, "-n", count, support.PROGRAM, *arguments, environment=environment)

    def start_words(self, *words, environment=None):
        return subprocess.Popen(
            [str(word) for word in words], cwd=self.directory,
            env={**ENVIRONMENT, **(environment or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def on_ranks(self, count, *arguments, code=DONE, environment=None):
        return self.end_of(self.start_ranks(count, *arguments, environment=environment), code,
                           f"{count} ranks: {arguments}")

    def end_of(self, process, code, text):
        try:
            out, err = process.communicate(timeout=120)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        self.assertEqual(process.returncode, code, f"{text}\n{out}{err}")
        return out, err

    def assert_a_signal_stops_and_others_go_on(self, name, config, counts=(3, 2), options=((), ())):
        """A signal to one rank after an output; others go on with the bits of one process."""
        file = self.write(f"{name}.yaml", config)
        self.call("run", file, "--output", "one", "--quiet")
        process = self.start_ranks(counts[0], "run", file, "--output", "parts", "--quiet", *options[0])
        support.wait_for(lambda: (self.directory / f"parts/{name}.h5").exists(), "an output")
        os.kill(self.ranks_of(process)[-1], signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGTERM_STOP, err)
        self.on_ranks(counts[1], "run", file, "--output", "parts", "--quiet", "--restart", *options[1])
        self.assert_same(f"one/{name}.h5", f"parts/{name}.h5")

    def ranks_of(self, process):
        """The processes that mpirun has started."""
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                number, parent = entry.parent.name, entry.read_text().rpartition(")")[2].split()[1]
            except OSError:
                continue
            if parent == str(process.pid):
                found.append(int(number))
        self.assertGreater(len(found), 1)
        return sorted(found)

    def contents(self, folder, pattern):
        return {path.name: path.read_bytes()
                for path in sorted((self.directory / folder).glob(pattern))}

    def assert_shared(self, config, counts):
        """The images are the same files, byte by byte; the results agree in every bit."""
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet", environment={"OMP_NUM_THREADS": "1"})
        expected = self.contents("one", "*.vti")
        self.assertGreater(len(expected), 2)
        for count in counts:
            with self.subTest(ranks=count):
                self.on_ranks(count, "run", file, "--output", f"of_{count}", "--quiet")
                self.assertEqual(self.contents(f"of_{count}", "*.vti"), expected)
                self.assert_same("one/case.h5", f"of_{count}/case.h5")


class Bits(Shared):
    def test_heat_in_2d(self):
        self.assert_shared(heat(grid={"points": [17, 23]}), (2, 3, 5, 8))

    def test_heat_in_1d_float32(self):
        self.assert_shared(
            heat(grid={"points": 37}, precision="float32", initial={"u": "sin(2*pi*x)"},
                 boundary={"x": "periodic"}, verify={"exact": {"u": "exp(-4*pi^2*t)*sin(2*pi*x)"},
                                                     "tolerance": {"max": 0.1}}), (2, 5))

    def test_heat_in_3d_with_sides_in_space(self):
        self.assert_shared(
            heat(grid={"points": [7, 9, 11]}, initial={"u": "x*y + z"},
                 boundary={"x": {"dirichlet": "y + z"}, "y": {"neumann": "x*z"},
                           "z": {"lower": {"dirichlet": "x"}, "upper": {"neumann": "y"}}},
                 limits={"trip_steps": 2}), (3,))

    def test_waves(self):
        self.assert_shared(wave(), (2, 3, 8))

    def test_waves_of_order_8_around(self):
        self.assert_shared(
            wave(grid={"points": [21, 17, 16]}, initial={"u": "sin(2*pi*z)*cos(2*pi*x)"},
                 boundary={"x": "periodic", "y": "free", "z": "periodic"},
                 parameters={"speed": 1, "order": 8}), (2, 4))

    def test_waves_behind_layers(self):
        self.assert_shared(
            wave(grid={"points": [40, 41]}, boundary={"x": "absorbing", "y": "absorbing"},
                 precision="float32",
                 parameters={"speed": 1, "order": 2, "absorbing": {"thickness": 9, "strength": 0.5}}), (3,))


# Heat with all that may depend on the place and on the time.
FIELDS = {"diffusivity": "1 + x*y/2 + sin(3*y)^2", "source": "x - y^2"}
CHANGES = {"diffusivity": "1 + 0.3*sin(5*x)*y", "source": "sin(30*t)*x + y*t"}
SIDES_IN_TIME = {"x": {"lower": {"dirichlet": "y*sin(40*t)"}, "upper": {"neumann": "t + y"}},
                 "y": "periodic"}


class Coefficients(Shared):
    """Each rank has its planes of them, with the bits that one process has there."""

    def test_fields_of_heat(self):
        for count, points, sides in ((2, [17, 23], {"x": {"dirichlet": "y"}, "y": "periodic"}),
                                     (3, [8, 24], {"x": "periodic", "y": {"neumann": "x"}}),
                                     (5, [33, 31], {"x": {"neumann": 0}, "y": "periodic"}),
                                     (8, [5, 17], {"x": "periodic", "y": {"dirichlet": 0.5}})):
            with self.subTest(ranks=count):
                self.assert_shared(heat(grid={"points": points}, boundary=sides,
                                        initial={"u": "sin(2*pi*x)*(1 + y)"}, parameters=FIELDS),
                                   (count,))

    def test_heat_that_changes_in_time(self):
        changing = heat(boundary=SIDES_IN_TIME, parameters=CHANGES, grid={"points": [16, 19]})
        self.assert_shared(changing, (2, 5))
        self.assert_shared({**changing, "precision": "float32"}, (3,))

    def test_stages_of_heat(self):
        for precision, count in (("float64", 2), ("float32", 5)):
            self.assert_shared(
                heat(grid={"points": [15, 23]}, boundary=SIDES_IN_TIME, parameters=CHANGES,
                     time={"end": 0.01, "scheme": "rk4"}, precision=precision), (count,))
        self.assert_shared(
            heat(grid={"points": [9, 41]}, boundary={"x": "periodic", "y": {"neumann": "x"}},
                 parameters=FIELDS, initial={"u": "y^2"}, time={"end": 0.01, "scheme": "rk4"}),
            (8,))

    def test_heat_in_1d_and_3d(self):
        self.assert_shared(heat(grid={"points": 37}, initial={"u": "x"}, precision="float32",
                                boundary={"x": {"lower": {"dirichlet": "t"},
                                                "upper": {"neumann": "-t"}}},
                                parameters={"diffusivity": "0.1 + x^3", "source": "exp(-x)"}), (5,))
        self.assert_shared(heat(grid={"points": [5, 6, 13]}, initial={"u": "x*y + z"},
                                boundary={"x": {"neumann": "z*t"}, "y": {"dirichlet": "x"},
                                          "z": "periodic"},
                                parameters={"diffusivity": "1 + z*(1 - z)", "source": "z*t"}), (3,))

    def test_fields_of_waves(self):
        for order, count in ((2, 8), (4, 5), (6, 3), (8, 2)):
            with self.subTest(order=order):
                self.assert_shared(
                    wave(grid={"points": [13, 21]},
                         parameters={"speed": "1 + x*y^2", "order": order, "source": "x*y"},
                         precision="float32" if order % 4 else "float64"), (count,))

    def test_a_speed_from_a_file(self):
        points = [11, 7, 9]
        values = [1 + 0.01 * i for i in range(points[0] * points[1] * points[2])]
        (self.directory / "speed.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        self.assert_shared(
            wave(grid={"points": points}, boundary={"x": "free", "y": "fixed", "z": "periodic"},
                 parameters={"order": 2, "speed": {
                     "file": "speed.raw", "type": "float64", "shape": points[::-1]}}), (2, 4))

    def test_sources_of_waves(self):
        sources = [{"at": [0.31, 0.52], "frequency": 4, "amplitude": 2},
                   {"at": [0.31, 0.0], "frequency": 9, "delay": 0.01}, {"at": [0.9, 0.999],
                                                                      "frequency": 3}]
        self.assert_shared(
            wave(grid={"points": [12, 17]}, boundary={"x": "periodic", "y": "periodic"},
                 parameters={"speed": "1 + x", "order": 4, "ricker": sources,
                             "source": "sin(20*t)*x"}), (2, 3))
        self.assert_shared(
            wave(grid={"points": [30, 41]}, boundary={"x": "free", "y": "absorbing"},
                 parameters={"speed": 1, "order": 2, "ricker": sources,
                             "absorbing": {"thickness": 9, "strength": 0.5}}), (5,))


TURNING = {"x": "cos(9*t)*(y - 0.5)", "y": "sin(5*x)*(1 + t)"}


class Advection(Shared):
    def test_velocities_of_space(self):
        for scheme, count, sides in (("weno5", 8, {"x": "periodic", "y": {"dirichlet": "x"}}),
                                     ("weno5", 3, {"x": "outflow", "y": "periodic"}),
                                     ("lax_wendroff", 5, {"x": "outflow", "y": "periodic"}),
                                     ("upwind", 2, {"x": {"dirichlet": "1 + y"}, "y": "outflow"})):
            for velocity in ({"x": 0.7, "y": -1}, {"x": "y - 0.4", "y": "0.5 - x*y"},
                             {"x": 0.2, "y": "1 + y"}):
                with self.subTest(scheme=scheme, velocity=velocity):
                    self.assert_shared(
                        advection(scheme, boundary=sides, parameters={"velocity": velocity},
                                  precision="float32" if count == 3 else "float64"), (count,))

    def test_velocities_of_time(self):
        for scheme, step in (("weno5", "auto"), ("lax_wendroff", 0.004), ("upwind", "auto")):
            with self.subTest(scheme=scheme):
                self.assert_shared(
                    advection(scheme, parameters={"velocity": TURNING},
                              boundary={"x": {"dirichlet": "sin(20*t)*y"}, "y": "periodic"},
                              time={"scheme": scheme, "end": 0.1, "step": step}), (2, 5))

    def test_in_1d_and_3d(self):
        for scheme in ("weno5", "lax_wendroff", "upwind"):
            with self.subTest(scheme=scheme):
                self.assert_shared(
                    advection(scheme, grid={"points": 83}, initial={"u": "step(x - 0.3)"},
                              boundary={"x": {"dirichlet": "t"}},
                              parameters={"velocity": {"x": "1 + x"}}), (8,))
                self.assert_shared(
                    advection(scheme, grid={"points": [6, 7, 29]}, initial={"u": "x*y + z"},
                              boundary={"x": "periodic", "y": "outflow", "z": {"dirichlet": "x*t"}},
                              parameters={"velocity": {"x": 0.3, "y": "z*t", "z": "0.5 - y"}}),
                    (3,))

    def test_the_summary_tells_the_exchanges(self):
        file = self.write("case.yaml", advection("weno5"))
        out, _ = self.on_ranks(2, "run", file, "--output", "two", "--quiet", "--summary", "-")
        self.assertRegex(json.loads(out)["chosen"]["exchanges"], r"\d+ of \d+ planes a side")

    def test_what_all_fail_in_is_told_once(self):
        # Between the moments that a check looks at.
        velocity = {"x": 1, "y": "if(abs(t - 0.03885) < 0.0012, log(-1 - x^2), 1)"}
        config = advection("weno5", parameters={"velocity": velocity})
        file = self.write("case.yaml", config)
        _, alone = self.call("run", file, "--output", "one", "--quiet", code=FAILED)
        _, err = self.on_ranks(3, "run", file, "--output", "three", "--quiet", code=FAILED)
        told = "velocity.y is"
        self.assertEqual((alone.count(told), err.count(told)), (1, 1), err)
        self.assertIn(alone.strip(), err)


def random_system(rng):
    """A system in 1D to 3D with some of what a file may have."""
    dims = rng.randint(1, 3)
    axes = "xyz"[:dims]
    points = [rng.randint(6, 9) for _ in axes]
    points[-1] = rng.randint(30, 48)
    place, time = "(" + " + ".join(axes) + ")", rng.choice(("0.3", "sin(20*t)"))
    kinds = [{"dirichlet": f"0.5 + 0.1*{place}*{time}"}, {"neumann": f"0.1*{place}*{time}"},
             {"robin": [f"1 + 0.2*{place}", f"0.3*{place} + {time}"]}, "outflow"]
    field = f"(1 + 0.3*sin(3*{place})*{time})"
    equations = rng.choice((
        REACTION,
        {"u": f"div({field}*0.02*grad(u)) - u^3 + u"},
        {"u": f"0.03*laplace(u) - 0.2*u*d_d{axes[-1]}(u) + 0.1*cos{place}*{time}"},
        {"u": f"0.01*laplace(u) + v - u", "v": f"-0.3*d_d{axes[-1]}(u) + 0.02*laplace(v)",
         "w": "div((0.01 + u^2*0.01)*grad(w)) + 0.1*exp(-w^2)"},
        {"u": "0.02*laplace(u) - 1e-5*laplace(laplace(u))"},
        {"u": f"(0.01 + 0.01*mean(u^2))*laplace(u) - u + integral({field}*d_d{axes[-1]}(u)^2)/max(u)",
         "v": "0.02*laplace(v) + min(v) - mean((u - mean(u))*v)"}))
    sides = {axis: "periodic" if rng.random() < 0.5 else
             {"lower": rng.choice(kinds), "upper": rng.choice(kinds)} for axis in axes}
    config = pde(equations, grid={"points": points if dims > 1 else points[0]}, boundary=sides,
                 initial={name: f"0.5 + 0.3*sin(5*{place} + {i})" for i, name in enumerate(equations)},
                 precision=rng.choice(("float32", "float64")),
                 time={"end": 0.05, "scheme": rng.choice(("euler", "ssprk2", "ssprk3", "rk4"))})
    if rng.random() < 0.3:
        config["events"] = [{"at": [0.01, 0.033], "set": {"u": "u*0.9 + 0.01*max(u)"}}]
    if rng.random() < 0.3:
        config["stop"] = {"when": "max(u) > 0.85"}
    if rng.random() < 0.3:
        config["output"] = {**config["output"], "derived": {"g": "d_dx(u) + u^2"}}
    return config


class Stages(Shared):
    """Steps of advection on grids that are large enough for an exchange of each stage."""

    def assert_by_stages(self, config, count):
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet")
        out, _ = self.on_ranks(count, "run", file, "--output", "shared", "--quiet", "--summary", "-")
        self.assertIn("for each stage", json.loads(out)["chosen"]["exchanges"])
        self.assert_same("one/case.h5", "shared/case.h5")

    def test_volume(self):
        self.assert_by_stages(
            advection("weno5", grid={"points": [32, 40, 180]}, time={"end": 0.01, "scheme": "weno5"},
                      boundary={"x": "periodic", "y": "outflow", "z": "periodic"},
                      initial={"u": "x*y + sin(2*pi*z)"},
                      parameters={"velocity": {"x": 1, "y": "x", "z": -2}}), 2)

    def test_plane_with_sides_in_time(self):
        entering = {"lower": {"dirichlet": "x + sin(9*t)"}, "upper": "outflow"}
        self.assert_by_stages(
            advection("weno5", grid={"points": [400, 500]}, time={"end": 1e-3, "scheme": "weno5"},
                      boundary={"x": "outflow", "y": entering}, output={"every": {"count": 1}},
                      parameters={"velocity": {"x": "cos(90*t)", "y": 1}}), 2)


class Systems(Shared):
    def test_random_systems(self):
        rng = random.Random(7)
        for n in range(8):
            config = random_system(rng)
            with self.subTest(n=n, config=config):
                self.assert_shared(config, (2 + n % 2,))

    def test_many_ranks(self):
        self.assert_shared(pde(REACTION, time={"end": 1, "scheme": "euler"}), (2, 3, 5, 8))
        self.assert_shared(pde({"u": "0.02*laplace(u)"}, grid={"points": 67}, precision="float32",
                               initial={"u": "sin(9*x)"}, boundary={"x": {"dirichlet": "t"}}), (8,))

    def test_random_numbers(self):
        self.assert_shared(pde({"u": "0.02*laplace(u) + 0.1*noise(3)"}, boundary={
            "x": {"neumann": "y"}, "y": "periodic"}, initial={"u": "uniform(5)"},
            time={"end": 0.1, "scheme": "euler"}), (2, 5))

    def test_names_with_sides(self):
        self.assert_shared(
            pde({"u": "laplace(mu)"}, let={"mu": "1e-2*u - 1e-4*laplace(u) + 1e-2*u^3"},
                boundary={"u": {"x": "periodic", "y": {"lower": {"neumann": "0.1*x"},
                                                       "upper": {"dirichlet": 0.3}}},
                          "mu": {"x": "periodic", "y": {"lower": {"neumann": 0},
                                                        "upper": {"dirichlet": "x*t"}}}},
                initial={"u": "0.5 + 0.2*sin(5*x)*y"}, time={"end": 0.02}), (2, 3))

    def test_vectors_and_walls_carried_from_upwind(self):
        self.assert_shared(
            pde({"h": "-div(q)", "q": "-div(outer(q, q)/h + 4.9*h^2*identity)"},
                fields={"q": "vector"}, space={"convection": "upwind"},
                boundary={"x": "wall", "y": "wall"},
                initial={"h": "1 + 0.2*exp(-30*(x - 0.4)^2 - 40*(y - 0.3)^2)", "q": [0, 0]},
                grid={"points": [19, 41]}), (2, 3))

    def test_fluxes_through_sides(self):
        for order, count in ((2, 3), (4, 2)):
            self.assert_shared(
                pde({"u": "div((0.02 + 0.01*u*y)*grad(u))", "w": "div(0.03*grad(w)) - w*u"},
                    space={"order": order}, precision="float32" if order == 2 else "float64",
                    boundary={"x": {"lower": {"flux": "0.1*y"}, "upper": {"neumann": 0}},
                              "y": {"lower": {"flux": "0.1 + x*t"}, "upper": {"flux": "0.05*x"}}}),
                (count,))

    def test_turns_along_other_axes(self):
        self.assert_shared(pde({"u": "0.02*laplace(u) + 0.1*d_dx(u)"}, initial={"u": "cos(3*x)*y"},
                               boundary={"x": "antiperiodic", "y": "outflow"}), (4,))

    def test_turns_around_the_slowest_axis(self):
        """Odd fields beside even ones, in each way to make steps; names, too."""
        equations = {"u": "0.02*laplace(u) + 3*u*(v - u^2)/(1 + mean(u^2)) + 0.1*sin(9*t)*d_dy(u)",
                     "v": "0.01*laplace(v) + u^2 - v + 0.1*abs(d_dx(u))"}
        sides = {"u": {"x": {"lower": {"dirichlet": 0}, "upper": "outflow"}, "y": "antiperiodic"},
                 "v": {"x": {"neumann": "0.1*x"}, "y": "periodic"}}
        times = ({"end": 0.05, "scheme": "euler"}, {"end": 0.1}, {"end": 0.1, "scheme": "rk45"},
                 {"end": 0.1, "scheme": "ssprk3", "step": "adaptive", "tolerance": 1e-4})
        for n, time in enumerate(times):
            self.assert_shared(pde(equations, boundary=sides, grid={"points": [11, 133]}, time=time,
                                   precision=("float64", "float32")[n % 2]), ((2, 5), (3,), (2,), (5,))[n])
        self.assert_shared(pde(
            {"u": "0.02*laplace(u - p) + 0.1*d_dy(p)"}, let={"p": "u^3 + laplace(u)/999"},
            boundary={"p": {"x": "wall", "y": "antiperiodic"}, "u": {"x": "wall", "y": "antiperiodic"}},
            grid={"points": [9, 67]}, stop={"steady": 1e-3}), (3,))

    def test_turns_around_in_1d_and_3d(self):
        self.assert_shared(pde({"u": "0.01*laplace(u) + d_dx(u) + u - u^3"}, grid={"points": 101},
                               boundary={"x": "antiperiodic"}, initial={"u": "cos(3*x)"},
                               time={"end": 0.02, "scheme": "euler"}), (5,))
        self.assert_shared(pde(
            {"u": "laplace(u) - sin(u)"}, fields={"u": {"order": 2}}, initial={"u": "cos(3*z)*x", "u_t": "y"},
            boundary={"x": "periodic", "y": "antiperiodic", "z": "antiperiodic"},
            grid={"points": [5, 6, 31]}, time={"end": 0.3, "scheme": "leapfrog"}), (2,))

    def test_fields_of_a_file(self):
        values = [0.01 * i for i in range(11 * 34)]
        (self.directory / "u.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        self.assert_shared(pde(REACTION, initial={
            "u": {"file": "u.raw", "type": "float64", "shape": [34, 11]}, "v": "u/20"}), (3,))

    def test_values_over_the_whole_grid(self):
        """Of fields, differences, the time and each other, which steps follow, too."""
        equations = {"u": "(0.01 + 0.02*mean(u^2))*laplace(u) - max(v)*u + 0.1*integral(cos(9*t)*d_dy(v)^2)",
                     "v": "0.02*laplace(v) + mean(u - mean(u*v)) - u*min(u)"}
        for precision in ("float32", "float64"):
            for sides in ("periodic", {"neumann": "x"}):
                self.assert_shared(pde(equations, precision=precision, boundary={
                    "x": sides if sides == "periodic" else {"dirichlet": "0.5 + y*t"}, "y": sides}), (2, 3))
        self.assert_shared(pde({"u": "0.02*laplace(u) - u*integral(u^2)"}, grid={"points": 67},
                               initial={"u": "1 + sin(9*x)"}, boundary={"x": {"neumann": 0}}), (4,))

    def test_values_over_the_whole_grid_of_several_steps(self):
        self.assert_shared(pde(
            {"u": "0.02*laplace(u) + u - integral(u^3)"}, grid={"points": [7, 8, 70]},
            boundary={"x": "periodic", "y": {"dirichlet": "x"}, "z": "periodic"},
            initial={"u": "uniform(3)"}, stop={"when": "mean(u) > 0.6"},
            events=[{"at": [0.03], "set": {"u": "u - mean(u)"}}],
            time={"end": 0.1, "scheme": "euler"}), (2, 4))

    def test_ends_that_all_find(self):
        """Of the planes of each rank, with what lies beside them: rates, sides that hold, names with sides."""
        decay = {"u": "0.1*laplace(u) - 3*u + 0.2*mean(u)", "v": "-v + u*p"}
        let = {"p": "u^2 + laplace(u)/99"}
        cases = (({"steady": 0.4}, {"x": {"dirichlet": "0.1*y"}, "y": {"dirichlet": "0.2*x"}}),
                 ({"steady": 1e-9, "when": "max(d2_dy2(d2_dy2(u))) < 60"}, {"x": "periodic", "y": "periodic"}),
                 ({"when": "mean(u*p) < 0.02*(1 + t) * (min(v) < 9)"}, {"x": "periodic", "y": {"neumann": 0}}))
        for n, (stop, sides) in enumerate(cases):
            names = {"p": {"y": "outflow"}} if n == 2 else {}
            self.assert_ends_alike(pde(decay, let=let, stop=stop, boundary={**sides, **names},
                                       precision=("float64", "float32")[n % 2],
                                       grid={"points": [11, 67]}, output={"every": {"time": 0.7}},
                                       time={"end": 9, "scheme": ("euler", "rk4", "ssprk2")[n]}), ((2, 5), (3,), (2,))[n])
        self.assert_ends_alike(pde({"u": "laplace(u) - 9*u"}, grid={"points": [5, 4, 31]}, stop={"steady": 1},
                                   boundary={"x": "wall", "y": "periodic", "z": {"dirichlet": 0}},
                                   initial={"u": "x + z"}, time={"end": 9}), (3,))

    def assert_ends_alike(self, config, counts):
        file = self.write("case.yaml", config)
        summary, _ = self.call("run", file, "--output", "one", "--quiet", "--summary", "-", "--overwrite",
                               environment={"OMP_NUM_THREADS": "1"})
        alone = json.loads(summary)
        self.assertIn("ended at t = ", alone["ending"])
        for count in counts:
            with self.subTest(ranks=count, stop=config["stop"]):
                out, _ = self.on_ranks(count, "run", file, "--output", f"of_{count}", "--quiet", "--summary", "-",
                                       "--overwrite")
                self.assertEqual(json.loads(out)["ending"], alone["ending"])
                self.assert_same("one/case.h5", f"of_{count}/case.h5")

    def test_ends_that_cannot_be_found_are_told_once(self):
        for stop, told in (({"steady": 1e-9}, "a rate of change is not finite at"),
                           ({"when": "max(1/(u - u)) < 0"}, "a value in stop.when is not finite somewhere")):
            file = self.write("case.yaml", pde(
                {"u": "0.01*laplace(u) + if(t > 0.04, log(-1 - x)*(y > 0.7), 0)"}, stop=stop, time={"end": 9},
                boundary={"x": "periodic", "y": {"neumann": 0}}, output={"every": {"count": 1}}))
            _, alone = self.call("run", file, "--output", "one", "--quiet", "--overwrite", code=FAILED)
            _, err = self.on_ranks(3, "run", file, "--output", "three", "--quiet", "--overwrite", code=FAILED)
            self.assertEqual((alone.count(told), err.count(told)), (1, 1), alone + err)
            self.assertIn(alone.strip(), err)

    def test_steps_that_follow_their_error(self):
        """By all schemes, with some that are rejected, events, ends and values in time."""
        equations = {"u": "0.01*laplace(u) + 30*u*(1 - u)*(u - 0.3)*(1 + sin(40*t)) - 0.1*mean(u)",
                     "v": "0.02*laplace(v) + u - v + 0.01*d_dy(u)^2"}
        for n, scheme in enumerate(("euler", "ssprk2", "ssprk3", "rk4", "rk45")):
            self.assert_shared(pde(
                equations, precision=("float64", "float32")[n % 2], grid={"points": [11, 64]},
                time={"end": 0.3, "scheme": scheme, "step": "adaptive", "tolerance": 1e-3},
                boundary={"x": {"dirichlet": "0.5 + 0.2*y*sin(9*t)"},
                          "y": ("periodic", {"dirichlet": "x*cos(20*t)"}, {"robin": ["1 + x", "t"]})[n % 3]},
                events=[{"at": [0.1, 0.17], "set": {"u": "u + 0.5*exp(-90*(y - 0.5)^2)"}}],
                stop={"when": "max(u) > 3"}), (2 + n % 2,))

    def test_steps_that_follow_their_error_in_1d_and_3d(self):
        burgers = {"u": "0.02*d2_dx2(u) - u*d_dx(u)"}
        self.assert_shared(pde(burgers, grid={"points": 101}, initial={"u": "sin(6*x)"},
                               boundary={"x": {"dirichlet": 0}}, time={"end": 0.05, "step": "adaptive"}), (3,))
        self.assert_shared(pde(
            {"h": "-div(q)", "q": "-div(outer(q, q)/h + 4.9*h^2*identity)"}, fields={"q": "vector"},
            space={"convection": "upwind"}, boundary={"x": "wall", "y": "wall", "z": "wall"},
            initial={"h": "1 + 0.2*exp(-30*(x - 0.4)^2 - 40*(z - 0.3)^2)", "q": [0, 0, 0]},
            grid={"points": [6, 7, 44]}, time={"end": 0.02, "scheme": "ssprk2", "step": "adaptive"}), (2,))

    def test_steps_too_short_to_go_on_are_told_once(self):
        file = self.write("case.yaml", pde(
            {"u": "0.001*laplace(u) + u^3*exp(-90*(y - 0.9)^2)"}, initial={"u": "1 + x"},
            time={"end": 9, "step": "adaptive"}, boundary={"x": "periodic", "y": {"neumann": 0}}))
        _, alone = self.call("run", file, "--output", "one", "--quiet", code=FAILED)
        _, err = self.on_ranks(3, "run", file, "--output", "three", "--quiet", code=FAILED)
        told = re.findall("at t = .*", alone)
        self.assertIn("are too short to go on", told[0])
        self.assertEqual((re.findall("at t = .*", err), len(told)), (told, 1), err)

    def test_schemes_by_their_slopes(self):
        for precision, count in (("float64", 3), ("float32", 2)):
            self.assert_shared(pde(REACTION, grid={"points": [11, 66]}, precision=precision, boundary={
                "x": {"neumann": "y*t"}, "y": "periodic"}, time={"end": 1, "scheme": "rk45"}), (count,))
            self.assert_shared(pde(
                {"u": "laplace(u) - sin(u)*(1 + 0.1*sin(30*t)) - mean(u)"}, fields={"u": {"order": 2}},
                precision=precision, boundary={"x": {"dirichlet": "0.5*cos(t)"}, "y": {"neumann": 0}},
                initial={"u": "0.5 + 0.3*sin(5*x)*cos(3*y)", "u_t": "x"},
                time={"end": 0.3, "scheme": "leapfrog"}), (count,))

    def test_what_lasts_is_found_by_each(self):
        self.assert_shared(pde(
            {"u": "div(exp(-(x - y)^2)/(1 + sqrt(x*y + 1))*0.02*grad(u))"},
            boundary={"x": {"robin": ["1 + y", "x"]}, "y": {"neumann": 0}}), (2, 4))


class Ends(Shared):
    def test_other_commands(self):
        _, err = self.on_ranks(2, "list", code=FAILED)
        self.assertEqual(err.count("`run`, `bench links` and `bench poisson` alone go over"), 1, err)

    def test_faults_are_told_once(self):
        file = self.write("case.yaml", heat(parameters={"diffusivity": -1}))
        _, err = self.on_ranks(3, "run", file, code=BAD_INPUT)
        self.assertEqual(err.count("diffusivity"), 1, err)
        _, err = self.on_ranks(2, "run", "missing.yaml", code=BAD_INPUT)
        self.assertEqual(err.count("missing.yaml"), 1, err)
        _, err = self.on_ranks(2, "run", file, "--nonsense", code=BAD_INPUT)
        self.assertEqual(err.count("nonsense"), 1, err)

    def test_ranks_that_are_to_run_something_else(self):
        file = self.write("case.yaml", heat())
        for key, value in (("time.end", 0.02), ("parameters.diffusivity", 2),
                           ("output.every", "{count: 5}")):
            with self.subTest(key=key):
                other = [":", "-n", "1", support.PROGRAM, "run", file, "--set", f"{key}={value}"]
                process = self.start_ranks(1, "run", file, "--output", "one", *other,
                                           "--output", "one")
                _, err = self.end_of(process, FAILED, key)
                self.assertIn("rank 1: has another version of gridstride, another config", err)

    def test_the_first_ranks_disk_is_full(self):
        """All end, with what a run of one process says; the outputs before can be read."""
        file = self.write("case.yaml", heat(grid={"points": [301, 301]}, time={"end": 1e-4},
                                            output={"formats": ["hdf5"], "every": {"count": 20}}))
        limited = [MPIRUN, "-n", "1", "bash", "-c", 'ulimit -f 8192; exec "$0" "$@"',
                   support.PROGRAM, "run", file, "--output", "one", "--quiet"]
        others = [":", "-n", "2", support.PROGRAM, "run", file, "--output", "one", "--quiet"]
        process = self.start_words(*limited, *others)
        _, err = self.end_of(process, FAILED, "a full disk")
        self.assertEqual(len(re.findall(r"(?m)^one/case\.h5: ", err)), 1, err)
        out, _ = self.call("info", "one")
        self.assertIn("did not come to its end", out)

    def test_what_is_not_shared_is_refused(self):
        for config, message in (
                (heat(time={"end": 0.01, "scheme": "tr_bdf2", "step": 0.01}, grid={"points": 17},
                      boundary={"x": "periodic"}, initial={"u": "sin(2*pi*x)"}),
                 "in two or three dimensions (there are 2)"),
                (wave(parameters={"speed": "1+(" * 63 + "y" + ")" * 63}), "with simpler formulas"),
                (pde(REACTION, space={"derivatives": "spectral"}), "implicit ones with 'implicit: {solver: multigrid}'"),
                (pde(REACTION, time={"end": 0.1, "scheme": "etdrk4"}), "implicit ones with 'implicit: {solver: multigrid}'"),
                (pde({"u": "0.1*laplace(u)"}, boundary={"x": {"neumann": "-u"}, "y": "periodic"}),
                 "with sides that do not follow from fields"),
                (pde({"u": "0.1*laplace(u) + u^2"}, boundary={"x": "periodic", "y": "antiperiodic"}),
                 "antiperiodic with equations that change their sign with those fields"),
                (pde({"u": "0.1*laplace(u)"}, boundary={"x": {"dirichlet": "y"}, "y": "antiperiodic"}),
                 "antiperiodic with sides along the others that give such fields 0"),
                ({"simulation": "eigenvalues", "device": "cpu", "grid": {"points": [9, 9]},
                  "boundary": {"x": {"dirichlet": 0}, "y": {"dirichlet": 0}},
                  "parameters": {"modes": 2}}, "eigenvalues is not computed by several ranks")):
            with self.subTest(message=message):
                file = self.write("case.yaml", config)
                _, err = self.call("check", file, "--ranks", "2", code=BAD_INPUT)
                self.assertIn(message, err)
        _, err = self.on_ranks(2, "run", file, code=BAD_INPUT)
        self.assertIn(message, err)
        self.assertEqual(self.files(), ["case.yaml"])

    def test_too_many(self):
        file = self.write("case.yaml", heat(grid={"points": [9, 9]}))
        _, err = self.on_ranks(7, "run", file, code=BAD_INPUT)
        self.assertIn("7 ranks are too many for 9 x 9 points: up to 4 parts along x and 4 along y can share them", err)

    def test_a_signal_to_any_rank_stops_all_with_a_checkpoint(self):
        file = self.write("case.yaml", heat(time={"end": 1e3},
                                            checkpoint={"every": {"steps": 10**9}}))
        process = self.start_ranks(3, "run", file, "--output", "parts", "--quiet")
        support.wait_for(lambda: (self.directory / "parts/case.h5").exists(), "the first output")
        os.kill(self.ranks_of(process)[-1], signal.SIGTERM)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, SIGTERM_STOP, err)
        self.assertTrue(list((self.directory / "parts").glob("*.checkpoint")), self.files())


class Killed(Shared):
    def test_any_rank_is_killed(self):
        self.kill_and_go_on(heat(time={"end": 0.5}, grid={"points": [31, 33]}), counts=(2, 4, 1))

    def test_with_fields_that_change(self):
        self.kill_and_go_on(heat(time={"end": 0.1}, grid={"points": [31, 33]},
                                 boundary=SIDES_IN_TIME, parameters=CHANGES))

    def test_of_waves_with_sources(self):
        self.kill_and_go_on(wave(time={"end": 20}, parameters={
            "speed": "1 + x*y", "source": "x*sin(5*t)",
            "ricker": [{"at": [0.4, 0.6], "frequency": 2}]}))

    def test_of_flows_whose_axes_take_turns(self):
        self.kill_and_go_on(advection("lax_wendroff", parameters={"velocity": TURNING},
                                      time={"end": 4, "scheme": "lax_wendroff"}))

    def test_of_flows_in_stages(self):
        self.kill_and_go_on(advection("weno5", parameters={"velocity": TURNING},
                                      time={"end": 4, "scheme": "weno5"}))

    def test_of_a_system(self):
        self.kill_and_go_on(pde(
            REACTION, time={"end": 40}, events={"at": [3.3, 7.1], "set": {"u": "u + 0.01*x"}},
            stop={"steady": 1e-9}, boundary={"x": {"dirichlet": "0.5 + 0.1*sin(t)*y"}, "y": "periodic"}))

    def test_of_steps_that_follow_their_error(self):
        self.kill_and_go_on(pde(
            REACTION, time={"end": 90, "scheme": "rk45", "step": "adaptive", "tolerance": 1e-7},
            grid={"points": [11, 66]}, boundary={"x": {"dirichlet": "0.5 + 0.1*sin(t)*y"}, "y": "periodic"}))

    def kill_and_go_on(self, config, counts=(4,)):
        """`counts`: of ranks that go on."""
        config = {**config, "checkpoint": {"every": {"steps": 50}, "keep": 2}}
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "whole", "--quiet")
        rng = random.Random(1)
        for count in counts:
            shutil.rmtree(self.directory / "parts", ignore_errors=True)
            process = self.start_ranks(3, "run", file, "--output", "parts", "--quiet")
            support.wait_for(lambda: list((self.directory / "parts").glob("*.checkpoint"))
                             or process.poll() is not None, "the first checkpoint")
            time.sleep(0.02 * rng.random())
            if process.poll() is None:
                os.kill(rng.choice(self.ranks_of(process)), signal.SIGKILL)
            process.communicate(timeout=30)
            self.on_ranks(count, "run", file, "--output", "parts", "--restart", "--quiet")
            with self.subTest(ranks=count):
                self.assert_same("whole/case.h5", "parts/case.h5")


class NeedsGpu(Shared):
    """Ranks on the GPUs there are, one after the other, and all of them on the first one."""

    def setUp(self):
        super().setUp()
        self.need_gpu()

    def assert_shared(self, config, counts):
        counts = {min(count, 3) for count in counts}
        super().assert_shared({**config, "device": "cuda"}, sorted(counts))

    def assert_shared_on_gpu(self, config, transports=("p2p", "staged"), counts=(2, 3)):
        file = self.write("case.yaml", {**config, "device": "cuda"})
        self.call("run", file, "--output", "one", "--quiet")
        ways = [(transport, count, visible) for transport in transports for count in counts
                for visible in (None, "0")]
        if "cuda:1" in self.call("list", "devices")[0]:
            ways += [("stores", 2, None), ("nccl", 2, None)]  # a GPU for each rank
        for transport, count, visible in ways:
            environment = {"GRIDSTRIDE_TRANSPORT": transport}
            if visible is not None:
                environment["CUDA_VISIBLE_DEVICES"] = visible
            with self.subTest(transport=transport, ranks=count, visible=visible):
                out, _ = self.on_ranks(count, "run", file, "--output", "shared", "--quiet",
                                       "--overwrite", "--summary", "-", environment=environment)
                self.assertRegex(json.loads(out)["chosen"]["transport"], f"^{transport}")
                self.assert_same("one/case.h5", "shared/case.h5")


class BitsOnGpu(NeedsGpu, Bits):
    pass


class CoefficientsOnGpu(NeedsGpu, Coefficients):
    pass


class AdvectionOnGpu(NeedsGpu, Advection):
    pass


class StagesOnGpu(NeedsGpu, Stages):
    OUTPUT = {"every": {"count": 1}, "formats": ["hdf5"]}

    def test_volume(self):
        self.assert_by_stages(
            advection("weno5", device="cuda", grid={"points": [256, 257, 490]},
                      time={"end": 0.01, "scheme": "weno5"}, output=self.OUTPUT,
                      boundary={"x": "periodic", "y": "outflow", "z": "periodic"},
                      initial={"u": "x*y + sin(2*pi*z)"},
                      parameters={"velocity": {"x": 1, "y": "x", "z": -2}}), 2)

    def test_plane_with_sides_in_time(self):
        entering = {"lower": {"dirichlet": "x + sin(9*t)"}, "upper": "outflow"}
        self.assert_by_stages(
            advection("weno5", device="cuda", grid={"points": [9000, 8001]},
                      time={"end": 2e-4, "scheme": "weno5"}, output=self.OUTPUT,
                      boundary={"x": "outflow", "y": entering},
                      parameters={"velocity": {"x": "cos(90*t)", "y": 1}}), 3)


class OnGpu(NeedsGpu):
    def test_planes_made_in_parts(self):
        self.assert_shared_on_gpu(
            heat(grid={"points": [130, 97]}, kernels={"stencil": "temporal", "fused_steps": 8},
                 time={"end": 2e-3}, limits={"trip_steps": 8}))

    def test_volumes_made_in_parts(self):
        self.assert_shared_on_gpu(
            heat(grid={"points": [33, 18, 29]}, precision="float32",
                 initial={"u": "sin(2*pi*z)*x + y"}, time={"end": 5e-3},
                 boundary={"x": {"dirichlet": "z"}, "y": {"neumann": 0}, "z": "periodic"},
                 kernels={"stencil": "temporal"}, limits={"trip_steps": 2}))

    def test_several_passes_for_each_exchange(self):
        self.assert_shared_on_gpu(heat(grid={"points": [64, 90]}, limits={"trip_steps": 5}),
                                  transports=("p2p",))

    def test_waves(self):
        self.assert_shared_on_gpu(
            wave(grid={"points": [150, 121]}, kernels={"star": "temporal"}, time={"end": 0.1},
                 limits={"trip_steps": 4}))

    def test_larger_grids_with_fields(self):
        """Parts whose marches begin elsewhere, and are as long as those of many planes."""
        turning = {"x": "cos(9*t)*(y - 0.5)", "y": "sin(5*x)*(1 + t)", "z": "0.3"}
        sources = [{"at": [0.31, 0.5], "frequency": 4}, {"at": [0.9, 0.51], "frequency": 9}]
        for config in (
                heat(grid={"points": [300, 401]}, parameters=FIELDS, time={"end": 3e-5}),
                heat(grid={"points": [131, 257]}, parameters=CHANGES, boundary=SIDES_IN_TIME,
                     time={"end": 1e-4, "scheme": "rk4"}, precision="float32"),
                wave(grid={"points": [257, 300]}, time={"end": 0.03},
                     parameters={"speed": "1 + x*y^2", "order": 8, "source": "x*sin(9*t)",
                                 "ricker": sources}),
                wave(grid={"points": [40, 52, 90]}, time={"end": 0.1}, precision="float32",
                     boundary={"x": "free", "y": "fixed", "z": "periodic"}, initial={"u": "x*y"},
                     parameters={"speed": "1 + z*(1 - z)", "order": 4, "source": "x*y"}),
                advection("weno5", grid={"points": [64, 40, 151]}, time={"end": 0.05},
                          boundary={"x": "periodic", "y": "outflow", "z": "periodic"},
                          initial={"u": "x*y + sin(2*pi*z)"}, parameters={"velocity": turning}),
                advection("lax_wendroff", grid={"points": [200, 333]}, precision="float32",
                          time={"end": 0.05, "scheme": "lax_wendroff"})):
            self.assert_shared_on_gpu(config, counts=(2,))

    def test_systems(self):
        rng = random.Random(3)
        for n in range(4):
            config = random_system(rng)
            with self.subTest(n=n, config=config):
                self.assert_shared_on_gpu(config, transports=("p2p",), counts=(2,))

    def test_systems_in_passes(self):
        for precision in ("float32", "float64"):
            self.assert_shared_on_gpu(
                pde(REACTION, grid={"points": [64, 150]}, precision=precision,
                    time={"end": 4, "scheme": "euler"}, kernels={"system": "march"},
                    boundary={"x": {"dirichlet": "y"}, "y": {"neumann": "x"}}),
                transports=("p2p",))

    def test_turns_around_the_slowest_axis(self):
        for equation, scheme in (("0.02*laplace(u) + u - u^3", "euler"), ("0.02*laplace(u) - u*mean(u^2)", "rk4")):
            for precision, points in (("float64", [65, 203]), ("float32", [12, 13, 70])):
                self.assert_shared_on_gpu(pde(
                    {"u": equation}, grid={"points": points}, precision=precision,
                    boundary={"x": {"dirichlet": 0}, "y": "antiperiodic", "z": "antiperiodic"} if len(points) == 3
                    else {"x": {"dirichlet": 0}, "y": "antiperiodic"},
                    time={"end": 0.01, "scheme": scheme}), counts=(2,))

    def test_systems_in_passes_made_in_parts(self):
        """Large grids alone; between passes ranks look at the extremes that a step follows from."""
        config = pde(REACTION, grid={"points": [8192, 4801]}, time={"end": 1e-4, "scheme": "euler"},
                     output={"every": {"count": 1}, "formats": ["hdf5"]}, device="cuda")
        file = self.write("case.yaml", config)
        self.call("run", file, "--output", "one", "--quiet")
        out, _ = self.on_ranks(2, "run", file, "--output", "shared", "--quiet", "--summary", "-")
        self.assertRegex(json.loads(out)["chosen"]["exchanges"], "in 4 parts")
        self.assert_same("one/case.h5", "shared/case.h5")

    def test_values_over_the_whole_grid(self):
        """By sums that kernels share, and by way of the host; with steps that follow them."""
        equations = {"u": "(0.01 + 0.02*mean(u^2))*laplace(u) - max(v)*u + 0.1*integral(d_dy(v)^2)",
                     "v": "0.02*laplace(v) + mean(u - mean(u*v)) - u*min(u)"}
        for precision, points in (("float32", [301, 203]), ("float64", [20, 21, 70])):
            sides = {"x": {"dirichlet": "y"}, "y": "periodic", "z": {"neumann": "x"}}
            self.assert_shared_on_gpu(
                pde(equations, grid={"points": points}, precision=precision,
                    boundary=dict(list(sides.items())[:len(points)]),
                    time={"end": 2e-3 if points[0] == 301 else 0.02}))

    def test_steps_that_follow_their_error(self):
        equations = {"u": "0.01*laplace(u) + 30*u*(1 - u)*(u - 0.3)*(1 + sin(40*t)) - 0.1*mean(u)",
                     "v": "0.02*laplace(v) + u - v + 0.01*d_dy(u)^2"}
        for n, scheme in enumerate(("euler", "ssprk2", "ssprk3", "rk4", "rk45")):
            self.assert_shared_on_gpu(pde(
                equations, precision=("float64", "float32")[n % 2], grid={"points": [70, 130]},
                time={"end": 0.05, "scheme": scheme, "step": "adaptive", "tolerance": 1e-3},
                boundary={"x": {"dirichlet": "0.5 + 0.2*y*sin(9*t)"},
                          "y": ("periodic", {"dirichlet": "x*cos(20*t)"})[n % 2]},
                events=[{"at": 0.02, "set": {"u": "u + 0.5*exp(-90*(y - 0.5)^2)"}}]), counts=(2,))

    def test_schemes_by_their_slopes(self):
        self.assert_shared_on_gpu(pde(
            REACTION, grid={"points": [70, 130]}, boundary={"x": {"neumann": "y*t"}, "y": "periodic"},
            time={"end": 0.2, "scheme": "rk45"}), transports=("p2p",))
        self.assert_shared_on_gpu(pde(
            {"u": "laplace(u) - sin(u)*(1 + 0.1*sin(30*t))"}, fields={"u": {"order": 2}},
            grid={"points": [70, 130]}, boundary={"x": {"dirichlet": "0.5*cos(t)"}, "y": {"neumann": 0}},
            initial={"u": "0.5 + 0.3*sin(5*x)*cos(3*y)", "u_t": "x"},
            time={"end": 0.1, "scheme": "leapfrog"}), transports=("p2p",))

    def test_a_rank_that_is_killed_ends_the_others(self):
        file = self.write("case.yaml", heat(grid={"points": [400, 400]}, time={"end": 1e6},
                                            device="cuda"))
        process = self.start_ranks(2, "run", file, "--output", "parts", "--quiet")
        log = self.directory / "parts/case.log"
        support.wait_for(lambda: log.exists() and "\nstep " in log.read_text(), "the run")
        os.kill(self.ranks_of(process)[-1], signal.SIGKILL)
        process.communicate(timeout=30)
        self.assertNotEqual(process.returncode, DONE)

    def test_transports_that_there_are_not(self):
        file = self.write("case.yaml", heat(device="cuda"))
        _, err = self.on_ranks(2, "run", file, code=FAILED,
                               environment={"GRIDSTRIDE_TRANSPORT": "pigeons"})
        self.assertIn("GRIDSTRIDE_TRANSPORT is 'pigeons'", err)


if __name__ == "__main__":
    support.main()
