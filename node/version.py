"""The version of this program; pyproject.toml takes it from here."""

VERSION = "0.1.0"
VERSION_WORDS = ("--version", "-V")
