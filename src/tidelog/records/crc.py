"""CRC32C in hardware: the one function that is wanted of the `crc32c` package.

The package's own opening looks up its version number among everything that is installed, for which it imports readers
of zip files and e-mail: a tenth of a node's whole start. So the extension module inside the package is loaded by
itself; a package that is built in another way is imported as a whole.
"""

from importlib.machinery import ModuleSpec, PathFinder
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crc32c import crc32c
else:

    def _extension() -> ModuleSpec | None:
        package = PathFinder.find_spec("crc32c")
        if package is None or package.submodule_search_locations is None:
            return None
        return PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)

    def _load() -> object:
        spec = _extension()
        if spec is None or spec.loader is None:
            import crc32c as whole

            return whole.crc32c
        module = spec.loader.create_module(spec)
        spec.loader.exec_module(module)
        return module.crc32c

    crc32c = _load()

__all__ = ["crc32c"]
