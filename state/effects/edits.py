"""Edits of a comment's body: a new text, or patches of the old one in the format of diff-match-patch. It knows no state.

The reference decides by the result alone whether an edit was a patch: a text that parses as patches and applies is one,
anything else replaces the body. So a difference in reading them would change bodies. The C++ port of diff-match-patch, which
the reference uses, reads patches otherwise than Python's, so the reading is done here; it works on wide characters and on
percent-encoded UTF-8. Finding the places of patches and applying them is left to the Python library with its defaults.
Source: operations.md §8.1 "Edit".
"""

import re

from diff_match_patch import diff_match_patch
from diff_match_patch.diff_match_patch import patch_obj

from state.protocol.values.integers import INT64_MAX, WORD32

HEAD = re.compile(r"@@ -([0-9]+),?([0-9]*) \+([0-9]+),?([0-9]*) @@")
KINDS = {"-": diff_match_patch.DIFF_DELETE, "+": diff_match_patch.DIFF_INSERT, " ": diff_match_patch.DIFF_EQUAL}
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
# Lead bytes of UTF-8: the bits to shift away, what is left then, the bits that carry data, the number of bytes that follow.
LEADS = ((5, 0b110, 0x1F, 1), (4, 0b1110, 0x0F, 2), (3, 0b11110, 0x07, 3))


def edited(old: str, body: str) -> str:
    """Return the body after an edit: the patched old body, or the edit itself when it is no patch or can't be read as one."""
    # Anything that begins otherwise is refused by the reader in any case; this is the fast way for ordinary texts.
    if not body.lstrip("\n").startswith("@@ -"):
        return body
    try:
        patches = read_patches(body)
        result = diff_match_patch().patch_apply(patches, old)[0]
    except Exception:
        # Whatever the reference's library throws, it catches, and takes the edit as a new text.
        return body
    # Characters beyond the first plane have become two surrogates (`as_utf16`), which UTF-8 can't hold: they are pruned.
    return str(result).encode("utf-8", "ignore").decode()


def read_patches(text: str) -> list[patch_obj]:
    """Parse the patches of a text; raises ValueError or KeyError where it has another form."""
    lines = text.lstrip("\n").split("\n")
    patches: list[patch_obj] = []
    for line in lines:
        if line.startswith("@") or not patches:
            patches.append(read_head(line))
        elif line:
            patches[-1].diffs.append((KINDS[line[0]], percent_decoded(line[1:])))
    return patches


def read_head(line: str) -> patch_obj:
    """Parse the first line of a patch, its places in both texts."""
    match = HEAD.fullmatch(line)
    if match is None:
        raise ValueError(line)
    patch = patch_obj()
    patch.start1, patch.length1 = place(match[1], match[2])
    patch.start2, patch.length2 = place(match[3], match[4])
    return patch


def place(start: str, length: str) -> tuple[int, int]:
    """Return where a patch begins, counted from 0, and its length; a length that is left out is 1."""
    # The format counts from 1, but gives the place of nothing as that of the character before it.
    if not length:
        return as_int(start) - 1, 1
    if length == "0":
        return as_int(start), 0
    return as_int(start) - 1, as_int(length)


def as_int(digits: str) -> int:
    """Read a number as the reference does: a 64-bit long that saturates, cut to a signed 32-bit integer."""
    return (min(int(digits), INT64_MAX) + 2**31) % WORD32 - 2**31


def percent_decoded(text: str) -> str:
    """Decode the text of a patch's line: percent-encoded bytes are UTF-8.

    The reference decodes whole code points as if they were bytes. So a character beyond ASCII that is not encoded falls out,
    or, where its code looks like a lead byte, swallows what follows; and one beyond the first plane becomes two surrogates,
    which match nothing in a body.
    """
    if "%" not in text and text.isascii():
        return text
    units = encoded_units(text)
    decoded: list[str] = []
    i = 0
    while i < len(units):
        unit = units[i]
        i += 1
        if unit < 0x80:
            decoded.append(chr(unit))
            continue
        for shift, mark, bits, follow in LEADS:
            if unit >> shift == mark:
                code, i = continued(units, i, unit & bits, follow)
                decoded.append(as_utf16(code))
                break
    return "".join(decoded)


def encoded_units(text: str) -> list[int]:
    """Return the code points of a text, and for each percent-encoded byte its value."""
    units: list[int] = []
    i = 0
    while i < len(text):
        if text[i] == "%":
            digits = text[i + 1 : i + 3]
            if len(digits) < 2 or not HEX_DIGITS.issuperset(digits):
                raise ValueError(text)
            units.append(int(digits, 16))
            i += 3
        else:
            units.append(ord(text[i]))
            i += 1
    return units


def continued(units: list[int], i: int, code: int, follow: int) -> tuple[int, int]:
    """Add the bits of `follow` units from `i` on to those of a lead.

    Returns the code point, -1 where a unit continues nothing, and the place to read on: that unit is read again.
    """
    for _ in range(follow):
        if i == len(units) or units[i] & 0xC0 != 0x80:
            return -1, i
        code = code << 6 | units[i] & 0x3F
        i += 1
    return code, i


def as_utf16(code: int) -> str:
    """Return a code point as UTF-16 has it: two surrogates beyond the first plane; nothing for -1."""
    if code < 0:
        return ""
    if code <= 0xFFFF:
        return chr(code)
    return chr((code >> 10) + 0xD7C0) + chr((code & 0x3FF) + 0xDC00)
