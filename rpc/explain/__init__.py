"""Explains why the chain refuses a transaction: the violated rule, the values involved, and advice. For signatures, also the likely cause.

The service and the RPC methods use `explainer.Explainer`. Each kind of refusal has its own module. Explaining never changes the state.
"""
