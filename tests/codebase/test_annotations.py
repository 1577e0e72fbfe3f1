"""Annotations have the same meaning in every Python version.

Up to 3.13 the annotation of a class field is evaluated immediately, before the lines below it. Python 3.14 evaluates it on first access and
looks up names in the class first. A field with the same name as a module member then hides that member from the other annotations of the
class.
"""

import ast
from collections.abc import Iterator

from tests.helpers.sources import Source, sources


def hidden_names(source: Source) -> Iterator[str]:
    """Yield the names in a class's annotations that are also names of its fields, which would hide the module's names."""
    for owner in (node for node in source.nodes if isinstance(node, ast.ClassDef)):
        fields = [node for node in owner.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
        names = {node.target.id for node in fields if isinstance(node.target, ast.Name)}
        for node in fields:
            used = {each.id for each in ast.walk(node.annotation) if isinstance(each, ast.Name)}
            yield from (f"{source.path}:{node.lineno}: {name} is a field of {owner.name} as well" for name in sorted(used & names))


def test_no_field_hides_a_name_in_an_annotation() -> None:
    assert [problem for source in sources() for problem in hidden_names(source)] == []
