"""Annotations mean the same in every version of Python.

Up to 3.13 an annotation of a class is evaluated where it stands, before the lines below it. Python 3.14 evaluates it when somebody asks,
and takes a name from the class first. A field named as something of the module that another annotation of the class uses hides that then.
"""

import ast
from collections.abc import Iterator

from tests.helpers.sources import Source, sources


def hidden_names(source: Source) -> Iterator[str]:
    """Yield the names in annotations of a class that are also names of its fields: these hide what the module has under that name."""
    for owner in (node for node in source.nodes if isinstance(node, ast.ClassDef)):
        fields = [node for node in owner.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)]
        names = {node.target.id for node in fields if isinstance(node.target, ast.Name)}
        for node in fields:
            used = {each.id for each in ast.walk(node.annotation) if isinstance(each, ast.Name)}
            yield from (f"{source.path}:{node.lineno}: {name} is a field of {owner.name} as well" for name in sorted(used & names))


def test_no_field_hides_what_an_annotation_names() -> None:
    assert [problem for source in sources() for problem in hidden_names(source)] == []
