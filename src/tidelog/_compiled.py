"""Which of the two runs: the modules compiled by mypyc, or the same files interpreted.

A compiled `.so` shadows its `.py`, so two things need an explicit source loader: `TIDELOG_PURE=1`, and an editable
install whose source was changed after it was compiled (running yesterday's code while reading today's is the worst
kind of debugging). The build leaves the hash of each compiled source in `_compiled.json`; here it is compared, once,
when the package is imported. One that differs has all of them run from source: compiled modules know each other's
classes by their place in memory, so an interpreted one in their midst would be a stranger to them.

Every command waits for this, before anything else. So paths are strings (`pathlib` brings `urllib` with it), and the
hash is a CRC-32 with the size: it has to tell an edit from no edit, not to withstand anyone, and reads half a megabyte
of sources in a tenth of the time of a SHA-256.
"""

import json
import os
import sys
import warnings
from binascii import crc32
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from io import FileIO
from types import ModuleType

PACKAGE = os.path.dirname(__file__)
MANIFEST = f"{PACKAGE}/_compiled.json"


class StaleCompiledModule(RuntimeWarning):
    """A compiled module does not match its source; the source is used."""


def source_path(module: str) -> str:
    return f"{_stem(module)}.py"


def _stem(module: str) -> str:
    """Return the path of a module's files, without what tells them apart."""
    return f"{PACKAGE}/{module.partition('.')[2].replace('.', '/')}"


def digest_of(source: bytes) -> str:
    """Return what the manifest says about a source."""
    return f"{crc32(source):08x}-{len(source)}"


def read_manifest(path: str = MANIFEST) -> dict[str, str]:
    """Module name to the digest of the source it was compiled from; empty where nothing was compiled."""
    try:
        with FileIO(path) as file:
            manifest: dict[str, str] = json.loads(file.read())
    except FileNotFoundError:
        return {}
    return manifest


def compiled_modules(manifest: dict[str, str]) -> dict[str, str]:
    """The part of the manifest that is really there: a build whose compiler failed left no file to shadow anything."""
    return {
        module: digest
        for module, digest in manifest.items()
        if any(os.access(_stem(module) + suffix, os.F_OK) for suffix in EXTENSION_SUFFIXES)
    }


def stale_modules(manifest: dict[str, str]) -> list[str]:
    """The modules whose source is not the one that was compiled. A module without a source has nothing to differ
    from: some distributions ship only the compiled file."""
    stale = []
    for module, expected in manifest.items():
        try:
            with FileIO(source_path(module)) as source:
                if digest_of(source.read()) != expected:
                    stale.append(module)
        except FileNotFoundError:
            continue
    return stale


class SourceFinder:
    """A finder that loads the named modules from their `.py`, ahead of the path finder that would prefer the `.so`. It
    is a finder by what it has, not by its base class: that one's module alone takes as long to import as half of a
    command."""

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
