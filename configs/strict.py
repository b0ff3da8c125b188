"""Pydantic models that refuse unknown keys by name, and errors that say what to change."""

from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from linattn_verify.configs.errors import UsageError, nearest


class Strict(BaseModel):
    """A frozen model in which an unknown key is an error."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


M = TypeVar("M", bound=BaseModel)


def validated(model: type[M], data: Any, where: str) -> M:
    """`data` as a `model`; raises UsageError naming `where`, the key and the nearest valid key."""
    try:
        return model.model_validate(data)
    except ValidationError as error:
        lines = [f"{where}: {_explain(model, item)}" for item in error.errors()]
        raise UsageError("\n".join(lines)) from error


def _explain(model: type[BaseModel], item: Any) -> str:
    location = [str(part) for part in item["loc"]]
    key = ".".join(location)
    if item["type"] == "extra_forbidden":
        known = _fields_at(model, location[:-1])
        close = nearest(location[-1], known)
        hint = f" Did you mean {close!r}?" if close else ""
        return f"unknown key {key!r}.{hint} Known here: {', '.join(sorted(known))}."
    return f"{key or 'the document'}: {item['msg']} (got {item['input']!r:.60})"


def _fields_at(model: type[BaseModel], path: list[str]) -> list[str]:
    for part in path:
        field = model.model_fields.get(part)
        nested = _nested_model(field.annotation) if field else None
        model = nested or model
    return list(model.model_fields)


def _nested_model(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((m for a in get_args(annotation) if (m := _nested_model(a))), None)
