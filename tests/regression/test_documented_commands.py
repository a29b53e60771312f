"""Every command that README.md and docs/ print in ```sh blocks works, in a copy of the checkout.

The commands of a document run one after the other in one copy, as a reader would type them. A block
that begins with #! is a script and runs as one.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import support
from support import ROOT

# What cannot run here: a pattern of the command, why, and what runs it instead.
ELSEWHERE = {
    r"tools/test\b.*": "runs this very test; .ci/run calls it",
    r"gridstride run .* --ranks\b.*": "wants MPI; test_ranks.py runs the like",
    r"cmake .*\b(installed|build/library)\b.*|build/library/\S+": "test_library.py runs these",
}

# What runs as something else, with the same arguments.
INSTEAD = {
    r"^tools/run\b": "gridstride run",  # it would build another program; .ci/run builds as it does
}


def documents():
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [path for path in found if path.is_file()]


def commands_of(document):
    """The commands of a document: joined lines without comments, or scripts."""
    text = document.read_text(encoding="utf-8")
    commands = []
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        if block.startswith("#!"):
            commands.append(block)
            continue
        lines = block.replace("\\\n", " ").splitlines()
        stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)
        commands.extend(line for line in stripped if line)
    return commands


class DocumentedCommands(support.Case):
    def copy_checkout(self, name):
        """What the commands use of a checkout, and the programs that they call."""
        copy = self.directory / name
        for folder in ("inputs", "tools", "tests/regression"):
            shutil.copytree(ROOT / folder, copy / folder)
        for folder in ("outputs", "bin", "build"):
            (copy / folder).mkdir()
        (copy / "build/cpu").symlink_to(pathlib.Path(support.PROGRAM).parents[1])
        (copy / "bin/gridstride").symlink_to(support.PROGRAM)
        (copy / "bin/python3").symlink_to(sys.executable)
        if not (copy / "inputs/data/phantom.h5").exists():
            (copy / "inputs/data").mkdir(exist_ok=True)
            subprocess.run([sys.executable, "tools/make_phantom.py", "--output",
                            "inputs/data/phantom.h5"], cwd=copy, check=True)
        return copy

    def run_one(self, command, copy):
        for pattern, other in INSTEAD.items():
            command = re.sub(pattern, other, command, flags=re.MULTILINE)
        environment = {**os.environ,
                       "PATH": f"{copy / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=copy, text=True,
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout}")

    def test_all(self):
        count = 0
        for document in documents():
            commands = commands_of(document)
            name = str(document.relative_to(ROOT))
            copy = self.copy_checkout(name.replace(os.sep, "_")) if commands else pathlib.Path()
            for command in commands:
                if any(re.fullmatch(pattern, command) for pattern in ELSEWHERE):
                    continue
                count += 1
                with self.subTest(document=name, command=command):
                    self.run_one(command, copy)
        self.assertGreater(count, 0, "no command was found")

    def test_readme_has_the_two_commands(self):
        commands = commands_of(ROOT / "README.md")
        self.assertEqual(commands[:2], ["tools/run inputs/heat_2d.yaml", "tools/test"])

    def test_a_failing_command_is_seen(self):
        copy = self.copy_checkout("copy")
        for command in ("gridstride run inputs/nowhere.yaml", "gridstride walk", "false | true"):
            with self.assertRaises(AssertionError):
                self.run_one(command, copy)

    def test_commands_are_found(self):
        document = self.directory / "page.md"
        document.write_text("```sh\none  # a remark\n# nothing\ntwo \\\n  three a#b\n```\n"
                            "```yaml\nno: command\n```\n```sh\n#!/bin/sh\nfour\n```\n")
        self.assertEqual(commands_of(document), ["one", "two    three a#b", "#!/bin/sh\nfour\n"])


if __name__ == "__main__":
    support.main()
