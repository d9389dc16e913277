"""What a request says, checked: body and query by pydantic models that refuse unknown names."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from django.conf import settings
from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, ValidationError
from rest_framework.request import Request

from planner.api.errors import InvalidInput, invalid
from planner.api.rendering import TooLarge

PAGE_PARAMETERS = ("limit", "offset", "format")


class Body(BaseModel):
    """The body of a request. Strict as JSON: "5" is no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


Given = TypeVar("Given", bound=BaseModel)


def body(request: Request, model: type[Given]) -> Given:
    """The checked JSON body; raises `InvalidInput` with pointers."""
    data = request.data
    if not isinstance(data, dict):
        raise InvalidInput.of("", detail=_("Give a JSON object."))
    try:
        return model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        raise invalid(error, given=data, model=model) from None


def parameters(request: Request) -> dict[str, str]:
    """The query but for its page parameters; of a repeated one the last counts."""
    found = {name: str(value) for name, value in request.query_params.items() if name not in PAGE_PARAMETERS}
    for name, value in found.items():
        if "\x00" in value:
            raise InvalidInput.of_parameter(name, detail=_("A text cannot hold the character NUL."))
    return found


def query(request: Request, model: type[Given]) -> Given:
    """The checked query; page parameters are `paging`'s."""
    data = parameters(request)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        found = invalid(error, given=data, model=model)
        raise InvalidInput(
            [{"pointer": "", "parameter": row["pointer"].lstrip("/"), "detail": row["detail"]} for row in found.errors]
        ) from None


def form_text(request: Request, name: str) -> str:
    """A text field of a form; "" when it is left out."""
    return str(request.data.get(name, "")) if isinstance(request.data, dict) else ""


def form_flag(request: Request, name: str) -> bool:
    """A field of a form that is true or false; false when it is left out. Raises `InvalidInput` for anything else."""
    text = form_text(request, name).lower()
    if text not in ("true", "false", ""):
        raise InvalidInput.of(f"/{name}", detail=_("Give true or false."))
    return text == "true"


def file_of(request: Request, name: str = "file") -> Any:
    """The uploaded file of a form; raises `InvalidInput` when there is none and `TooLarge` before it is read."""
    found = request.FILES.get(name)
    if found is None:
        raise InvalidInput.of(f"/{name}", detail=_("Send the file as the form field “%(name)s”.") % {"name": name})
    if found.size > settings.UPLOAD_MAX_BYTES:
        raise TooLarge(limit_bytes=settings.UPLOAD_MAX_BYTES)
    return found
