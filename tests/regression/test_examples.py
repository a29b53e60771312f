"""The code that docs/ prints of an example is the file that the tests compile."""

import re

import support
from support import ROOT


class Examples(support.Case):
    def test_pages_quote_the_files(self):
        text = (ROOT / "docs/adding_a_simulation.md").read_text(encoding="utf-8")
        quoted = re.findall(r"^```cpp\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        code = (ROOT / "docs/examples/diffusion.cpp").read_text(encoding="utf-8")
        self.assertEqual(quoted, [code])


if __name__ == "__main__":
    support.main()
