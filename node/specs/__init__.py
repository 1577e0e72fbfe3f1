"""Chain specs: parsing of TOML files, and selection of plugins."""
