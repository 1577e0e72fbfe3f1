"""`coind dev`: controls a local chain through dev_api."""
