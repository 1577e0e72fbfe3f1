"""All RPC methods: importing this package imports every module below it, and so declares what they hold.

A new method is one function under `@method` in the module of its theme, and one test that calls it; a new module needs no entry
anywhere, it is found by its place. `bin.docs` then writes docs/api anew. Arguments and results of the reference's methods are
compared with docs/reference/methods.json; methods of our own are listed in tests/rpc/api/test_api_declarations.py (BEYOND) instead.
"""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
