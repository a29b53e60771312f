"""Implicit steps that several ranks share: the same bits as in one process."""

import struct

import support
from shared import NeedsGpu, Shared, heat

ADAPTIVE = {"end": 0.05, "scheme": "tr_bdf2", "step": "adaptive",
            "tolerance": {"relative": 1e-4, "absolute": 1e-6}}
FIELD = "0.1*(1 + 0.5*sin(4*x + 3*y))"
CHANGES = {"x": {"lower": {"dirichlet": "y + sin(9*t)"}, "upper": {"neumann": "cos(5*t)*y"}},
           "y": {"lower": {"neumann": "x*t"}, "upper": {"dirichlet": "x"}}}
HELD = {"x": {"dirichlet": "y"}, "y": {"dirichlet": "x + t"}}
AROUND = {"x": {"lower": {"dirichlet": "sin(3*y)"}, "upper": {"neumann": 0.2}}, "y": "periodic"}


def implicit(points, sides, time, diffusivity="0.1", source="0", **changes):
    """A time is a config, or the name of a scheme with steps that are the same but for the last one."""
    if isinstance(time, str):
        time = {"scheme": time, "end": 0.05, "step": 0.013}
    return heat(grid={"points": points}, boundary=sides, time=time,
                initial={"u": "-exp(-20*((x - 0.4)^2 + (y - 0.3)^2))"},
                parameters={"diffusivity": diffusivity, "source": source, "solver": "splitting"},
                **{"output": {"every": {"count": 3}}, "diagnostics": ["norms"], **changes})


def volume(sides, along_z, *arguments, **changes):
    return implicit([8, 9, 12], {**sides, "z": along_z}, *arguments, **changes)


class Bits(Shared):
    def test_planes(self):
        for count, points, sides, *rest in (
                (2, [37, 21], CHANGES, "crank_nicolson"),
                (3, [50, 13], HELD, "backward_euler", FIELD, "x*y"),
                (5, [70, 17], {"x": "periodic", "y": {"neumann": "x"}}, "tr_bdf2", FIELD),
                (4, [5, 19], AROUND, "crank_nicolson", "0.1", "sin(9*t) + x")):
            for precision in ("float32", "float64"):
                self.assert_shared(implicit(points, sides, *rest, precision=precision), (count,))

    def test_volumes(self):
        ends = {"lower": {"neumann": "x"}, "upper": {"dirichlet": "y*t"}}
        for count, config in (
                (3, volume(CHANGES, "periodic", "crank_nicolson", FIELD)),
                (2, volume(AROUND, ends, "tr_bdf2", FIELD, "z*t")),
                (5, volume(HELD, ends, "backward_euler", precision="float32")),
                (6, volume({"x": "periodic", "y": "periodic"}, "periodic", "tr_bdf2"))):
            self.assert_shared(config, (count,))

    def test_steps_that_follow_their_error(self):
        self.assert_shared(implicit([33, 14], CHANGES, ADAPTIVE, FIELD), (2,))
        self.assert_shared(implicit([32, 15], AROUND, ADAPTIVE, precision="float32"), (3,))
        self.assert_shared(volume(HELD, "periodic", ADAPTIVE, "0.1 + z*(1 - z)", "sin(9*t)"), (3,))


    def test_coefficients_of_files(self):
        values = [1 + 0.01 * (i * i % 89) for i in range(23 * 14)]
        (self.directory / "a.raw").write_bytes(struct.pack(f"<{len(values)}d", *values))
        file = {"file": "a.raw", "type": "float64", "shape": [14, 23]}
        self.assert_shared(implicit([23, 14], CHANGES, "crank_nicolson", file, file), (3,))


class OnHost(Shared):
    def test_a_signal_stops_all_and_others_go_on(self):
        steps = {"end": 1, "scheme": "crank_nicolson", "step": 1e-3}
        for name, time in (("same", steps), ("error", {**ADAPTIVE, "end": 2, "tolerance": 1e-7})):
            self.assert_a_signal_stops_and_others_go_on(
                name, implicit([33, 24], CHANGES, time, FIELD,
                               checkpoint={"every": {"steps": 10**9}}))


class BitsOnGpu(NeedsGpu, Bits):
    pass


class OnGpu(NeedsGpu):
    def test_planes(self):
        self.assert_shared_on_gpu(implicit([300, 201], CHANGES, "tr_bdf2", FIELD), counts=(2,))
        self.assert_shared_on_gpu(implicit([129, 260], AROUND, "backward_euler", "0.1", "x*t",
                                           precision="float32"))

    def test_volumes(self):
        self.assert_shared_on_gpu(implicit([70, 33, 65], {**CHANGES, "z": "periodic"},
                                           "crank_nicolson"), counts=(2,))
        self.assert_shared_on_gpu(implicit([32, 40, 61], {**HELD, "z": {"neumann": "x"}}, "tr_bdf2",
                                           FIELD, precision="float32"), transports=("p2p",))

    def test_alternating_steps(self):
        """And other lines in parts of 512 points: what they tell goes between kernels, or is gathered."""
        ends = {"lower": {"dirichlet": "x"}, "upper": {"neumann": 0.3}}
        for points, sides, precision in (
                ([48, 1600], AROUND, "float64"), ([130, 1025], {"x": "periodic", "y": ends}, "float32"),
                ([33, 2048], {"x": {"dirichlet": "y"}, "y": {"neumann": "x"}}, "float64")):
            config = implicit(points, sides, "crank_nicolson", precision=precision)
            self.assert_shared_on_gpu(config, counts=(2, 3) if points[1] > 1025 else (2,))
        self.assert_shared_on_gpu(implicit([64, 4001], HELD, "tr_bdf2"), counts=(2,))
        self.assert_shared_on_gpu(implicit([20, 16, 1040], {**CHANGES, "z": {"dirichlet": "x*t"}},
                                           "backward_euler"))

    def test_steps_that_follow_their_error(self):
        self.assert_shared_on_gpu(implicit([130, 97], CHANGES, ADAPTIVE, FIELD))


if __name__ == "__main__":
    support.main()
