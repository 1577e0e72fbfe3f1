"""Explains why the chain refuses a transaction: which rule, with which values, what to do, and for signatures what has gone wrong.

`explainer.Explainer` is what the service and the methods use. Each kind of refusal has a module; nothing here changes the state.
"""
