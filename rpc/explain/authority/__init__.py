"""Explains missing, superfluous and malformed signatures: the keys that signed, the required authorities, and the likely cause."""
