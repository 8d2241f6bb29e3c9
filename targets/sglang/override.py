"""What a person says about the contract of a checkout: a TOML file that outranks what ``recognise`` made of it.

    release = "0.5.19"            # the release to start from; left out: the one that was recognised

    [hybrid-swa]                  # a family, with fields of oracle.contract.Contract
    nested_begin = "refused"

Guarantees that a file with anything unknown in it is refused with one sentence that names it, and that each override is said
again in the notes of the target.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from oracle.contract import Contract
from oracle.errors import UsageError
from oracle.geometry import ALL_FAMILIES
from targets.sglang.contracts import contract_for_version
from targets.sglang.recognise import Recognition
from targets.sglang.releases import NEWEST, RELEASES

FILE_NAME = "kvoracle.toml"


class Override(msgspec.Struct, frozen=True):
    """The content of one file: the release to start from (None: not said), and the fields by family."""

    file: Path
    release: str | None
    fields: dict[str, dict[str, Any]]


def find_override(checkout: Path) -> Path | None:
    """``kvoracle.toml`` in the folder that a person named as the checkout, else beside it, None where there is neither."""
    for file in (checkout / FILE_NAME, checkout.resolve().parent / FILE_NAME):
        if file.is_file():
            return file
    return None


def read_override(path: Path) -> Override:
    """Read the file; its fields are checked by name here and by value in ``overridden``.

    Raises:
        UsageError: it cannot be read, is no TOML, or names a release, a family or a field that does not exist.
    """
    try:
        content = msgspec.toml.decode(path.read_bytes())
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise UsageError(f"{path} cannot be read as a contract: {error}") from error
    release = content.pop("release", None)
    if release is not None and release not in RELEASES:
        raise UsageError(
            f"{path}: release = {release!r} is not among {RELEASES[0]} to {NEWEST}: name one of those"
        )
    for family, fields in content.items():
        _check_name(path, family, ALL_FAMILIES, "family")
        if not isinstance(fields, dict):
            raise UsageError(f"{path}: {family} is no table: write [{family}] and its fields below")
        for name in fields:
            _check_name(path, name, Contract.__struct_fields__, "field of a contract")
    return Override(path, release, content)


def overridden(recognition: Recognition, override: Override) -> Recognition:
    """The recognition with what the file says put in its place, and a note for each change.

    Raises:
        UsageError: a value that its field cannot have.
    """
    version = override.release or recognition.version
    notes = list(recognition.notes)
    if override.release is not None:
        notes.append(f"{override.file} says to start from the contract of SGLang {version}")
    contracts = {}
    for family, recognised in recognition.contracts.items():
        contract = recognised
        if override.release is not None:
            row = contract_for_version(
                version, family, power_of_two_pages=recognised.power_of_two_pages
            )
            # An older release may be named than any that has the unified families.
            contract = recognised if row is None else row
        fields = override.fields.get(family, {})
        contracts[family] = _with_fields(override.file, family, contract, fields)
        notes += [f"{override.file} says {family}.{name} = {fields[name]!r}" for name in fields]
    return Recognition(version, contracts, tuple(notes))


def _with_fields(file: Path, family: str, contract: Contract, fields: dict[str, Any]) -> Contract:
    try:
        return msgspec.convert({**msgspec.to_builtins(contract), **fields}, Contract)
    except msgspec.ValidationError as error:
        raise UsageError(f"{file}: [{family}] is no contract: {error}") from error


def _check_name(path: Path, name: str, known: tuple[str, ...], what: str) -> None:
    if name in known:
        return
    close = get_close_matches(name, known, n=1)
    advice = f"did you mean {close[0]}?" if close else f"use one of {', '.join(known)}"
    raise UsageError(f"{path}: {name} is no {what}: {advice}")
