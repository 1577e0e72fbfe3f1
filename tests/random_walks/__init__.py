"""Random walks: the same events lead to the same state on chains that process them in different ways."""
