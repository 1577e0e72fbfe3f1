"""`coind replay`: from the blocks of a source to a state, with what is kept of it and how it ends."""
