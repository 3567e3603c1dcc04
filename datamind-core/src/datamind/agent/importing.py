"""A profile out of one file: built aside, looked at, and put in place in one step."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from anyio.to_thread import run_sync

from datamind.agent import holdings
from datamind.agent.builder import build_datamind
from datamind.agent.exporting import BLOBS, CONTROL, KEYS, SETTINGS, SKILLS, portable_settings
from datamind.agent.services import AgentServices, open_profile_control
from datamind.agent.vectors import make_access
from datamind.capabilities.control import moving
from datamind.capabilities.control.repairs import Repair
from datamind.capabilities.kb.vectors import restore_vectors
from datamind.config.profile import Profile, make_folder
from datamind.config.profile_file import write_profile_file
from datamind.config.toml import read_toml
from datamind.core.archive import Archive, ArchivedFile, Manifest, Tell, open_archive
from datamind.core.durable import sync_folder, write_synced
from datamind.core.errors import DataMindError, InputInvalid, NotFound, SourceUnreadable, StoreError
from datamind.core.lock_file import LockFile
from datamind.core.record import Record
from datamind.core.types import DataSurface, is_profile_name
from datamind.plugins import ProviderKind

if TYPE_CHECKING:
    from datamind.config.settings import Settings

_PREFIX: Final = ".import-"
_READY: Final = "ready"
_BLOB: Final = re.compile(rf"{BLOBS}/([0-9a-f]{{2}})/\1[0-9a-f]{{62}}")
_KEY: Final = re.compile(rf"{KEYS}/[0-9a-f]{{32}}\.key")
_READ_ELSEWHERE: Final = re.compile(r"tables/[^/]+\.parquet|graph\.(nq|jsonl)|memories\.jsonl")


class ImportReport(Record):
    """What became of an export.

    Attributes:
        profile: The profile that is there now.
        former: What it was called where it was exported.
        counts: How much each surface holds.
        differences: Where that is not what the export says; empty when the profile is equal.
        notes: What is to be known.
    """

    profile: str
    former: str
    counts: Mapping[str, Mapping[str, int]]
    repairs: tuple[Repair, ...] = ()
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


async def import_profile(
    path: Path | str, settings: Settings, *, profile: str = "", tell: Tell | None = None
) -> ImportReport:
    """Make a profile of a file of ``DataMind.export``.

    Everything is unpacked, verified and filled in a hidden folder beside the profiles first: the profile is there whole
    and synced when this returns, or not at all.

    Args:
        path: The file.
        settings: Where profiles are kept, and how its stores are opened; the file's own settings come after these.
        profile: Its name here; the name it was exported under when left out.
        tell: Called with the bytes done and what is done.

    Raises:
        NotFound: There is no such file.
        InputInvalid: ``.profile_exists``: a profile of that name is there.
        SourceUnreadable: The file is no export, damaged, unsafe, or of another format.
        StoreError: The disk is full, or a store failed.
    """
    base = settings.data.base_dir
    await run_sync(finish_or_clear, base)
    with _opened(Path(path)) as file, open_archive(file, tell) as archive:
        target = Profile(profile or _name_in(archive.manifest), base)
        _refuse_existing(target)
        with _staging(target) as folder:
            staged = Profile(target.name, folder)
            left = await run_sync(_unpack, archive, staged, tell)
            report = await _fill(archive, staged, settings, tell)
            notes = [*left, *await run_sync(_install_keys, archive, settings, folder), *report.notes]
            await run_sync(_put_in_place, folder, target)
    return report.model_copy(update={"notes": tuple(notes)})


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {str(path)[:200]!r}", code="not_found.file") from None
    except OSError as error:
        raise SourceUnreadable(f"{str(path)[:200]!r} cannot be read ({error.strerror})") from None
    with file:
        yield file


def _name_in(manifest: Manifest) -> str:
    if not is_profile_name(manifest.profile):
        raise SourceUnreadable(
            f"the export names no profile ({manifest.profile[:80]!r})",
            code="source_unreadable.damaged_export",
            hint="Give a name with --profile.",
        )
    return manifest.profile


def _refuse_existing(target: Profile) -> None:
    has_data = target.data_dir.is_dir() and any(target.data_dir.iterdir())
    if has_data or target.storage_dir.exists():
        raise InputInvalid(
            f"there is a profile {target.name!r} in {str(target.base_dir)[:200]!r}",
            code="input_invalid.profile_exists",
            hint="Import under another name with --profile.",
        )


@contextmanager
def _staging(target: Profile) -> Iterator[Path]:
    """A hidden folder on the disk of the profiles, gone at the end; its lock tells that its process lives."""
    root = target.storage_dir.parent
    make_folder(root, 0o700)
    folder = root / f"{_PREFIX}{target.name}.{secrets.token_hex(4)}"
    make_folder(folder, 0o700)
    lock = LockFile(folder / "lock")
    lock.try_take()
    try:
        yield folder
    except OSError as error:
        raise StoreError(f"the export cannot be unpacked ({error.strerror or error})") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        lock.let_go()


def _unpack(archive: Archive, staged: Profile, tell: Tell | None) -> list[str]:
    total = sum(file.size for file in archive.manifest.files)
    if shutil.disk_usage(staged.base_dir).free < total:
        raise StoreError(
            f"the disk has no room for {total:,} bytes", code="store_error.disk_full", hint="Free some space."
        )
    staged.ensure()
    names = {file.name for file in archive.manifest.files}
    if CONTROL not in names:
        raise SourceUnreadable("the export holds no control.db", code="source_unreadable.damaged_export")
    done = 0
    for file in archive.manifest.files:
        place = _place_of(file, staged)
        if place is None:  # for other programs; its bytes are verified all the same
            for _ in archive.pieces(file):
                pass
        else:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_synced(place, archive.pieces(file), mode=0o666 if SKILLS in file.name.split("/")[:1] else 0o600)
        done += file.size
        if tell is not None:
            tell(done, file.name)
    moving.check_came(staged.storage_dir / CONTROL)
    return _adopt_settings(staged)


def _place_of(file: ArchivedFile, staged: Profile) -> Path | None:
    first, _, rest = file.name.partition("/")
    if file.name == CONTROL or _BLOB.fullmatch(file.name):
        return staged.storage_dir / file.name
    if first == SKILLS and rest:
        return staged.data_dir / file.name
    if file.name == SETTINGS:
        return staged.base_dir / SETTINGS
    if _KEY.fullmatch(file.name):
        return staged.base_dir / file.name
    if _READ_ELSEWHERE.fullmatch(file.name):
        return None
    raise SourceUnreadable(
        f"the file is no honest export: it holds {file.name[:120]!r}, which an export does not; nothing was unpacked",
        code="source_unreadable.unsafe_export",
    )


def _adopt_settings(staged: Profile) -> list[str]:
    """The file's settings but those that an export never has: whoever made the file does not decide what runs here."""
    kept, dropped = portable_settings(read_toml(staged.base_dir / SETTINGS))
    notes = [f"settings that were not taken: {', '.join(dropped)}"] if dropped else []
    values = {f"{section}.{key}": value for section, table in kept.items() for key, value in table.items()}
    try:
        write_profile_file(staged, values)
    except DataMindError as error:
        write_profile_file(staged, {})
        notes.append(f"the settings of the export do not hold here and were not taken: {error.message}")
    return notes


