"""First values of a pde that several processes share: each makes those of its own points, with the bits of one process."""

import json

import support
from shared import CHECKPOINTS, Parts, PartsOnGpu, THREE_STEPS, pde

SIDES = {"u": {"x": {"lower": {"dirichlet": "2 + y"}, "upper": {"robin": ["1 + y", 1]}}, "y": {"neumann": 0}},
         "v": {"x": {"neumann": 0}, "y": {"lower": {"dirichlet": "1 + x"}, "upper": {"neumann": 0}}},
         "w": {"x": {"neumann": 0}, "y": {"dirichlet": 0.5}}}
MADE = {"u": "0.01*laplace(u) - u*v", "v": "0.01*v*laplace(v)/(1 + u^2) + u*d_dx(w)", "w": "0.02*laplace(w) - w^3"}


def made(**changes):
    config = pde(MADE, grid={"points": [23, 47]}, boundary=SIDES, time={"scheme": "ssprk3", "end": 2e-3},
                 initial={"u": "1 + sin(6*x)*y", "v": "u^2 + 1e-3*laplace(u)", "w": "v*x + d_dy(u) + 0.1*normal(7)"},
                 checkpoint=CHECKPOINTS)
    config.update(changes)
    return config


class OfOthers(Parts):
    def assert_nobody_has_the_whole(self, config):
        """Of a larger grid."""
        large = self.write("large.yaml", {**config, "grid": {"points": [4096, 4096]}, "time": {"scheme": "ssprk3", "end": 1e-9}})
        told = json.loads(self.call("check", large, "--ranks", 4, "--json")[0])
        self.assertLess(told["host_bytes"], 4096 * 4096 * 8)

    def test_scalars(self):
        """In a chain, each with other points than the one before, on sides and around axes, with random numbers; the limit
        of the step follows from them."""
        self.assert_files(made(), (2, 3, 5))
        self.assert_files(made(), (4,), "--set", "ranks=[2,2]")
        around = made(boundary={"x": "periodic", "y": "periodic"}, grid={"points": [24, 31]})
        self.assert_files(around, (3,))
        self.assert_files(around, (4,), "--set", "ranks=[2,2]", precisions=("float64",))
        self.assert_files(made(grid={"points": [1103, 1201]}, time=THREE_STEPS, output={"every": {"count": 1}}), (3,),
                          precisions=("float64",))
        self.assert_nobody_has_the_whole(made(initial={"u": "x", "v": "u^2 + laplace(u)", "w": "v*x + d_dy(u)"}))

    def test_steps_that_follow_their_error(self):
        self.assert_files(made(time={"step": "adaptive", "scheme": "rk45", "end": 2e-3}, grid={"points": [23, 131]}), (2, 3))

    def test_vectors(self):
        """Of components and as a whole, in slabs and bricks, beside events, derived fields and what is compared."""
        config = {"simulation": "pde", "grid": {"points": [23, 24, 25]}, "fields": {"q": "vector", "s": "vector"},
                  "equations": {"h": "-div(q)", "q": "0.01*laplace(q) - h*q", "s": "-s"}, "checkpoint": CHECKPOINTS,
                  "boundary": {"x": "periodic", "h": {"y": {"neumann": 0}}, "q": {"y": "wall"}, "s": {"y": "wall"}, "z": "periodic"},
                  "time": {"scheme": "rk4", "end": 5e-4},
                  "initial": {"h": "exp(-9*(x - y)^2) + z", "q": {"x": "d_dx(h)", "y": "1e-2*h", "z": "x"},
                              "s": {"x": "q.x*h", "y": "normal(3)", "z": "div(q)"}},
                  "events": {"at": 2.5e-4, "set": {"q": "q + 1e-3*curl(q)"}}, "diagnostics": ["norms", {"integral": "h*s_x"}],
                  "output": {"every": {"count": 2}, "derived": {"slope": "grad(h)"}}, "verify": {"exact": {"h": "z"}}}
        self.assert_files(config, (2, 3))
        self.assert_files(config, (8,), "--set", "ranks=[2,2,2]", precisions=("float64",))

    def test_others_that_the_first_rank_makes(self):
        """Of values over the whole grid, that look far, and around an axis where fields have the other sign."""
        for initial in ("u - mean(u)", "1e-9*laplace(laplace(laplace(u)))"):
            self.assert_files(made(initial={"u": "1 + sin(6*x)*y", "v": initial, "w": "u"}), (3,), precisions=("float64",))
        self.assert_files(made(initial={"u": "1 + x", "v": "u + laplace(u)", "w": "laplace(v)"}, grid={"points": [7, 19]},
                               time={"scheme": "euler", "end": 1e-3}), (4,), precisions=("float64",))
        turning = {"u": {"x": {"neumann": 0}, "y": "antiperiodic"}, "v": {"x": {"neumann": 0}, "y": "periodic"}}
        self.assert_files(pde({"u": "0.01*laplace(u) - u^3", "v": "0.01*u*d_dy(u)*laplace(v)"}, boundary=turning,
                              initial={"u": "x*sin(pi*y)", "v": "2 + u^2"}, checkpoint=CHECKPOINTS), (3,))

    def test_values_that_are_not_finite(self):
        """With the words of one process."""
        for initial in ("1/(u - 1.5)", "log(-u)"):
            file = self.write("case.yaml", made(grid={"points": [17, 16]}, initial={"u": "1 + y", "v": initial, "w": "v"},
                                                boundary={"x": "periodic", "y": "periodic"},
                                                equations={"u": "-u", "v": "-v", "w": "-w"}))
            _, one = self.call("run", file, "--output", "one", "--quiet", code=support.BAD_INPUT)
            process = self.start_ranks(3, "run", file, "--output", "many", "--quiet")
            _, err = self.end_of(process, support.BAD_INPUT, "a start that is not finite")
            self.assertIn(one.strip(), err)


