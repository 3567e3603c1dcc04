"""A profile as one file: what it rests on, and what it holds in forms that other programs read."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from anyio.to_thread import run_sync

import datamind
from datamind.agent import holdings
from datamind.capabilities.control import moving
from datamind.capabilities.graph.rows import JSONL
from datamind.config.redaction import secrets_in
from datamind.config.toml import format_toml, read_toml
from datamind.core.archive import ArchiveWriter, Manifest, Tell
from datamind.core.errors import InputInvalid, StoreError
from datamind.core.lease import keeping_leases
from datamind.core.new_file import check_free, written_file
from datamind.core.record import Record, now
from datamind.core.types import DataSurface

if TYPE_CHECKING:
    from datamind.agent.facade import DataMind

CONTROL: Final = "control.db"
SETTINGS: Final = "datamind.toml"
SKILLS: Final = "skills"
BLOBS: Final = "blobs"
KEYS: Final = "keys"
DROPPED_SECTIONS: Final = frozenset({"data", "llm", "hooks", "plugins", "logging"})
"""What belongs to a machine, or decides what may be done there: never taken from a file."""

_PIECE: Final = 1024**2
_NQUADS: Final = "application/n-quads"
_UNFIT: Final = re.compile(r'[\\/:*?"<>|%]')
_MAX_NAME_BYTES: Final = 120


class ExportReport(Record):
    """What was exported.

    Attributes:
        path: The file.
        size: Its bytes.
        sha256: Over all of it but its last 64 bytes, which say the same.
        counts: How much each surface holds.
        left_out: What is not in it, and why.
        missing: Stored content that is named and is not there, by hash: damaged or removed before.
    """

    path: str
    profile: str
    size: int
    sha256: str
    counts: Mapping[str, Mapping[str, int]]
    left_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass
class _Export:
    system: DataMind
    out: ArchiveWriter
    with_audit_key: bool
    left_out: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)

    async def run(self, scratch: Path) -> Mapping[str, Mapping[str, int]]:
        services = self.system.services
        copy = scratch / CONTROL
        receipts = await services.control.receipts.count()
        await run_sync(moving.copy_now, services.control.db.path, copy)
        await run_sync(self._add_file, CONTROL, copy)
        await run_sync(self._add_blobs, copy)
        await run_sync(self._add_skills)
        await run_sync(self._add_settings)
        await self._add_keys()
        counts = {"ledger": await run_sync(moving.ledger_counts, copy), **await holdings.counts(services)}
        if DataSurface.MEMORY in services.on:
            await self._add_memories()
        if DataSurface.GRAPH in services.on:
            await self._add_graph()
        if DataSurface.DB in services.on:
            await self._add_tables(scratch)
        if await services.control.receipts.count() != receipts:
            self.left_out.append("what was written while this was exported: an import has what was there before")
        self.left_out += [f"{surface} as a file of its own: {reason}" for surface, reason in services.off.items()]
        self.left_out.append("global memories: they belong to every profile of a machine")
        return counts

    def _add_file(self, name: str, path: Path) -> None:
        self.out.add(name, _pieces(path))

    def _add_blobs(self, copy: Path) -> None:
        folder = self.system.profile.storage_dir / BLOBS
        for blob in moving.blobs_of(copy):
            path = folder / blob.content_hash[:2] / blob.content_hash
            if path.is_file() and path.stat().st_size == blob.size:
                added = self.out.add(f"{BLOBS}/{blob.content_hash[:2]}/{blob.content_hash}", _pieces(path))
                if added.sha256 == blob.content_hash:
                    continue
            self.missing.append(blob.content_hash)

    def _add_skills(self) -> None:
        folder = self.system.profile.data_dir / SKILLS
        if folder.is_symlink() or not folder.is_dir():
            return
        for path in sorted(folder.rglob("*")):
            name = f"{SKILLS}/{path.relative_to(folder).as_posix()}"
            if path.is_symlink() or any(parent.is_symlink() for parent in path.relative_to(folder).parents):
                self.left_out.append(f"{name}: it is a link")
            elif path.is_file():
                if not name.isprintable() or set(name) & set("\\:"):
                    self.left_out.append(f"{name!r}: not every system can hold its name")
                else:
                    self._add_file(name, path)

    def _add_settings(self) -> None:
        kept, dropped = portable_settings(read_toml(self.system.profile.settings_file))
        if kept:
            self.out.add(SETTINGS, [format_toml(kept).encode()])
        if dropped:
            self.left_out.append(f"settings that belong to this machine or are secret: {', '.join(dropped)}")

    async def _add_keys(self) -> None:
        control = self.system.services.control
        if not self.with_audit_key:
            self.left_out.append("the key of the audit chain (--with-audit-key takes it along)")
            return
        for name in await moving.audit_keys(control.db):
            path = control.audit.key_file(name)
            if path.is_file():
                await run_sync(self._add_file, f"{KEYS}/{name}.key", path)
            else:
                self.left_out.append(f"an audit key that is not here: {name}.key")

    async def _add_memories(self) -> None:
        with self.out.entry("memories.jsonl") as write:
            async for item in holdings.memories(self.system.services):
                write(item.model_dump_json().encode() + b"\n")

    async def _add_graph(self) -> None:
        graph = self.system.services.read.graph
        name, pieces = "graph.nq", graph.export(_NQUADS)
        try:
            first = await anext(pieces, b"")
        except InputInvalid:  # a store that does not know the format
            name, pieces = "graph.jsonl", graph.export(JSONL)
            first = await anext(pieces, b"")
        with self.out.entry(name) as write:
            write(first)
            async for piece in pieces:
                write(piece)

    async def _add_tables(self, scratch: Path) -> None:
        services = self.system.services
        if not holdings.keeps_tables(services):
            self.left_out.append("tables: they lie on the server of db.dsn")
            return
        if find_spec("pyarrow") is None:
            self.left_out.append("tables as parquet: pyarrow is not installed (their files and writes are in it)")
            return
        for table in await services.read.db.tables():
            path, name = scratch / "table.parquet", f"tables/{self._file_name(table.name)}"
            await _write_parquet(self.system, table, path)
            await run_sync(self._add_file, name, path)
            self.tables[name] = table.name

    def _file_name(self, table: str) -> str:
        fit = "".join(
            char if char.isprintable() and not _UNFIT.match(char) else f"%{ord(char):02X}" for char in table
        ).lstrip(".")
        cut = fit.encode()[:_MAX_NAME_BYTES].decode(errors="ignore") or "table"
        taken = {name.casefold() for name in self.tables}
        number, found = 1, f"{cut}.parquet"
        while f"tables/{found}".casefold() in taken:
            number += 1
            found = f"{cut}-{number}.parquet"
        return found


async def _write_parquet(system: DataMind, table: Any, path: Path) -> None:
    as_text: frozenset[str] = frozenset()
    while True:
        pages = await run_sync(lambda texts: holdings.ParquetPages(str(path), table.columns, texts), as_text)
        unfit = ""
        async for page in holdings.table_pages(system.services, table.name):
            unfit = unfit or await run_sync(pages.add, page)
            if unfit:
                break
        await run_sync(pages.close)
        if not unfit:
            return
        as_text |= {unfit}


async def export_profile(
    system: DataMind, path: Path, *, replace: bool = False, with_audit_key: bool = False, tell: Tell | None = None
) -> ExportReport:
    """Write the profile to one file; see ``DataMind.export``."""
    target, profile = await run_sync(Path(path).absolute), system.profile
    check_free(target, replace=replace)
    async with keeping_leases(), system.services.hub.lease.use():
        with tempfile.TemporaryDirectory(prefix=".export-", dir=profile.storage_dir) as scratch:
            _check_space(profile.storage_dir)
            with written_file(target, replace=replace) as file:
                export = _Export(system, ArchiveWriter(file, tell), with_audit_key)
                counts = await export.run(Path(scratch))
                manifest = Manifest(
                    format=1,
                    product=datamind.__version__,
                    profile=profile.name,
                    exported_at=now(),
                    counts=counts,
                    tables=export.tables,
                    left_out=tuple(export.left_out),
                )
                await run_sync(export.out.close, manifest)
    return ExportReport(
        path=str(target),
        profile=profile.name,
        size=target.stat().st_size,
        sha256=export.out.digest,
        counts=counts,
        left_out=tuple(export.left_out),
        missing=tuple(export.missing),
    )


def portable_settings(tables: Mapping[str, Any]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Of a profile file what may go to another machine, and the keys of the rest."""
    kept: dict[str, dict[str, Any]] = {}
    dropped: list[str] = []
    for section, table in tables.items():
        for key, value in table.items() if isinstance(table, Mapping) else ():
            if section in DROPPED_SECTIONS or any(secrets_in(key, value)) or _names_a_place(key, value):
                dropped.append(f"{section}.{key}")
            else:
                kept.setdefault(section, {})[key] = value
    return kept, dropped


def _names_a_place(key: str, value: Any) -> bool:
    """A folder or an address: another one there."""
    if isinstance(value, Mapping):
        return any(_names_a_place(name, item) for name, item in value.items())
    if isinstance(value, list | tuple):
        return any(_names_a_place(key, item) for item in value)
    return isinstance(value, str) and (value.startswith(("/", "~", "\\", "..")) or "://" in value or "_dir" in key)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _check_space(folder: Path) -> None:
    needed = (folder / CONTROL).stat().st_size
    if shutil.disk_usage(folder).free < 2 * needed:
        raise StoreError(
            f"the disk has no room for a copy of control.db ({needed:,} bytes)",
            code="store_error.disk_full",
            hint="Free some space and try again.",
        )