async def _fill(archive: Archive, staged: Profile, settings: Settings, tell: Tell | None) -> ImportReport:
    former = archive.manifest.profile
    of_staged = settings.for_profile(staged)
    control = open_profile_control(staged, of_staged)
    try:
        await moving.adopt(control, former, archive.digest)
    finally:
        control.close()
    reason = f"imported from profile {former!r}"
    repairs, notes = [], []
    async with await build_datamind(of_staged) as system:
        services = system.services
        for surface in services.on:
            if tell is not None:
                tell(0, f"filling {surface}")
            repair = await services.repairs.rebuild(surface, reason)
            repairs += [repair] if repair else []
        await _fill_kb(services)
        counts = await holdings.counts(services)
        notes += [f"{surface} is off here ({why}): it is filled when it is on" for surface, why in services.off.items()]
        ledger = await run_sync(moving.ledger_counts, services.control.db.path)
    # The audit has one record more: that of the import.
    counts = {"ledger": {**ledger, "audit_records": ledger["audit_records"] - 1}, **counts}
    differences = _differences(archive.manifest.counts, counts)
    return ImportReport(
        profile=staged.name,
        former=former,
        counts=counts,
        repairs=tuple(repairs),
        differences=tuple(differences),
        notes=tuple(notes),
    )


