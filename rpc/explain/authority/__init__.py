"""Explains missing, superfluous and malformed signatures: who signed, who should have signed, and the likely cause."""
