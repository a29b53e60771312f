"""Eigenvalues for peers.py: lobpcg of CuPy and scipy, by products with a sparse matrix, as their
users call it: without a preconditioner, for there is none at hand."""

from peers_work import Work


class Spectrum(Work):
    """The smallest eigenvalues of -Laplace(u) in a cube, u = 0 on its sides, by seven points."""

    steps_in_time, warm_ups, phases = False, 0, ("solve",)

    def __init__(self, side, modes, config):
        super().__init__(f"LOBPCG, {modes} modes of {side}^3", "modes/s", (side,) * 3, "float64",
                         config=config)
        self.modes = modes

    @property
    def count(self):
        return self.modes


WORKS = (Spectrum(255, 16, "eigenvalues_257"),)

TOLERANCE, MOST_ITERATIONS = 1e-8, 2000  # of a matrix with 6 on its diagonal


def laplacian(sparse, side):
    line = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(side, side), format="csr")
    one = sparse.identity(side, format="csr")
    plane = sparse.kron(line, one) + sparse.kron(one, line)
    return (sparse.kron(plane, one) + sparse.kron(sparse.identity(side**2), line)).tocsr()


def solving(numpy, lobpcg, matrix, work, wait):
    start = numpy.random.RandomState(1).standard_normal((matrix.shape[0], work.modes))

    def run():
        values, modes = lobpcg(matrix, start, largest=False, tol=TOLERANCE,
                               maxiter=MOST_ITERATIONS)
        wait()
        worst = float(abs(numpy.linalg.norm(matrix @ modes - modes * values, axis=0)).max())
        if not worst <= 10 * TOLERANCE:
            raise RuntimeError(f"a residual of {worst:.2g} after {MOST_ITERATIONS} iterations")
    return run


def cupy_ways(work):
    import cupy
    import scipy.sparse
    from cupyx.scipy import sparse
    from cupyx.scipy.sparse.linalg import lobpcg
    matrix = sparse.csr_matrix(laplacian(scipy.sparse, work.shape[0]))
    yield "CuPy lobpcg", solving(cupy, lobpcg, matrix, work,
                                 lambda: cupy.cuda.Device().synchronize())


def scipy_ways(work):
    import numpy
    import scipy.sparse
    from scipy.sparse.linalg import lobpcg
    matrix = laplacian(scipy.sparse, work.shape[0])
    yield "scipy lobpcg", solving(numpy, lobpcg, matrix, work, lambda: None)


PEERS = {"cupy": cupy_ways, "scipy": scipy_ways}
