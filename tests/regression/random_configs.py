"""Random configs of every simulation that are legal, each from a seed."""

import random_computations as computations
import random_steps as steps
from random_dice import Dice

SIMULATIONS = {function.__name__: function for function in (
    steps.heat, steps.wave, steps.advection, steps.pde, computations.poisson, computations.eigenvalues,
    computations.linear_system, computations.convolution, computations.transform, computations.integration)}


def case(simulation, seed):
    """The same one everywhere."""
    return SIMULATIONS[simulation](Dice(f"{simulation} {seed}"))
