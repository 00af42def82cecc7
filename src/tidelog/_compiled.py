"""Which of the two runs: the modules compiled by mypyc, or the same files interpreted.

A compiled `.so` shadows its `.py`, so two things need an explicit source loader: `TIDELOG_PURE=1`, and an editable
install whose source was changed after it was compiled (running yesterday's code while reading today's is the worst
kind of debugging). The build leaves the hash of each compiled source in `_compiled.json`; here it is compared, once,
when the package is imported. One that differs has all of them run from source: compiled modules know each other's
classes by their place in memory, so an interpreted one in their midst would be a stranger to them.
"""

import hashlib
import json
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import ModuleType

PACKAGE = Path(__file__).parent
MANIFEST = PACKAGE / "_compiled.json"


class StaleCompiledModule(RuntimeWarning):
    """A compiled module does not match its source; the source is used."""


def source_path(module: str) -> Path:
    return PACKAGE.joinpath(*module.split(".")[1:]).with_suffix(".py")


def read_manifest(path: Path = MANIFEST) -> dict[str, str]:
    """Module name to the SHA-256 of the source it was compiled from; empty where nothing was compiled."""
    try:
        manifest: dict[str, str] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    return manifest


def compiled_modules(manifest: dict[str, str]) -> dict[str, str]:
    """The part of the manifest that is really there: a build whose compiler failed left no file to shadow anything."""
    return {
        module: digest
        for module, digest in manifest.items()
        if any(source_path(module).with_suffix(suffix).exists() for suffix in EXTENSION_SUFFIXES)
    }


def stale_modules(manifest: dict[str, str]) -> list[str]:
    """The modules whose source is not the one that was compiled. A module without a source has nothing to differ
    from: some distributions ship only the compiled file."""
    stale = []
    for module, expected in manifest.items():
        source = source_path(module)
        if source.exists() and hashlib.sha256(source.read_bytes()).hexdigest() != expected:
            stale.append(module)
    return stale


class SourceFinder:
    """Loads the named modules from their `.py`, ahead of the path finder that would prefer the `.so`. A finder by what
    it has, not by its base class: that one's module alone takes as long to import as half of a command."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.modules = frozenset(modules)

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        if fullname not in self.modules:
            return None
        from importlib.util import spec_from_file_location

        return spec_from_file_location(fullname, source_path(fullname))


def install() -> None:
    manifest = compiled_modules(read_manifest())
    interpreted: list[str] = []
    if os.environ.get("TIDELOG_PURE") == "1":
        interpreted = list(manifest)
    elif stale := stale_modules(manifest):
        interpreted = list(manifest)
        warnings.warn(
            f"compiled before the source was last changed: {', '.join(stale)}; "
            "running all sources interpreted. `make install` compiles them again.",
            StaleCompiledModule,
            stacklevel=2,
        )
    if interpreted:
        sys.meta_path.insert(0, SourceFinder(interpreted))


def mode() -> str:
    """`compiled` or `pure`, with the reason where it is not the obvious one."""
    manifest = compiled_modules(read_manifest())
    if os.environ.get("TIDELOG_PURE") == "1":
        return "pure (TIDELOG_PURE=1)" if manifest else "pure"
    if not manifest:
        return "pure"
    stale = stale_modules(manifest)
    if stale:
        return f"pure ({', '.join(stale)} changed since it was compiled: run `make install`)"
    return "compiled"
