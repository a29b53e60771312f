"""Integrals to a tolerance by fixed rules: what is called met is met, also where integrands are not
smooth."""

import math

import h5py
import support

INTEGRALS = [("1/sqrt(x)", [0, 1], 2), ("log(x)", [0, 1], -1), ("1/sqrt(1 - x^2)", [-1, 1], math.pi),
             ("sqrt(x)", [0, 1], 2 / 3), ("if(x < 0.3, 1, 2)", [0, 1], 1.7),
             ("step(x - 1/3)*x", [0, 1], 4 / 9), ("abs(x - 0.123456)", [-1, 1], 1.015241383936),
             ("sin(x)^2", [0, math.pi], math.pi / 2), ("exp(-x)", [0, 3], 1 - math.exp(-3))]
RULES = ("left", "right", "midpoint", "trapezoid", "simpson", "boole", "gauss_legendre",
         "clenshaw_curtis")


class Tolerances(support.Case):
    def test_what_is_called_met_is_met(self):
        met = 0
        for integrand, ends, exact in INTEGRALS:
            for rule in RULES:
                for tolerance in (1e-2, 1e-3):
                    path = self.write("case.yaml", {
                        "simulation": "integration", "device": "cpu", "output": {"formats": ["hdf5"]},
                        "parameters": {"integrand": integrand, "variables": {"x": ends}, "rule": rule,
                                       "tolerance": {"relative": 0, "absolute": tolerance}}})
                    process = self.start("run", path, "--quiet")
                    _, err = process.communicate(timeout=120)
                    if process.returncode == support.FAILED:  # a sample that is infinite, or too many
                        self.assertRegex(err, "is -?inf at the sample|the tolerance is not met")
                        continue
                    self.assertEqual(process.returncode, support.DONE, err)
                    with h5py.File(self.directory / "outputs/case/case.h5") as file:
                        value = file["gridstride/diagnostics/value"][0]
                    self.assertLessEqual(abs(value - exact), tolerance, f"{integrand}, {rule}")
                    met += 1
        self.assertGreater(met, len(INTEGRALS) * len(RULES))


if __name__ == "__main__":
    support.main()
