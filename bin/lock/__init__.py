"""Lock files. A lock file lists every package of a checkout with its version and the hashes of its files, which pip checks."""
