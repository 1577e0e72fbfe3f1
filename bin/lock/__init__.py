"""Lock files: every package that a checkout installs, with its version and the hashes of its files. pip checks them."""
