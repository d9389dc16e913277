"""What a file of ``launch/`` may hold: the documented options of a program that runs a design."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from planner.catalog.figure_schema import Content, Date, Slug, Word
from planner.core.launch import Option, OptionType, Place, Program

LAUNCH = "launch"
"""The folder; it holds no entries: an estimate does not read it."""

_Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
_Flag = Annotated[str, Field(min_length=1, max_length=120)]
_Version = Annotated[str, Field(pattern=r"^(\d+(\.\d+)*)?$")]


class DocumentContent(Content):
    """A page of documentation, and when it was read."""

    url: Annotated[str, Field(pattern=r"^https://[^\s]+$", max_length=300)]
    as_of: Date


class OptionContent(Content):
    """One option; ``source`` names one of the file's documents."""

    name: _Name
    flag: _Flag
    type: OptionType
    source: _Name
    place: Place = "argument"
    choices: list[str | int] = Field(default_factory=list)
    least: float | None = None
    most: float | None = None
    spelled: dict[str, str] = Field(default_factory=dict)
    since: _Version = ""
    until: _Version = ""

    @model_validator(mode="after")
    def _bounds_are_of_numbers(self) -> OptionContent:
        if (self.least is not None or self.most is not None) and self.type not in ("int", "float"):
            raise ValueError("only a number has bounds")
        return self


class ProgramContent(Content):
    slug: Slug
    name: Word
    version: _Version = ""
    command: list[Word] = Field(default_factory=list)
    image: Annotated[str, Field(max_length=120)] = ""
    source: _Name
    documents: dict[_Name, DocumentContent]
    needs: dict[_Name, _Name] = Field(default_factory=dict)
    vendors: list[Word] = Field(default_factory=list)
    options: Annotated[list[OptionContent], Field(min_length=1)]

    @model_validator(mode="after")
    def _sources_are_listed(self) -> ProgramContent:
        for name in (self.source, *(option.source for option in self.options)):
            if name not in self.documents:
                raise ValueError(f"there is no document “{name}”")
        names = [option.name for option in self.options]
        if len(names) != len(set(names)):
            raise ValueError("an option is listed twice")
        return self

    def plain(self) -> Program:
        return Program(
            slug=self.slug,
            name=self.name,
            version=self.version,
            command=tuple(self.command),
            image=self.image,
            source=self.documents[self.source].url,
            as_of=self.documents[self.source].as_of,
            options={option.name: self._option(option) for option in self.options},
            needs=self.needs,
            vendors=tuple(self.vendors),
        )

    def _option(self, option: OptionContent) -> Option:
        document = self.documents[option.source]
        return Option(
            name=option.name,
            flag=option.flag,
            type=option.type,
            place=option.place,
            source=document.url,
            as_of=document.as_of,
            choices=tuple(option.choices),
            least=option.least,
            most=option.most,
            spelled=option.spelled or None,
            since=option.since,
            until=option.until,
        )
