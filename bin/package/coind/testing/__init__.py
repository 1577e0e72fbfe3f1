"""A chain inside the process of a test suite. It needs no sockets, and its clock advances only with its blocks (docs/test-suites.md).

```py
from coind.testing import CallRefused, LocalChain
```
"""

from node.app.local_chain import START, LocalChain
from node.client.dev_api import Account, CallRefused, Key

__all__ = ["START", "Account", "CallRefused", "Key", "LocalChain"]
