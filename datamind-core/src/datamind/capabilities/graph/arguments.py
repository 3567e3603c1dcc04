"""What the graph tools take."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from datamind.capabilities.graph.candidates import MAX_CANDIDATES
from datamind.capabilities.graph.sparql_guard import MAX_BYTES

_NAME_CHARS = 2_000


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SearchEntitiesArguments(_Arguments):
    """Which entities to find."""

    query: str = Field(
        min_length=1, max_length=_NAME_CHARS, description="A name or part of one, typing errors included."
    )
    limit: int = Field(10, ge=1, le=50, description="Most entities to return.")


class _WalkArguments(_Arguments):
    direction: Literal["out", "in", "both"] = Field("both", description="From subject to object (out), back, or both.")
    predicates: list[str] = Field(
        default_factory=list, max_length=50, description="Only these relations, by name or IRI; all if empty."
    )


class NeighborsArguments(_WalkArguments):
    """Around which entity."""

    entity: str = Field(min_length=1, max_length=_NAME_CHARS, description="Name or IRI of the entity.")
    limit: int = Field(50, ge=1, le=200, description="Most statements to return.")


class TraverseArguments(_WalkArguments):
    """From where, and how far."""

    start: list[str] = Field(min_length=1, max_length=20, description="Names or IRIs of the entities to start from.")
    hops: int = Field(2, ge=1, le=6, description="How many statements away.")
    fan_out: int = Field(50, ge=1, le=200, description="Most statements of one entity.")
    limit: int = Field(100, ge=1, le=200, description="Most statements in all.")


class PathArguments(_WalkArguments):
    """Between which entities."""

    start: str = Field(min_length=1, max_length=_NAME_CHARS, description="Name or IRI of one entity.")
    goal: str = Field(min_length=1, max_length=_NAME_CHARS, description="Name or IRI of the other.")
    max_hops: int = Field(4, ge=1, le=8, description="Longest path to look for.")


class QueryArguments(_Arguments):
    """A SPARQL query."""

    sparql: str = Field(min_length=1, max_length=MAX_BYTES, description="SELECT, ASK, CONSTRUCT or DESCRIBE.")


class StatsArguments(_Arguments):
    """Nothing to give."""


class ExportArguments(_Arguments):
    """As what."""

    format: str = Field(min_length=1, max_length=20, description="Ending of such a file: ttl, nt, csv and others.")


class TripleArguments(_Arguments):
    """One statement."""

    subject: str = Field(min_length=1, max_length=_NAME_CHARS, description="A plain name, or an IRI.")
    predicate: str = Field(min_length=1, max_length=_NAME_CHARS, description="The relation, such as works_at, or IRI.")
    object: str | int | float | bool = Field(description="An entity's name or IRI; a number; or a value, see below.")
    object_type: Literal["entity", "literal"] | None = Field(
        None, description="literal: the object is a value such as a text or date. Text is an entity when left out."
    )
    datatype: str = Field("", max_length=_NAME_CHARS, description="Of a literal, such as xsd:date.")
    language: str = Field("", max_length=40, description="Of a text literal, such as en.")
    confidence: float = Field(1.0, gt=0, le=1, description="How sure the source is.")
    start: int | None = Field(None, ge=0, description="First character of `text` that says it.")
    end: int | None = Field(None, ge=1, description="End of those characters.")


class UpsertTriplesArguments(_Arguments):
    """Statements, and the text that makes them."""

    triples: list[TripleArguments] = Field(min_length=1, max_length=2_000, description="The statements.")
    text: str = Field("", max_length=1_000_000, description="The text they were read from, where there is one.")


class ImportPathArguments(_Arguments):
    """A file or folder of statements."""

    path: str = Field(min_length=1, max_length=4096, description="Path inside the granted folders.")


class DeleteArguments(_Arguments):
    """What to remove: statements, an entity, or what a source or receipt says."""

    ids: list[str] = Field(default_factory=list, max_length=MAX_CANDIDATES, description="Ids; or one of the others.")
    subject: str = Field("", max_length=_NAME_CHARS, description="Statements with this subject …")
    predicate: str = Field("", max_length=_NAME_CHARS, description="… and this relation …")
    object: str = Field("", max_length=_NAME_CHARS, description="… and this object.")
    entity: str = Field("", max_length=_NAME_CHARS, description="Every statement about this entity.")
    source: str = Field("", max_length=4096, description="What this uri, source id or file name alone says.")
    receipt: str = Field("", max_length=200, description="What this write alone says.")
