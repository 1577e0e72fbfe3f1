"""The tags that a post's metadata contains."""

import pytest

from state.plugins.tags.metadata import named_tags


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ('{"tags":["b","a"]}', ("a", "b")),
        ('{"tags":["A","a","Ä"]}', ("a", "Ä")),
        ('{"tags":["f","e","d","c","b","a"]}', ("a", "b", "c", "d", "e")),
        ('{"tags":["","e","d","c","b","a"]}', ("a", "b", "c", "d")),
        ('{"tags":[1,true,null,"x"]}', ("1", "true", "x")),
        ('{"tags":["a"],"x":[1,2,,3]}', ("a",)),
        ('{"tags":[["a"]]}', ()),
        ('{"tags":"a"}', ()),
        ('{"tags":{}}', ()),
        ('{"other":["a"]}', ()),
        ('["a"]', ()),
        ("5", ()),
        ("{", ()),
    ],
)
def test_tags_that_metadata_names(metadata: str, expected: tuple[str, ...]) -> None:
    assert named_tags(metadata) == expected
