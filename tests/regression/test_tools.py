"""What tools/lib.sh finds out about a machine, and tools/build_times about a build; and that
programs in Python know the names in them, also where only a machine with a GPU gets to."""

import builtins
import os
import shutil
import subprocess
import symtable

import support
from support import ROOT


class Tools(support.Case):
    def answer(self, commands, capabilities=None):
        """What bash prints after reading tools/lib.sh, on a machine with such GPUs, or with none."""
        folder = self.directory / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "nvidia-smi"
        lines = "exit 9" if capabilities is None else f"printf '%s\\n' {' '.join(capabilities)}"
        program.write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")
        program.chmod(0o755)
        path = f"{folder}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", f"source tools/lib.sh; {commands}"],
                              cwd=ROOT, env={**os.environ, "PATH": path}, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout.strip()

    def test_builds_for_the_gpus_that_are_here(self):
        chosen = "build_for_this_machine; echo $architectures"
        self.assertEqual(self.answer(chosen, ["8.6"]), "86-real")
        self.assertEqual(self.answer(chosen, ["9.0", "9.0"]), "90a-real")
        self.assertEqual(self.answer(chosen, ["12.0", "8.0", "12.0"]), "120-real;80-real")

    def test_builds_for_hopper_where_there_is_no_gpu_that_cuda_knows(self):
        chosen = "build_for_this_machine; echo $architectures"
        self.assertEqual(self.answer(chosen), "90a-real")
        self.assertEqual(self.answer(chosen, ["7.0"]), "90a-real")
        self.assertEqual(self.answer(chosen, ["[N/A]"]), "90a-real")

    def test_configures_again_for_other_gpus(self):
        build = self.directory / "build/cuda"
        build.mkdir(parents=True)
        (self.directory / "CMakePresets.json").touch()
        os.utime(self.directory / "CMakePresets.json", (0, 0))
        (build / "build.ninja").touch()
        (build / "CMakeCache.txt").write_text(
            f"CMAKE_HOME_DIRECTORY:INTERNAL={self.directory}\n"
            "CMAKE_CUDA_ARCHITECTURES:UNINITIALIZED=86-real\n", encoding="utf-8")
        asked = (f"root={self.directory}; build_for_this_machine; "
                 "is_configured cuda && echo yes || echo no")
        self.assertEqual(self.answer(asked, ["8.6"]), "yes")
        self.assertEqual(self.answer(asked, ["8.9"]), "no")
        self.assertEqual(self.answer(asked), "no")

    def test_needs_packages_of_the_tests_where_there_are_tests_alone(self):
        asked = ("missing_packages() {{ printf '%s' '{}'; }}; build_without_tests; echo $tests; "
                 "echo ${{build_packages[@]}}")
        self.assertEqual(self.answer(asked.format("")).splitlines()[0], "ON")
        tests, packages = self.answer(asked.format("libgtest-dev")).splitlines()
        self.assertEqual(tests, "OFF" if shutil.which("dpkg-query") else "ON")
        self.assertNotIn("libvtk9-dev", packages)

    def test_configures_again_for_the_tests(self):
        build = self.directory / "build/cpu"
        build.mkdir(parents=True)
        (self.directory / "CMakePresets.json").touch()
        os.utime(self.directory / "CMakePresets.json", (0, 0))
        (build / "build.ninja").touch()
        (build / "CMakeCache.txt").write_text(
            f"CMAKE_HOME_DIRECTORY:INTERNAL={self.directory}\nBUILD_TESTING:BOOL=OFF\n",
            encoding="utf-8")
        asked = f"root={self.directory}; {{}}is_configured cpu && echo yes || echo no"
        self.assertEqual(self.answer(asked.format("")), "no")
        self.assertEqual(self.answer(asked.format("tests=OFF; ")), "yes")


class BuildTimes(support.Case):
    # start, end, time of the file, output, hash of the command
    STEPS = (("0", "9000", "kernels/CMakeFiles/gridstride_kernels_scan.dir/scan/cuda.cu.o", "a"),
             ("0", "2500", "src/CMakeFiles/gridstride_io.dir/io/pvd.cpp.o", "b"),
             ("2500", "4000", "src/CMakeFiles/gridstride_io.dir/io/vti.cpp.o", "c"),
             ("9000", "9250", "bin/gridstride", "d"),
             ("0", "8000", "src/CMakeFiles/gridstride_io.dir/io/gone.cpp.o", "e"),
             ("100", "4100", "kernels/CMakeFiles/gridstride_kernels_scan.dir/scan/cuda.cu.o", "a"),
             ("5000", "5500", "kernels/runtime_files.cpp", "f"),
             ("5000", "5500", "kernels/runtime_files.cpp.d", "f"))

    def tell(self, log, *arguments, code=0):
        """What the tool says of a tree whose build/cpu has that log; one of its files is gone."""
        build = self.directory / "build/cpu"
        for *_, output, _ in self.STEPS:
            (build / output).parent.mkdir(parents=True, exist_ok=True)
            if "gone" not in output:
                (build / output).touch()
        (build / ".ninja_log").write_text(log)
        (self.directory / "tools").mkdir()
        tool = shutil.copy(ROOT / "tools/build_times", self.directory / "tools")
        done = subprocess.run([tool, *arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def log(self):
        lines = ["\t".join((start, end, "1", output, command))
                 for start, end, output, command in self.STEPS]
        return "\n".join(["# ninja log v5", *lines, ""])

    def test_tells_rooms_and_files(self):
        self.assertEqual(self.tell(self.log(), "--files", "2"),
                         "build/cpu: 5 steps, 9 s of one processor\n"
                         "\n seconds  room\n"
                         "     4.0  io (2)\n"
                         "     4.0  kernels/scan (1)\n"
                         "     0.8  linking and the rest (2)\n"
                         "\n seconds  file\n"
                         "     4.0  scan/cuda.cu\n"
                         "     2.5  io/pvd.cpp\n")

    def test_says_what_is_missing(self):
        self.assertIn("nothing was built here", self.tell(self.log(), "cuda", code=1))

    def test_refuses_what_is_no_log(self):
        self.assertIn("no log of Ninja's", self.tell("1\t2\n", code=1))


def unknown_names(text, name):
    """What a program in Python reads, and nothing in it, or in Python, has as its name."""
    module = symtable.symtable(text, name, "exec")
    own = {symbol.get_name() for symbol in module.get_symbols()
           if symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()}
    known = own | set(dir(builtins)) | {"__file__", "__name__"}

    def read(table):
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or table is module):
                yield symbol.get_name()
        for inner in table.get_children():
            yield from read(inner)

    return sorted(set(read(module)) - known)


class Programs(support.Case):
    def test_know_the_names_that_they_read(self):
        for path in sorted((*ROOT.glob("tools/*"), *ROOT.glob("tests/*/*.py"))):
            text = path.read_text(encoding="utf-8") if path.is_file() else ""
            if path.suffix == ".py" or text.split("\n", 1)[0].endswith("python3"):
                with self.subTest(path=path):
                    self.assertEqual(unknown_names(text, str(path)), [])

    def test_a_name_that_is_not_known_is_found(self):
        text = "import os\n\n\ndef part(x):\n    return [os.sep, x, re.escape(x), len(x)]\n"
        self.assertEqual(unknown_names(text, "program"), ["re"])
        self.assertEqual(unknown_names("print(missing)\n", "program"), ["missing"])


if __name__ == "__main__":
    support.main()
