"""Records of replies. Both JSON formats and the documentation are generated from their declarations.

A record's class ends in `Record`. Its docstring gives its meaning for clients, its number in rpc-api.md (`R-account`), and its source, if
that is a row or a view (a row with data of other tables and plugins) rather than an instance of the record.
"""
