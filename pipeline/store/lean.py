"""What lancedb imports and nobody here uses."""

import sys
from importlib.util import find_spec, module_from_spec

_CLIENT = "lance_namespace_urllib3_client"


def spare_catalog_client() -> None:
    """Let lancedb import the types of its REST catalogs without the client that talks to them.

    The package's own `__init__` imports 366 generated calls: 20 MB and 0.7 s of every start. The package
    is put in place without running it; its submodules, which lancedb needs, import as ever.
    """
    if _CLIENT in sys.modules or (spec := find_spec(_CLIENT)) is None:
        return
    sys.modules[_CLIENT] = module_from_spec(spec)
