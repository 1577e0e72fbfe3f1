"""All others: the account that holds what the accounts hold together that aren't here."""

ALL_OTHERS = "all others"
"""Its name contains a space, so nobody can register it, and no operation can name it."""
