"""All RPC methods. Importing this package imports its modules, which declare the methods.

To add a method, write a function under `@method` in the module of its topic, and a test that calls it. New modules are found automatically.
`bin.docs` then regenerates docs/api. Tests compare arguments and results of the reference's methods with docs/reference/methods.json;
tests/rpc/api/test_api_declarations.py lists the API groups that only coind has (OUR_GROUPS).
"""

from importlib import import_module
from pkgutil import walk_packages

for _module in walk_packages(__path__, f"{__name__}."):
    import_module(_module.name)
