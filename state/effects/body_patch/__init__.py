"""Edits of a comment's body: a new text, or patches of the old one in the format of diff-match-patch. It knows no state.

The reference decides by the result alone whether an edit was a patch: a text that parses as patches and applies is one,
anything else replaces the body. So a difference in reading, finding or applying them would change bodies. Everything here follows
the C++ port of diff-match-patch that the reference uses, also where other ports do otherwise. But the port looks at the clock;
here the work is counted in steps. Source: operations.md §8.1 "Edit".
"""

from state.effects.body_patch.application import apply_patches
from state.effects.body_patch.budget import WorkBudget
from state.effects.body_patch.buffer import PatchRangeError
from state.effects.body_patch.parser import PatchSyntaxError, read_patches

__all__ = ["WorkBudget", "edited"]


def edited(old: str, body: str, budget: WorkBudget) -> str:
    """Return the body after an edit: the patched old body, or the edit itself when it is no patch or can't be applied.

    What the edit has taken of `steps` is counted there; a patch that needs more of them than there are is left out.
    """
    # Anything that begins otherwise is refused by the reader in any case; this is the fast way for ordinary texts.
    if not body.lstrip("\n").startswith("@@ -"):
        return body
    try:
        result = apply_patches(read_patches(body), old, budget)
    except (PatchSyntaxError, PatchRangeError):
        # The reference's library throws, and the reference takes the edit as a new text.
        return body
    if body.isascii() and "%" not in body:
        return result
    # Characters beyond the first plane have become two surrogates (`as_utf16`), which UTF-8 can't hold: they are pruned.
    return result.encode("utf-8", "ignore").decode()
