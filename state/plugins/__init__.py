"""Indices derived from operations. A node enables each by name, and consensus never reads them.

plugin            the type `Plugin`: name, data, installation, groups of methods
registry          all plugins in order of installation, and `enable`
operation_log, transaction_index
                  compact storage of account_history and transaction_status
account_by_key, account_history, market_history, reputation, transaction_status
                  plugins of one module
follow, rc, tags, social
                  plugins of one package; `social` is the plugin `communities`

A plugin has tables, whose changes the state's journal can undo; listeners, which update the tables; functions that read them; and one
declaration, `FOLLOW = Plugin("follow", ...)`. In a package, `rows` contains the tables and the type of the plugin's data (`index` in
social), `plugin` the declaration and the listeners, and `lists` the reads of RPC methods. The plugin `rc` refuses transactions by a soft
rule: only the node that receives a transaction applies it, and no block is refused for it.
"""
