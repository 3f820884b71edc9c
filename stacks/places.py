"""Where a value lies in a file, and what its model says of it there."""

from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from pydantic import BaseModel, Tag
from pydantic.fields import FieldInfo

Location = tuple[int | str, ...]
"""Keys and list positions from the top of a file to a value."""

KEY = "[key]"
"""What pydantic adds to a location whose key, not its value, is wrong."""


class Place(NamedTuple):
    """One location of a model.

    Attributes:
        at: The location in the file, which does not name the member of a union as pydantic does.
        kind: The type of the value there; of the key where that is meant; None where the model has none.
        above: The type of what holds it.
        field: The nearest field on the way there.
        unions: Values on the way, or the value itself, of which pydantic tried several types.
    """

    at: Location
    kind: Any
    above: Any
    field: FieldInfo | None
    unions: tuple[Location, ...]


def written(tree: object, at: Location) -> object:
    """Return what stands at a place below mappings, in whatever a person wrote; None where nothing does."""
    for key in at:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def place(model: type[BaseModel], at: Location, *, in_file: bool = True) -> Place:
    """Return the place of a location in a file, or of one that pydantic names."""
    here = Place((), model, None, None, ())
    for part in at:
        members = several(here.kind)
        if part == KEY and not in_file:
            here = here._replace(kind=get_args(_bare(here.above))[0])
        elif members and not in_file:
            here = _member(here, members, part)
        else:
            here = _below(here._replace(kind=_holder(members, part)) if members else here, part)
    return here


def several(kind: object) -> tuple[Any, ...]:
    """Return the types that a value may have, None left out; empty where it is only one."""
    bare = _bare(kind)
    if get_origin(bare) not in {Union, UnionType}:
        return ()
    members = tuple(each for each in get_args(bare) if each is not type(None))
    return members if len(members) > 1 else several(members[0])


def keys(kind: object) -> list[str]:
    """Return the keys of a model."""
    model = _model(kind)
    return list(model.model_fields) if model else []


def required(kind: object) -> list[str]:
    """Return the keys of a model that must be there."""
    model = _model(kind)
    return [name for name, field in model.model_fields.items() if field.is_required()] if model else []


def homes(model: type[BaseModel], key: str) -> list[str]:
    """Return the places of a model that have such a key, as a person writes them: `machines.hosts[].disk`."""
    return list(dict.fromkeys(_homes(model, key, "")))


def _homes(kind: object, key: str, path: str) -> Iterator[str]:
    for member in several(kind) or (kind,):
        if _is_list(member):
            yield from _homes(get_args(_bare(member))[0], key, f"{path}[]")
        elif model := _model(member):
            for name, field in model.model_fields.items():
                at = f"{path}.{name}" if path else name
                yield from [at] if name == key else _homes(field.annotation, key, at)


def said(kind: object) -> str | None:
    """Return how a type itself describes what belongs there."""
    if get_origin(kind) is Annotated:
        texts = (each.description for each in get_args(kind)[1:] if isinstance(each, FieldInfo))
        return next(filter(None, texts), None)
    return None


def words(kind: object) -> Iterator[str]:
    """Yield what a value may be, in words."""
    bare = _bare(kind)
    if members := several(kind):
        yield from dict.fromkeys(word for member in members for word in words(member))
    elif text := said(kind):
        yield text
    elif get_origin(bare) is Literal:
        yield from map(str, get_args(bare))
    else:
        yield _WORDS.get(get_origin(bare) or bare, "a mapping of keys")


_WORDS = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
}


def _member(here: Place, members: Sequence[Any], name: int | str) -> Place:
    """Return the same place as the member of a union that pydantic names; unless a tag tells which it is."""
    for member in members:
        if name in _tags(member):
            return here._replace(kind=member)
    named = next((each for each in members if _named(each, str(name))), None)
    return here._replace(kind=named, unions=(*here.unions, here.at))


def _named(member: object, name: str) -> bool:
    if _is_list(member) or _is_mapping(member):
        return name.startswith(("list[", "tuple[") if _is_list(member) else "dict[")
    return getattr(_bare(member), "__name__", None) == name


def _tags(member: object) -> set[Any]:
    tags = {each.tag for each in get_args(member)[1:] if isinstance(each, Tag)}
    model = _model(member)
    fields = model.model_fields.values() if model else ()
    return tags.union(
        *(get_args(each.annotation) for each in fields if get_origin(each.annotation) is Literal)
    )


def _holder(members: Sequence[Any], part: int | str) -> Any:
    """Return the member that can hold such a key."""
    if isinstance(part, int):
        return next(filter(_is_list, members), None)
    return next((each for each in members if part in keys(each)), None) or next(
        (each for each in members if _is_mapping(each)), None
    )


def _below(here: Place, part: int | str) -> Place:
    kind, arguments = _bare(here.kind), get_args(_bare(here.kind))
    at = (*here.at, part)
    if model := _model(kind):
        field = model.model_fields.get(str(part))
        return Place(at, field.annotation if field else None, kind, field, here.unions)
    value = arguments[-1] if _is_mapping(kind) else arguments[0] if _is_list(kind) else None
    return Place(at, value, kind, here.field, here.unions)


def _bare(kind: Any) -> Any:
    """Return a type without what is annotated, and without the None that it may be instead."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    if get_origin(kind) in {Union, UnionType}:
        members = [each for each in get_args(kind) if each is not type(None)]
        return _bare(members[0]) if len(members) == 1 else kind
    return kind


def _model(kind: object) -> type[BaseModel] | None:
    bare = _bare(kind)
    return bare if isinstance(bare, type) and issubclass(bare, BaseModel) else None


def _is_list(kind: object) -> bool:
    return get_origin(_bare(kind)) in {list, tuple}


def _is_mapping(kind: object) -> bool:
    return get_origin(_bare(kind)) in {dict, Mapping}
