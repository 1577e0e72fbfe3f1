"""Chain specs: read from TOML, with the plugins that they name."""
