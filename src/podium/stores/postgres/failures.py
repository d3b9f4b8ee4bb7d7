"""What PostgreSQL says, in words for people."""

from __future__ import annotations

from psycopg import Error, InterfaceError, OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DiskFull, InsufficientPrivilege, UndefinedTable

from podium.errors import StoreAwayError, StoreError, StoreFullError, UsageError

_TOO_MANY_CONNECTIONS = "53300"
_REFUSAL = "FATAL:"
_NOT_NOW = (
    "starting up",
    "shutting down",
    "not yet accepting",
    "recovery mode",
    "too many clients",
    "slots are reserved",
)
"""What a server says that will let everybody in a moment later. The code of it is not told to clients."""


def check_address(url: str) -> None:
    """Refuse an address that PostgreSQL would not understand, or not as it was meant: what PostgreSQL says of
    it itself may hold a part of a password."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
        ports = parts.get("port", "").split(",")
        misread = "@" in parts.get("host", "") + parts.get("dbname", "")
        misread = misread or not all(port.isdecimal() for port in ports if port)
    except Error:
        misread = True
    if misread:
        raise UsageError(
            "The address of the store cannot be read.",
            hint="Write it as postgresql://USER:PASSWORD@HOST/DATABASE, and in a password %40 for @, "
            "%2F for /, %3A for :, %3F for ? and %25 for %.",
        )


def is_lost(error: BaseException) -> bool:
    """The connection is gone or the server is not there (yet); what was asked may or may not be done."""
    state = getattr(error, "sqlstate", None) or ""
    if state:
        return state.startswith(("08", "57P")) or state == _TOO_MANY_CONNECTIONS
    return isinstance(error, (OperationalError, InterfaceError, OSError))


def is_undone(error: BaseException) -> bool:
    """The server has taken everything back because of what others did at the same time: try again."""
    return (getattr(error, "sqlstate", None) or "").startswith("40")


def explain(error: BaseException, where: str) -> StoreError:
    """The error that a caller sees: one sentence, and what to do about it."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, DiskFull):
        explained: StoreError = StoreFullError(
            f"There is no space left for the store {where}.", hint="Make room there, then resume the run."
        )
    elif isinstance(error, InsufficientPrivilege):
        explained = StoreError(
            f"The user of the store {where} may not do this.", hint="Give it rights on the schema."
        )
    elif isinstance(error, UndefinedTable):
        explained = StoreError(f"{where} is no Podium store.", hint="Make it one with `podium migrate`.")
    elif _REFUSAL in _said(error) and not any(words in _said(error) for words in _NOT_NOW):
        said = _said(error).rpartition(_REFUSAL)[2].strip()
        explained = StoreError(
            f"The store {where} cannot be opened: {said}.", hint="Look at its user, password and database."
        )
    elif is_lost(error):
        explained = StoreAwayError(
            f"The store {where} cannot be reached: {_said(error)}.", hint="Is PostgreSQL running there?"
        )
    else:
        explained = StoreError(f"The store {where} failed: {_said(error)}.")
    explained.__cause__ = error
    return explained


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
