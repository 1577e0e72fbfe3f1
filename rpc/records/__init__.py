"""Records of RPC replies. Both JSON formats and the documentation are generated from these declarations.

The name of a record class ends in `Record`. The docstring of the class describes the record for clients. It also gives the record's name in
rpc-api.md (for example `R-account`), and the type of object from which the record is read: a row, or a view (a row with data of other
tables and plugins). If the docstring names no such type, the record is read from an instance of the record class itself.
"""
