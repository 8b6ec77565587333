"""The documentation's site, built as `make docs` does."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
WIDTHS = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
BACKGROUND = "return getComputedStyle(document.body).backgroundColor"
"""Scripts that tell the widths of a page and of its window, and the page's background."""


def build_documentation(folder: Path) -> Path:
    """Build the site into a folder, strictly; a broken link fails."""
    site = folder / "site"
    built = subprocess.run(  # noqa: S603 - an installed package
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", site],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (built.returncode, built.stdout, built.stderr) == (0, "", ""), built.stderr
    return site
