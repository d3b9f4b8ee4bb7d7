"""What PostgreSQL says, in words for people; and its address without the password."""

from __future__ import annotations

from psycopg import Error, InterfaceError, OperationalError
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DiskFull, InsufficientPrivilege, InvalidPassword, UndefinedTable

from podium.errors import StoreError, StoreFullError, UnknownRunError


def unknown(run_id: str) -> UnknownRunError:
    return UnknownRunError(f"There is no run {run_id} in this store.", hint="`podium runs` lists them.")


def shown(url: str) -> str:
    """Where a database is, for people: never with a password."""
    try:
        parts = conninfo_to_dict(url)
    except Error:
        return "postgresql://…"
    user = f"{parts['user']}@" if parts.get("user") else ""
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"postgresql://{user}{parts.get('host', '')}{port}/{parts.get('dbname', '')}"


def is_lost(error: BaseException) -> bool:
    """The connection is gone or the server is not there (yet); what was asked may or may not be done."""
    if isinstance(error, (InvalidPassword, DiskFull)):
        return False
    state = getattr(error, "sqlstate", None) or ""
    if state:
        return state.startswith(("08", "57P"))
    return isinstance(error, (OperationalError, InterfaceError, OSError))


def explain(error: BaseException, where: str) -> StoreError:
    """The error that a caller sees: one sentence, and what to do about it."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, DiskFull):
        explained: StoreError = StoreFullError(
            f"There is no space left for the store {where}.", hint="Make room there, then resume the run."
        )
    elif isinstance(error, InvalidPassword):
        explained = StoreError(
            f"The store {where} refuses the user or the password.", hint="Look at the address of the store."
        )
    elif isinstance(error, InsufficientPrivilege):
        explained = StoreError(
            f"The user of the store {where} may not do this.", hint="Give it rights on the schema."
        )
    elif isinstance(error, UndefinedTable):
        explained = StoreError(f"{where} is no Podium store.", hint="Make it one with `podium migrate`.")
    elif is_lost(error):
        explained = StoreError(
            f"The store {where} cannot be reached: {_said(error)}.", hint="Is PostgreSQL running there?"
        )
    else:
        explained = StoreError(f"The store {where} failed: {_said(error)}.")
    explained.__cause__ = error
    return explained


def _said(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")
