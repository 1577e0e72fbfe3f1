"""The version of this program. pyproject.toml reads it from this module."""

VERSION = "0.1.0"
VERSION_WORDS = ("--version", "-V")
