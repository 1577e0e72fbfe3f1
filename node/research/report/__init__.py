"""A report of a chain up to a block: one page of HTML that needs no network, with pictures and the numbers behind them."""
