"""What tools/lib.sh finds out about a machine."""

import os
import subprocess

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


if __name__ == "__main__":
    support.main()
