"""Parses patches from a text. Like the reference's parser, it handles wide characters and percent-encoded UTF-8."""

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
# Lead bytes of UTF-8: the shift, the expected value after it, the mask of the data bits, the number of continuation bytes.
LEADS = ((5, 0b110, 0x1F, 1), (4, 0b1110, 0x0F, 2), (3, 0b11110, 0x07, 3))


class PatchSyntaxError(Exception):
    """The text is not in the format of patches."""


def read_patches(text: str) -> list[Patch]:
    """Parse the patches of a text, at least one. Raises PatchSyntaxError if the text has another format."""
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
    """Parse the first line of a patch: its positions in both texts. The position in the old text is not used."""
    match = HEAD.fullmatch(line)
    if match is None:
        raise PatchSyntaxError
    old_length, start, new_length = match.groups()
    # Positions count from 1, but the position of an empty part is that of the character before it. An omitted length is 1.
    return Patch(as_int(start) - (new_length != "0"), as_int(old_length or "1"), as_int(new_length or "1"))


def as_int(digits: str) -> int:
    """Parse a number like the reference: as a saturating 64-bit long, truncated to a signed 32-bit integer."""
    if len(digits) < SHORT_DIGITS:
        return int(digits)
    # Python refuses to parse numbers of thousands of digits.
    if len(digits) > INT64_DIGITS:
        digits = digits.lstrip("0") or "0"
        if len(digits) > INT64_DIGITS:
            return as_int32(INT64_MAX)
    return as_int32(min(int(digits), INT64_MAX))


def percent_decoded(text: str) -> str:
    """Decode the percent-encoded UTF-8 in one line of a patch.

    The reference decodes code points as if they were bytes. An unencoded character beyond ASCII is therefore dropped. If its code looks
    like a lead byte, the following characters are dropped as well. A character beyond the first plane becomes two surrogates, which match
    nothing in a body.
    """
    if "%" in text:
        if NOT_ENCODED.search(text):
            raise PatchSyntaxError
        text = ENCODED.sub(lambda match: bytes.fromhex(match[0].replace("%", "")).decode("latin-1"), text)
    return text if text.isascii() else BEYOND_ASCII.sub(lambda match: decoded(match[0]), text)


def decoded(text: str) -> str:
    """Decode code points beyond ASCII as if they were bytes of UTF-8."""
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
    """Combine the bits of a lead unit (`code`) with those of `follow` continuation units, from index `i` on.

    Return the code point and the next index. The code point is -1 if a unit is not a continuation; that unit is then read again.
    """
    for _ in range(follow):
        if i == len(units) or units[i] & 0xC0 != 0x80:
            return -1, i
        code = code << 6 | units[i] & 0x3F
        i += 1
    return code, i


def as_utf16(code: int) -> str:
    """Return a code point in UTF-16 units: two surrogates beyond the first plane, and "" for -1."""
    if code < 0:
        return ""
    if code <= 0xFFFF:
        return chr(code)
    return chr((code >> 10) + 0xD7C0) + chr((code & 0x3FF) + 0xDC00)
