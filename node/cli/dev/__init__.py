"""`coind dev`: drives a local chain by the methods of dev_api."""