async def _fill_kb(services: AgentServices) -> None:
    if DataSurface.KB in services.off or not services.control.sources.counts_now().get(DataSurface.KB):
        return
    await services.write.kb.reindex()
    await restore_vectors(
        await services.hub.open(ProviderKind.KB_STORE), make_access(services.hub), services.control.vectors
    )
    await services.write.kb.sync()


def _differences(exported: Mapping[str, Mapping[str, int]], here: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    for surface, nouns in exported.items():
        for noun, number in nouns.items():
            held = here.get(surface, {}).get(noun)
            if held is not None and held != number:
                yield f"{surface}: {number:,} {noun} were exported, {held:,} are here"


def _install_keys(archive: Archive, settings: Settings, folder: Path) -> list[str]:
    """Put the audit keys of the export beside those that are here."""
    keys = sorted((folder / KEYS).glob("*.key"))
    if not keys:
        return ["the audit records made elsewhere are chained, and their key is not here: only hashes tell that chain"]
    target = settings.hooks.audit_key
    if target is None:
        return ["the audit keys of the export were not taken: hooks.audit_key names no folder"]
    make_folder(target, 0o700)
    for key in keys:
        place, content = target / key.name, key.read_bytes()
        if not place.exists():
            write_synced(place, content, mode=0o600)
        elif place.read_bytes() != content:
            raise InputInvalid(
                f"another audit key {key.name!r} is in {str(target)!r}",
                code="input_invalid.audit_key",
                hint="Move it away, or export without the key.",
            )
    sync_folder(target)
    return []


def _put_in_place(folder: Path, target: Profile) -> None:
    staged = Profile(target.name, folder)
    _sync_tree(folder)
    make_folder(target.data_dir.parent, 0o777)
    write_synced(folder / _READY, b"")
    sync_folder(folder)
    try:
        _move(staged, target)
    except OSError as error:
        if staged.storage_dir.exists() and not staged.data_dir.exists():
            target.data_dir.rename(staged.data_dir)  # somebody made the storage meanwhile
        raise StoreError(f"the profile cannot be put in place ({error.strerror or error})") from error


def _move(staged: Profile, target: Profile) -> None:
    # The storage comes last: without it there is no profile. A folder that holds something is never replaced.
    if staged.data_dir.exists():
        staged.data_dir.rename(target.data_dir)
        sync_folder(target.data_dir.parent)
    staged.storage_dir.rename(target.storage_dir)
    sync_folder(target.storage_dir.parent)


def finish_or_clear(base_dir: Path) -> list[str]:
    """See to imports whose process died: one that was being put in place is finished, any other is removed.

    Returns what was done, a sentence each. Blocking.
    """
    done = []
    for folder in sorted((base_dir / "storage").glob(f"{_PREFIX}*")):
        lock = LockFile(folder / "lock")
        with suppress(OSError):
            if not folder.is_dir() or not lock.try_take():
                continue
            name = folder.name.removeprefix(_PREFIX).partition(".")[0]
            staged, target = Profile(name, folder), Profile(name, base_dir)
            if (folder / _READY).exists() and staged.storage_dir.is_dir() and not target.storage_dir.exists():
                _move(staged, target)
                done.append(f"the import of profile {name!r} was finished")
            else:
                done.append(f"an import of profile {name!r} that was broken off was removed")
            shutil.rmtree(folder, ignore_errors=True)
            lock.let_go()
    return done


def _sync_tree(folder: Path) -> None:
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            descriptor = os.open(Path(parent) / name, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        sync_folder(Path(parent))
