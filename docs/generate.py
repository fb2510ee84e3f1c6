"""Fills the marked regions of README.md and docs/*.md from their single sources.

    python docs/generate.py           # rewrites the pages that are out of date
    python docs/generate.py --check   # writes nothing; exit code 1 if a page is out of date

A region stands between `<!-- generated: NAME -->` and `<!-- end -->`; what is between them is replaced. `REGIONS` in
regions.py lists the names and where their text comes from.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The pages describe this source tree, whatever else is installed.
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from regions import LEARNING, REGIONS, escaped, field_docs  # noqa: E402

__all__ = ["LEARNING", "escaped", "field_docs", "main"]

REGION = re.compile(r"<!-- generated: (\S+) -->\n(.*?)<!-- end -->", re.DOTALL)


class PageError(Exception):
    """A page whose regions cannot be filled."""


def filled(page: Path, root: Path) -> str:
    """The text of a page with every region up to date. Raises PageError for unknown or unclosed regions."""
    text = page.read_text(encoding="utf-8")
    regions = list(REGION.finditer(text))
    if text.count("<!-- generated:") != len(regions):
        raise PageError(f"{page}: every <!-- generated: NAME --> needs an <!-- end --> of its own")
    for region in reversed(regions):
        if region[1] not in REGIONS:
            raise PageError(f"{page}: unknown region {region[1]!r}; known: {', '.join(REGIONS)}")
        if (body := REGIONS[region[1]](page, root)) is not None:
            text = text[: region.start(2)] + f"\n{body}\n\n" + text[region.end(2) :]
    return text


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Rewrites or checks the pages of the tree in `root`. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a page is out of date")
    check = parser.parse_args(arguments).check
    stale = 0
    for page in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        try:
            text = filled(page, root)
        except PageError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        if text == page.read_text(encoding="utf-8"):
            continue
        stale += 1
        print(f"{page.relative_to(root)} {'is out of date: run python docs/generate.py' if check else 'written'}")
        if not check:
            page.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
