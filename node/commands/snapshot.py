"""`coind snapshot`: makes, lists, verifies and compares snapshots of a chain's state, without starting a node."""

from cyclopts import App

snapshot = App(name="snapshot", help="Save, list, load, verify or compare snapshots of the state.")
