"""A chain in the process of a test suite, without sockets and with a stopped clock (docs/test-suites.md).

```py
from coind.testing import CallRefused, LocalChain
```
"""

from node.app.local_chain import START, LocalChain
from node.client.dev_api import Account, CallRefused, Key

__all__ = ["START", "Account", "CallRefused", "Key", "LocalChain"]
