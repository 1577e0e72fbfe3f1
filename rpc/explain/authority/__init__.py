"""Missing, superfluous and unreadable signatures: who has signed, who should have, and what has gone wrong between the two."""
