"""Write the reference pages that are made from declarations, or with --check say which have drifted from them."""

import sys
from collections.abc import Callable
from pathlib import Path

from pyspark_tidelog import reference as spark_reference
from tidelog.cli.arguments import reference as cli_reference
from tidelog.config import reference as config_reference
from tidelog.protocol import reference as protocol_reference
from tidelog.server.metrics import reference as metrics_reference

ROOT = Path(__file__).parent.parent
PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/config.md": config_reference.render,
    "docs/reference/apis.md": protocol_reference.render,
    "docs/metrics.md": metrics_reference.render,
    "docs/reference/cli.md": cli_reference.render,
    "docs/spark-options.md": spark_reference.render,
}


def drifted(root: Path = ROOT) -> list[str]:
    pages = ((root / page, render()) for page, render in PAGES.items())
    return [str(page.relative_to(root)) for page, text in pages if not page.exists() or page.read_text() != text]


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        pages = drifted()
        for page in pages:
            print(f"{page} is not what the declarations say: run `make docs`", file=sys.stderr)
        return 1 if pages else 0
    for page, render in PAGES.items():
        (ROOT / page).write_text(render())
        print(f"wrote {page}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
