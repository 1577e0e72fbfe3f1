"""`coind dev`: drives a local chain through dev_api."""
