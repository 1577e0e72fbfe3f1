"""`coind blocks`: looks at the block log of a data folder and repairs it, without starting a node."""

from cyclopts import App

blocks = App(name="blocks", help="Check or repair the block log of a data folder.")
