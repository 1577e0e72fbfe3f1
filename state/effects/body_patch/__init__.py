"""Edits of a comment's body: a new text, or patches of the old one in the format of diff-match-patch.

The reference has no flag for patches: a text that can be parsed as patches and applied is a patch, any other text replaces the body. A
difference in parsing, matching or applying would therefore change bodies. This package follows the C++ port of diff-match-patch that the
reference uses, even where other ports differ. The port has a time limit; here a work budget in steps replaces it.
Source: operations.md §8.1 "Edit".
"""

from state.effects.body_patch.application import apply_patches
from state.effects.body_patch.budget import WorkBudget
from state.effects.body_patch.buffer import PatchRangeError
from state.effects.body_patch.parser import PatchSyntaxError, read_patches

__all__ = ["WorkBudget", "edited"]


def edited(old: str, body: str, budget: WorkBudget) -> str:
    """Return the body after an edit: the patched old body, or the edit itself if it isn't a patch or can't be applied.

    The work is subtracted from the budget. Patches that exceed the budget are skipped.
    """
    # The parser rejects every other beginning. This is the fast path for ordinary bodies.
    if not body.lstrip("\n").startswith("@@ -"):
        return body
    try:
        result = apply_patches(read_patches(body), old, budget)
    except (PatchSyntaxError, PatchRangeError):
        # In this case the reference's library throws, and the reference replaces the body with the edit.
        return body
    if body.isascii() and "%" not in body:
        return result
    # Characters beyond the first plane are two surrogates (`as_utf16`), which UTF-8 can't encode, so they are dropped.
    return result.encode("utf-8", "ignore").decode()
