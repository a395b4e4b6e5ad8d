"""Check that the API reference has everything that it must have of each public name.

`docs/conf.py` stops the build of the site where something is missing, and a test does so without
Sphinx. Every public name needs:

- a docstring that begins with a sentence,
- each argument described: in a list "Args:" or "Attributes:", or by its name in the text,
- an example that runs (the tests run it); of a class, one of its methods may have it; of an
  interface of plug-ins, the page docs/plugins.md, whose package the tests install and use,
- a section of docs/api.md with a guide page and other names, which its page shows as "See also".

So does each public method and property of a class, but for the last two.
"""

import doctest
import enum
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

_PACKAGE = "graphcuts_dp"
_FINDER = doctest.DocTestFinder(recurse=False)


@dataclass(frozen=True)
class Section:
    """A section of docs/api.md: its title, the pages of the guide that it names, and its names."""

    title: str
    guides: tuple[str, ...]
    names: tuple[str, ...]


def sections_of(text: str) -> list[Section]:
    """Return the sections of docs/api.md."""
    return [
        Section(
            title=part.splitlines()[0],
            guides=tuple(re.findall(r"\]\(([\w-]+\.md)", part)),
            names=tuple(re.findall(r"^   ([A-Za-z][\w.]+)$", part, re.M)),
        )
        for part in text.split("\n## ")[1:]
    ]


def see_also(name: str, sections: list[Section], reference: str) -> list[str]:
    """Return what the page of a name points at: the other names of its section, those that its
    docstring mentions, and nothing twice.

    Args:
        name: as in docs/api.md.
        sections: of that file.
        reference: the docstring.
    """
    known = {one: section for section in sections for one in section.names}
    mentioned = re.findall(r"`(?:gc\.)?([A-Za-z][\w.]*)`", reference)
    related = [*(other for other in mentioned if other in known), *known[name].names]
    return [other for other in dict.fromkeys(related) if other != name]


def members_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class that this package defines."""
    for name, value in inspect.getmembers_static(kind):
        definer = next((one for one in kind.__mro__ if name in vars(one)), None)
        if name.startswith("_") or definer is None or not definer.__module__.startswith(_PACKAGE):
            continue
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if isinstance(value, property | cached_property) or inspect.isfunction(value):
            yield name, value


def undescribed(function: Any) -> list[str]:
    """Return the parameters of a function that its docstring does not describe."""
    text = inspect.getdoc(function) or ""
    parameters = inspect.signature(function).parameters
    return [
        name
        for name in parameters
        if name not in ("self", "cls") and not name.startswith("_") and not _describes(text, name)
    ]


def missing(names: Mapping[str, Any], api: str) -> list[str]:
    """Return what the reference lacks, one line each: "Graph.read: weighted is not described".

    Args:
        names: public names with what they name.
        api: docs/api.md.
    """
    sections = sections_of(api)
    placed = {name: section for section in sections for name in section.names}
    lacking = [f"{name}: is in no section" for name in names if name not in placed]
    lacking += [
        f"section {section.title!r}: points at no page of the guide"
        for section in sections
        if not section.guides
    ]
    for name, value in names.items():
        if inspect.ismodule(value):
            continue
        shown = "plugins.md" in placed[name].guides if name in placed else False
        lacking += _lacking(name, value, shown=shown)
        if name in placed and not (
            see_also(name, sections, inspect.getdoc(value) or "") or placed[name].guides
        ):
            lacking.append(f"{name}: has nothing to see also")
    return lacking


def _lacking(name: str, value: Any, *, shown: bool) -> Iterator[str]:
    if not _begins_with_a_sentence(value):
        yield f"{name}: does not begin with a sentence"
    is_error = inspect.isclass(value) and issubclass(value, BaseException)
    if not shown and not is_error and not has_example(name, value):
        yield f"{name}: has no example"
    if not inspect.isclass(value):
        yield from (f"{name}: {parameter} is not described" for parameter in undescribed(value))
        return
    is_not_called = (
        is_error or issubclass(value, enum.Enum) or getattr(value, "_is_protocol", False)
    )
    if not is_not_called and "made by `" not in (value.__doc__ or ""):  # nobody calls it
        yield from (f"{name}: {parameter} is not described" for parameter in _of_class(value))
    for member, definition in members_of(value):
        if not _begins_with_a_sentence(definition, inherited_by=getattr(value, member, None)):
            yield f"{name}.{member}: does not begin with a sentence"
        elif inspect.isfunction(definition):
            yield from (
                f"{name}.{member}: {parameter} is not described"
                for parameter in _of_method(value, member)
            )


def _of_method(kind: type, member: str) -> list[str]:
    """Return the parameters of a method that no docstring of it describes, in a class or a base.

    One that says "see `Class.method`" leaves them to that place.
    """
    texts = [inspect.getdoc(vars(one)[member]) or "" for one in kind.__mro__ if member in vars(one)]
    if any(re.search(r"[Ss]ee `[\w.]+`", text) for text in texts):
        return []
    return [
        parameter
        for parameter in undescribed(getattr(kind, member))
        if not any(_describes(text, parameter) for text in texts)
    ]


def _describes(text: str, parameter: str) -> bool:
    listed = rf"^\s*(\w+, )*\*{{0,2}}{parameter}(, \w+)*:"
    return re.search(rf"{listed}|`{parameter}\b", text, re.M) is not None


def _of_class(kind: type) -> list[str]:
    """Return the parameters of a class that its docstring, or that of a base, does not describe."""
    texts = [inspect.cleandoc(one.__doc__ or "") for one in kind.__mro__]
    texts += [inspect.getdoc(kind.__init__) or ""]
    return [
        parameter
        for parameter in inspect.signature(kind).parameters
        if not parameter.startswith("_") and not any(_describes(text, parameter) for text in texts)
    ]


def has_example(name: str, value: Any) -> bool:
    """Return whether a name, or a method of a class, has an example that can be run."""
    if any(test.examples for test in _FINDER.find(value, name, globs={})):
        return True
    return inspect.isclass(value) and any(
        ">>> " in (inspect.getdoc(getattr(value, member, None)) or "")
        for member, definition in members_of(value)
        if inspect.isfunction(definition)
    )


def _begins_with_a_sentence(value: Any, *, inherited_by: Any = None) -> bool:
    if isinstance(value, cached_property):
        value = value.func
    text = inspect.getdoc(value) or inspect.getdoc(inherited_by) or ""
    return text.split("\n\n")[0].endswith((".", "`.", ":", "::"))
