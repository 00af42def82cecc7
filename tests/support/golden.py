"""Apache Kafka's own bytes, by message name. tests/wire/golden/README.md tells how they were made."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parents[1] / "wire" / "golden"


@cache
def golden_lines(file_name: str = "apache_4_3.jsonl.gz") -> dict[str, list[dict[str, Any]]]:
    lines: dict[str, list[dict[str, Any]]] = {}
    with gzip.open(GOLDEN / file_name, "rt", encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            lines.setdefault(entry["name"], []).append(entry)
    return lines
