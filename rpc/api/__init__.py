"""All RPC methods. Importing this package imports every module below it, which declares the methods.

A new method is a function under `@method` in the module of its topic, and a test that calls it. A new module needs no registration.
`bin.docs` then regenerates docs/api. Tests compare arguments and results of the reference's methods with docs/reference/methods.json;
tests/rpc/api/test_api_declarations.py lists coind's own groups (OUR_GROUPS).
"""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
