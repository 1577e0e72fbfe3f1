"""Records of RPC replies. Both JSON formats and the documentation are generated from these declarations.

The name of a record class ends in `Record`. Its docstring describes the record for clients, with its number in rpc-api.md (`R-account`) and
the type of object that it is read from: a row, or a view (a row with data of other tables and plugins). Default: an instance of the class.
"""
