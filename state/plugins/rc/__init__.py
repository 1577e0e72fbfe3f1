"""The plugin `rc`, resource credits.

usage        what a transaction uses of the five resources
prices       what that costs
rows         the tables, and all data of the plugin
accounts     how credits follow the VESTS of their accounts
plugin       the declaration RC, charging of transactions, pools after blocks
"""