class AroundAnAxis(Parts):
    """Fields that have the other sign around the slowest axis."""

    TURNING = {"u": {"x": {"neumann": 0}, "y": "antiperiodic"}, "v": {"x": {"neumann": 0}, "y": "periodic"}}

    def test_limits_of_steps(self):
        """That follow from slopes of these fields beside the ends of the axis."""
        config = pde({"u": "0.02*laplace(u) - u^3", "v": "0.01*(1 + d_dy(u)^2)*laplace(v)"}, boundary=self.TURNING,
                     grid={"points": [13, 30]}, initial={"u": "(1 + x)*cos(pi*y)", "v": "2 + x"}, checkpoint=CHECKPOINTS)
        self.assert_files(config, (2, 3, 5))
        self.assert_files({**config, "initial": {**config["initial"], "u": "1 + x"}, "time": {"end": 2e-3}}, (3,),
                          precisions=("float64",))

    def test_events_and_derived_fields(self):
        config = pde({"u": "0.02*laplace(u) - u*v", "v": "0.01*laplace(v) + u^2"}, boundary=self.TURNING,
                     grid={"points": [13, 30]}, initial={"u": "(1 + x)*cos(pi*y)", "v": "2 + x"}, checkpoint=CHECKPOINTS,
                     events={"at": 0.05, "set": {"u": "u + 1e-3*laplace(u)", "v": "v + 0.1*d_dy(u)^2"}},
                     output={"every": {"count": 3}, "derived": {"slope": "grad(u)"}}, time={"end": 0.1, "scheme": "rk4"})
        self.assert_files(config, (2, 3, 5))


class BesideSides(Parts):
    def test_thin_parts(self):
        """Whose halos end with the grid: the limit of the first step follows from what holds on its sides."""
        config = pde({"u": "0.01*laplace(u) - u", "v": "1e-3*(1 + exp(-200*(y - 0.4)^2)*d_dy(u)^2)*laplace(v)"}, space={"order": 4}, grid={"points": [11, 6]},
                     initial={"u": "x", "v": "1"}, checkpoint=CHECKPOINTS, time={"scheme": "euler", "end": 3},
                     boundary={"x": "periodic", "u": {"y": {"dirichlet": "9 + x"}}, "v": {"y": {"neumann": 0}}})
        self.assert_files(config, (3,), precisions=("float64",))

class OnGpu(PartsOnGpu):
    def test_first_values(self):
        config = made(diagnostics=[])
        self.assert_files(config, (2, 3))
        self.assert_files(config, (4,), "--set", "ranks=[2,2]")
        self.assert_files({**config, "grid": {"points": [300, 401]}, "boundary": {"x": "periodic", "y": "periodic"},
                           "equations": {"u": "0.01*laplace(u) - u*v", "v": "0.01*laplace(v)", "w": "0.02*laplace(w) - w^3"},
                           "time": {"scheme": "euler", "end": 1e-3}}, (2,))
        self.assert_files({**config, "time": {"step": "adaptive", "scheme": "rk45", "end": 2e-3}, "grid": {"points": [23, 131]}},
                          (3,), precisions=("float64",))

    def test_around_an_axis(self):
        config = pde({"u": "0.02*laplace(u) - u^3", "v": "0.01*(1 + d_dy(u)^2)*laplace(v)"}, boundary=AroundAnAxis.TURNING,
                     grid={"points": [13, 30]}, initial={"u": "(1 + x)*cos(pi*y)", "v": "2 + x"}, checkpoint=CHECKPOINTS,
                     diagnostics=[])
        self.assert_files(config, (2, 3))


if __name__ == "__main__":
    support.main()
