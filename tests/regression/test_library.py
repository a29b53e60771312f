"""Another project finds and uses an installed tree: the commands of docs/library.md, in a folder
where the build is the one under test, and with the installed tree moved before it is used.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess

import support
from support import ROOT
from test_documented_commands import commands_of

INSTALL, CONFIGURE, BUILD, RUN = 0, 1, 2, 3  # the commands of the page


def flags_of_this_tree(command):
    """The flags of a compilation that those who use this tree should not get from it."""
    ours = re.compile(r"-W.*|-f.*|-O1|-include|-DGRIDSTRIDE.*")
    return [flag for flag in command.split() if ours.fullmatch(flag)]


class Library(support.Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(ROOT / "examples", self.directory / "examples")
        (self.directory / "build").mkdir()
        self.built = pathlib.Path(support.PROGRAM).parents[1]
        (self.directory / "build/cpu").symlink_to(self.built)
        self.commands = commands_of(ROOT / "docs/library.md")
        self.shell(self.commands[INSTALL])
        (self.directory / "installed").rename(self.directory / "moved")
        self.installed = self.directory / "moved"

    def shell(self, command, code=0):
        environment = {**os.environ, "CMAKE_EXPORT_COMPILE_COMMANDS": "ON"}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=self.directory,
                              env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}")
        return done.stdout

    def test_example(self):
        for command in (CONFIGURE, BUILD):
            self.shell(self.commands[command].replace("installed", "moved"))
        lines = self.shell(self.commands[RUN]).splitlines()
        devices = [line for line in lines if not line.startswith("no GPU: ")]
        self.assertGreaterEqual(len(devices), 1, lines)
        for line in devices:
            self.assertRegex(line, r": right, the sum is 500002500003$")
        self.flags_are_its_own()

    def flags_are_its_own(self):
        command = self.compiled("build/library", "sum_and_sort.cpp")
        self.assertEqual(flags_of_this_tree(command), [])
        folders = re.findall(r"-(?:isystem |I ?)(\S+)", command)
        self.assertIn(str(self.installed / "include/gridstride"), folders)
        self.assertEqual([folder for folder in folders if folder.startswith(str(ROOT))], [])

    def compiled(self, build, name):
        """How a file is compiled."""
        files = json.loads((self.directory / build / "compile_commands.json").read_text())
        return next(file["command"] for file in files if file["file"].endswith("/" + name))

    def test_as_a_part_of_another_project(self):
        shutil.copy(ROOT / "examples/library/sum_and_sort.cpp", self.directory / "part.cpp")
        self.write("CMakeLists.txt",
                   "cmake_minimum_required(VERSION 3.25)\nproject(whole LANGUAGES CXX)\n"
                   f"add_subdirectory({ROOT} gridstride)\nadd_executable(whole part.cpp)\n"
                   "target_link_libraries(whole gridstride::kernels_reduce "
                   "gridstride::kernels_sort)\n")
        self.shell("cmake -S . -B whole -G Ninja")
        self.assertEqual(flags_of_this_tree(self.compiled("whole", "part.cpp")), [])
        self.assertIn(f"-I{ROOT}/src", self.compiled("whole", "part.cpp"))
        self.assertIn("-Wall", self.compiled("whole", "core/device.cpp"))
        self.assertNotIn("-Werror", self.compiled("whole", "core/device.cpp"))
        self.assertNotIn("gtest", (self.directory / "whole/build.ninja").read_text())
        self.shell("cmake -D CMAKE_COMPILE_WARNING_AS_ERROR=ON whole")
        self.assertIn("-Werror", self.compiled("whole", "core/device.cpp"))

    def test_names_no_folder_of_the_build(self):
        for file in self.installed.rglob("*.cmake"):
            text = file.read_text()
            for folder in (ROOT, self.built, self.directory):
                self.assertNotIn(str(folder), text, file)

    def test_headers_find_each_other(self):
        folder = self.installed / "include/gridstride"
        headers = [*folder.rglob("*.hpp"), *folder.rglob("*.cuh")]
        self.assertGreater(len(headers), 100)
        for header in headers:
            for name in re.findall(r'^#include "([^"]+)"', header.read_text(), re.MULTILINE):
                self.assertTrue((folder / name).is_file(), f"{header} includes {name}")

    def test_program(self):
        done = subprocess.run([self.installed / "bin/gridstride", "list", "simulations"],
                              cwd=self.directory, text=True, stdout=subprocess.PIPE, check=True)
        self.assertIn("heat", done.stdout)

    def test_other_versions_are_refused(self):
        (self.directory / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(asks LANGUAGES CXX)\n"
            "find_package(gridstride ${ASKED} REQUIRED)\n")
        configure = f"cmake -S . -B asks -G Ninja -D CMAKE_PREFIX_PATH={self.installed}"
        refused = self.shell(f"{configure} -D ASKED=0.2", code=1)
        self.assertIn("compatible with requested version", refused)
        self.shell(f"{configure} -D ASKED=0.1")


if __name__ == "__main__":
    support.main()
