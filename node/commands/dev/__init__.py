"""`coind dev`: drives a local chain, with a command for each method of dev_api."""
