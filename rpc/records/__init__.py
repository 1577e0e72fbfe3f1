"""The records that replies consist of: one declaration each, from which both forms of JSON and the documentation are made.

A record's class ends in `Record`. Its docstring says what clients see, its number in rpc-api.md (`R-account`), and what it is read from: a
row, a view (a row with what other tables and plugins add to it), or an instance of the record.
"""
