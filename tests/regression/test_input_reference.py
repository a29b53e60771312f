"""docs/input_reference.md is what `gridstride describe --markdown` prints."""

import support
from support import ROOT


class InputReference(support.Case):
    def test_is_current(self):
        out, _ = self.call("describe", "--markdown")
        stored = (ROOT / "docs/input_reference.md").read_text(encoding="utf-8")
        self.assertEqual(out, stored,
                         "stale: gridstride describe --markdown > docs/input_reference.md")


if __name__ == "__main__":
    support.main()
