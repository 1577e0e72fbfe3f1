"""Splitting input that arrives in chunks of any size into lines."""

from hypothesis import given
from hypothesis import strategies as st

from node.client.lines import LINE_SIZE_MAX, LineSplitter


@given(st.lists(st.binary(max_size=4).map(lambda part: part.replace(b"\x00", b"\n"))))
def test_lines_are_split_the_same_for_any_chunks(parts: list[bytes]) -> None:
    splitter = LineSplitter()
    *lines, rest = b"".join(parts).split(b"\n")
    assert [line for part in parts for line in splitter.add(part)] == lines
    assert len(splitter._begun) == len(rest)


def test_a_long_line_is_not_copied_for_each_byte() -> None:
    splitter = LineSplitter()
    splitter.add(b"x" * (LINE_SIZE_MAX - 20_000))
    begun = splitter._begun
    for _ in range(20_000):
        splitter.add(b"x")
    # Copying the line for each byte would copy 300 GB in total.
    assert splitter._begun is begun
    assert len(splitter.add(b"\n")[0]) == LINE_SIZE_MAX
