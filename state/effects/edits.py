"""Edits of a comment's body: a new text, or patches of the old one as diff-match-patch writes them. It knows no state.

The reference's reader of patches differs from the library's, so it is ours; matching is the library's with its defaults.
Source: operations.md §8.1 "Edit".
"""

import re

from diff_match_patch import diff_match_patch
from diff_match_patch.diff_match_patch import patch_obj

from state.protocol.values.integers import INT64_MAX, WORD32

HEAD = re.compile(r"@@ -([0-9]+),?([0-9]*) \+([0-9]+),?([0-9]*) @@")
KINDS = {"-": diff_match_patch.DIFF_DELETE, "+": diff_match_patch.DIFF_INSERT, " ": diff_match_patch.DIFF_EQUAL}
HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
# Lead bytes of UTF-8: how many bits to shift, what they look like then, the bits that they carry, how many bytes follow.
LEADS = ((5, 0b110, 0x1F, 1), (4, 0b1110, 0x0F, 2), (3, 0b11110, 0x07, 3))


def edited(old: str, body: str) -> str:
    """The body after an edit: the patched old one, or, when the edit is no patch or one that can't be read, the edit itself."""
    if not body.lstrip("\n").startswith("@@ -"):
        return body
    try:
        patches = read_patches(body)
        result = diff_match_patch().patch_apply(patches, old)[0]
    except Exception:
        # The reference takes whatever goes wrong here as "no patch".
        return body
    # Surrogates, which encoded characters beyond the first plane have become, have no place in UTF-8.
    return str(result).encode("utf-8", "ignore").decode()


def read_patches(text: str) -> list[patch_obj]:
    """The patches of a text; ValueError when it is none."""
    lines = text.lstrip("\n").split("\n")
    patches: list[patch_obj] = []
    for line in lines:
        if line.startswith("@") or not patches:
            patches.append(read_head(line))
        elif line:
            patches[-1].diffs.append((KINDS[line[0]], percent_decoded(line[1:])))
    return patches


def read_head(line: str) -> patch_obj:
    """A patch without its lines, from its first one."""
    match = HEAD.fullmatch(line)
    if match is None:
        raise ValueError(line)
    patch = patch_obj()
    patch.start1, patch.length1 = place(match[1], match[2])
    patch.start2, patch.length2 = place(match[3], match[4])
    return patch


def place(start: str, length: str) -> tuple[int, int]:
    """Where a patch begins, counted from 0, and its length, which is 1 when it is left out."""
    if not length:
        return as_int(start) - 1, 1
    if length == "0":
        return as_int(start), 0
    return as_int(start) - 1, as_int(length)


def as_int(digits: str) -> int:
    """A number as a 64-bit long, cut to 32 bits."""
    return (min(int(digits), INT64_MAX) + 2**31) % WORD32 - 2**31


def percent_decoded(text: str) -> str:
    """The text of a patch's line: %-encoded bytes as UTF-8. Characters beyond ASCII that are not encoded fall out.

    They are read like bytes, so they can pair up with what follows them. Characters beyond the first plane become two
    surrogates, which match nothing.
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
    """The code points of a text, with one for each %-encoded byte."""
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
    """A code point from its lead's bits and what continues it from `i` on, -1 when it breaks off; and where to read on."""
    for _ in range(follow):
        if i == len(units) or units[i] & 0xC0 != 0x80:
            return -1, i
        code = code << 6 | units[i] & 0x3F
        i += 1
    return code, i


def as_utf16(code: int) -> str:
    """A character; one beyond the first plane as two surrogates, nothing for -1."""
    if code < 0:
        return ""
    if code <= 0xFFFF:
        return chr(code)
    return chr((code >> 10) + 0xD7C0) + chr((code & 0x3FF) + 0xDC00)
