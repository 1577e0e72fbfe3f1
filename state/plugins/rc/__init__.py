"""The plugin `rc`, resource credits.

usage        amounts of the five resources that a transaction uses
prices       costs of usages, resource pools
rows         tables and data of the plugin
accounts     updates of credits when VESTS of accounts change
portable     portable rows of the data
plugin       the declaration RC, charging of transactions, pools after blocks
"""
