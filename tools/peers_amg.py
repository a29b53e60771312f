"""Algebraic multigrid for peers.py: PyAMG's hierarchies as preconditioners of conjugate gradients, as
its users call them, on the host: there is no PyAMG for GPUs."""

from peers_work import Work


class Diffusion(Work):
    """-Laplace(u) = 1 in a cube by seven points, to a residual of 1e-8 of the right-hand side. The
    matrix is there; all that is made of it counts."""

    steps_in_time, warm_ups = False, 0
    phases = ("read", "transfer", "prepare", "solve", "check")

    def __init__(self, side):
        super().__init__(f"AMG-CG, 7 points of {side}^3", "systems/s", (side,) * 3, "float64",
                         config="linear_system_amg",
                         sets=(f"parameters.matrix.points=[{side}, {side}, {side}]",))

    @property
    def count(self):
        return 1


WORKS = tuple(Diffusion(side) for side in (256, 192, 160, 128))

TOLERANCE = 1e-8


def diagonals(numpy, side):
    """The matrix, 6 and -1 for each neighbour, as its diagonals and their offsets."""
    place = numpy.arange(side**3)
    found, offsets = [numpy.full(side**3, 6.0)], [0]
    for step in (1, side, side**2):
        has_next = place[:-step] // step % side < side - 1
        found += 2 * [-has_next.astype("float64")]
        offsets += [step, -step]
    return found, offsets


def pyamg_ways(work):
    import numpy
    import pyamg
    import scipy.sparse
    matrix = scipy.sparse.diags(*diagonals(numpy, work.shape[0])).tocsr()
    right = numpy.ones(matrix.shape[0])

    def solving(make):
        def run():
            x = make(matrix).solve(right, tol=TOLERANCE, accel="cg", maxiter=200)
            left = numpy.linalg.norm(right - matrix @ x) / numpy.linalg.norm(right)
            if not left <= 2 * TOLERANCE:
                raise RuntimeError(f"a residual of {left:.2g}")
        return run
    yield "PyAMG, smoothed aggregation", solving(pyamg.smoothed_aggregation_solver)
    yield "PyAMG, Ruge-Stueben", solving(pyamg.ruge_stuben_solver)


PEERS = {"pyamg": pyamg_ways}
