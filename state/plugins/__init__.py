"""Indices derived from operations, each of which a node switches on by name; consensus never reads them.

plugin            the type `Plugin`: name, data, installation, groups of methods
registry          all plugins in their order, and `enable`
account_by_key, account_history, market_history, reputation, transaction_status
                  a plugin in one module each
follow, rc, tags, social
                  a plugin in a package each; `social` is the plugin `communities`

A plugin has tables, which the state's journal undoes; listeners, which keep the tables up to date; functions that read them; and one
declaration, `FOLLOW = Plugin("follow", ...)`. In a package these are modules: `rows` holds the tables and the type of the plugin's data
(in social that is in `index`), `plugin` the declaration with the listeners, `lists` what RPC methods read. `rc` is a plugin and yet
refuses transactions: this is a soft rule of the node that a transaction is sent to, no block is refused for it.
"""
