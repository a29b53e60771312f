"""Fields that follow from those of a system's equations, in files; solutions that are made up."""

import json
import re

import support
from support import BAD_INPUT, DOES_NOT_HOLD


def system(**sections):
    return {"simulation": "pde", "grid": {"points": [17, 16]},
            "boundary": {"x": {"dirichlet": "x^2"}, "y": "periodic"},
            "equations": {"u": "laplace(u) - 2"}, "initial": {"u": "x^2"},
            "time": {"scheme": "rk4", "end": 0.01}, **sections}


class PdeOutputs(support.Case):
    def json(self, *arguments):
        return json.loads(self.call(*arguments, "--json")[0])

    def test_derived_fields_are_written(self):
        output = {"derived": {"twice": "2*u + t", "slope": "grad(u)"}, "every_nth_point": [4, 2],
                  "precision": "float32", "compression": 1, "every": {"count": 2}}
        verify = {"exact": {"twice": "2*x^2 + t", "slope": {"y": "0"}}, "tolerance": {"max": 1e-12}}
        self.call("run", self.write("case.yaml", system(output=output, verify=verify)), "--quiet")
        found = self.json("info", "outputs/case")
        self.assertEqual([field["name"] for field in found["fields"]], ["slope", "twice", "u"])
        self.assertEqual({field["precision"] for field in found["fields"]}, {"float32"})
        self.assertEqual(found["grid"]["points"], [5, 8])
        self.assertEqual(found["last_histograms"], {})
        self.assertAlmostEqual(found["diagnostics"]["twice.max"][-1], 2.01)
        piece = (self.directory / "outputs/case/case_000000.vti").read_bytes()
        self.assertEqual(sorted(re.findall(rb'<DataArray[^>]*Name="(\w+)"', piece))[-2:],
                         [b"twice", b"u"])
        self.assertTrue(self.json("compare", "outputs/case", "outputs/case")["equal"])

    def test_a_restart_goes_on_with_them(self):
        def case(end):
            return system(output={"derived": {"rate": "dt(u)"}, "every": {"steps": 5}},
                          initial={"u": "x"}, checkpoint={"every": {"steps": 10}},
                          time={"scheme": "rk4", "end": end, "step": 2e-4})
        self.call("run", self.write("whole.yaml", case(0.004)), "--quiet")
        self.call("run", self.write("part.yaml", case(0.002)), "--quiet")
        self.call("run", self.write("part.yaml", case(0.004)), "--quiet", "--restart")
        same = self.json("compare", "outputs/whole", "outputs/part", "--rtol", 0, "--atol", 0)
        self.assertTrue(same["equal"])

    def test_a_value_that_is_not_finite_is_found_before_the_run(self):
        case = system(output={"derived": {"inverse": "1/u"}})
        _, err = self.call("run", self.write("case.yaml", case), code=BAD_INPUT)
        self.assertIn("output.derived.inverse: inverse is inf at x = 0, y = 0", err)

    def test_verify_judges_a_solution_that_is_made_up(self):
        def case(points, tolerance):
            made = system(grid={"points": [points, points - 1]},
                          boundary={"x": "dirichlet", "y": "periodic"},
                          verify={"manufactured": {"u": "exp(-t)*sin(3*x)*cos(2*pi*y)"},
                                  "tolerance": {"l2": tolerance}})
            del made["initial"]
            return self.write("made.yaml", made)
        errors = [self.json("verify", case(n, 1))["runs"][0]["errors"]["u l2 error"]
                  for n in (17, 33)]
        self.assertAlmostEqual(errors[0] / errors[1], 4, delta=0.6)
        self.call("verify", case(17, errors[0] / 2), code=DOES_NOT_HOLD)


if __name__ == "__main__":
    support.main()
