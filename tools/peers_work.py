"""What the works of peers.py have in common."""


class Work:
    """One row of the table: `count` units of work in a run of `steps` steps on a grid."""

    steps_in_time, compiles = True, False
    warm_ups = 2
    phases = ("integrate",)  # of a work without time, that count

    def __init__(self, name, unit, shape, precision, steps=1, taps=0, config=None, bench=None,
                 sets=()):
        self.name, self.unit, self.shape, self.precision = name, unit, shape, precision
        self.steps, self.taps, self.config, self.bench, self.sets = steps, taps, config, bench, sets

    @property
    def points(self):
        points = 1
        for n in self.shape:
            points *= n
        return points

    @property
    def count(self):
        return self.steps if self.unit == "steps/s" else self.points * self.steps

    @property
    def is_duration(self):
        """Whether its figure is a time, of which less is better."""
        return self.unit == "s"

    def key(self):
        return f"{self.name}, {self.precision}"
