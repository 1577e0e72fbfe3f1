"""Explains why the chain refuses a transaction: the rule, its values, advice, and for signatures the likely cause.

The service and the methods use `explainer.Explainer`. Each kind of refusal has a module. Explaining never changes the state.
"""
