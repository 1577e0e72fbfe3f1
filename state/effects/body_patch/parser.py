"""Reads patches from a text. The reference's reader works on wide characters and on percent-encoded UTF-8, and so does this one."""

import re

from state.effects.body_patch.diff import DELETE, EQUAL, INSERT
from state.effects.body_patch.pieces import Patch
from state.protocol.values.integers import INT64_MAX, as_int32

HEAD = re.compile(r"@@ -[0-9]+,?([0-9]*) \+([0-9]+),?([0-9]*) @@")
KINDS = {"-": DELETE, "+": INSERT, " ": EQUAL}
ENCODED = re.compile(r"(?:%[0-9a-fA-F]{2})+")
NOT_ENCODED = re.compile(r"%(?![0-9a-fA-F]{2})")
BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")
SHORT_DIGITS = 10
INT64_DIGITS = len(str(INT64_MAX))
# Lead bytes of UTF-8: the bits to shift away, what is left then, the bits that carry data, the number of bytes that follow.
LEADS = ((5, 0b110, 0x1F, 1), (4, 0b1110, 0x0F, 2), (3, 0b11110, 0x07, 3))


class PatchSyntaxError(Exception):
    """A text that has not the form of patches."""


def read_patches(text: str) -> list[Patch]:
    """Parse the patches of a text, at least one; raises PatchSyntaxError where it has another form."""
    is_plain = "%" not in text and text.isascii()
    patches: list[Patch] = []
    for line in text.lstrip("\n").split("\n"):
        if line.startswith("@") or not patches:
            patches.append(read_head(line))
        elif line:
            kind = KINDS.get(line[0])
            if kind is None:
                raise PatchSyntaxError
            patches[-1].differences.append((kind, line[1:] if is_plain else percent_decoded(line[1:])))
    return patches


def read_head(line: str) -> Patch:
    """Parse the first line of a patch, its places in both texts. That in the old text is not needed."""
    match = HEAD.fullmatch(line)
    if match is None:
        raise PatchSyntaxError
    old_length, start, new_length = match.groups()
    # The format counts from 1, but gives the place of nothing as that of the character before it. A length that is left out is 1.
    return Patch(as_int(start) - (new_length != "0"), as_int(old_length or "1"), as_int(new_length or "1"))


def as_int(digits: str) -> int:
    """Read a number as the reference does: a 64-bit long that saturates, cut to a signed 32-bit integer."""
    if len(digits) < SHORT_DIGITS:
        return int(digits)
    # Python reads no numbers of thousands of digits.
    if len(digits) > INT64_DIGITS:
        digits = digits.lstrip("0") or "0"
        if len(digits) > INT64_DIGITS:
            return as_int32(INT64_MAX)
    return as_int32(min(int(digits), INT64_MAX))


def percent_decoded(text: str) -> str:
    """Decode the text of a patch's line: percent-encoded bytes are UTF-8.

    The reference decodes whole code points as if they were bytes. So a character beyond ASCII that is not encoded falls out,
    or, where its code looks like a lead byte, swallows what follows; and one beyond the first plane becomes two surrogates,
    which match nothing in a body.
    """
    if "%" in text:
        if NOT_ENCODED.search(text):
            raise PatchSyntaxError
        text = ENCODED.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("latin-1"), text)
    return text if text.isascii() else BEYOND_ASCII.sub(lambda match: decoded(match[0]), text)


def decoded(text: str) -> str:
    """Decode code points beyond ASCII that are taken for bytes of UTF-8."""
    units = [ord(character) for character in text]
    out: list[str] = []
    i = 0
    while i < len(units):
        unit = units[i]
        i += 1
        for shift, mark, bits, follow in LEADS:
            if unit >> shift == mark:
                code, i = continued(units, i, unit & bits, follow)
                out.append(as_utf16(code))
                break
    return "".join(out)


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
