"""The table of budget dimensions: every typed declaration and every reader of it agrees."""

from __future__ import annotations

import dataclasses

import msgspec
import pytest

from podium.cli.commands.setup import SETTINGS
from podium.cli.flags import BudgetFlags
from podium.dimensions import DIMENSIONS, RESERVED, SETTABLE, Dimension
from podium.engine.budget import Budget, Scope, amount_of
from podium.engine.events import Charge
from podium.errors import BudgetExhaustedError
from podium.report.view import ViewBudget
from podium.report.words import ceilings
from podium.server.schemas.shared import Budgets, Ceilings
from podium.settings import Settings
from podium.stores.batch import ceilings as columns


def test_every_typed_declaration_names_every_dimension() -> None:
    names, settings = list(DIMENSIONS), list(SETTABLE)
    assert sorted(field.name for field in msgspec.structs.fields(Budget)) == sorted(names)
    assert set(settings) <= {field.name for field in msgspec.structs.fields(Settings)}
    assert [field.name for field in dataclasses.fields(BudgetFlags)] == settings
    assert list(Budgets.model_fields) == [dimension.name for dimension in SETTABLE.values()]
    assert list(Ceilings.model_fields) == names
    assert [field.name for field in msgspec.structs.fields(ViewBudget)] == names
    assert len(columns(Budget())) == len(names)


@pytest.mark.parametrize("dimension", RESERVED, ids=[dimension.name for dimension in RESERVED])
def test_a_charge_counts_against_each_reserved_dimension(dimension: Dimension) -> None:
    index, charge = RESERVED.index(dimension), Charge(usd=3.0, input_tokens=2, output_tokens=3, calls=3)
    spent, amount = getattr(charge, dimension.charge), amount_of(charge)
    assert amount[index] == spent * dimension.scale
    small, large = Budget(**{dimension.name: spent - 1}), Budget(**{dimension.name: spent})
    assert Scope("", small).lacks(amount, closing=False, counting_reserved=False) == index
    assert Scope("", large).lacks(amount, closing=False, counting_reserved=False) == -1
    assert (small.affords(charge), large.affords(charge)) == (False, True)


@pytest.mark.parametrize("name", Charge.__struct_fields__)
def test_charges_add_up_in_every_field(name: str) -> None:
    """A dimension that is left out of the sum would not be enforced after a resume."""
    both = Charge(**{name: 1}) + Charge(**{name: 2})
    assert (getattr(both, name), both == Charge(**{name: 3})) == (3, True)
    assert len(Charge().to_dict()) == len(Charge.__struct_fields__)


def test_settings_and_flags_become_a_budget() -> None:
    wanted = Budget(usd=1.5, tokens=2000, calls=3, seconds=90.0)
    flags = BudgetFlags(max_usd=1.5, max_tokens=2000, max_calls=3, time_limit=90.0)
    assert flags.totals() == wanted
    settings = Settings(max_usd=1.5, max_tokens=2000, max_calls=3, time_limit=90.0)
    assert Budget.from_settings(settings) == wanted
    assert ceilings(wanted.to_dict()) == "$1.50, 2000 tokens, 3 calls, 1m 30s"


def test_only_money_is_limited_when_nothing_else_is() -> None:
    assert Budget(usd=1).limits_only_money
    assert Budget(usd=1, seconds=5, depth=2).limits_only_money
    assert not Budget(usd=1, calls=5).limits_only_money
    assert not Budget().limits_only_money


def test_messages_use_the_words_of_the_table() -> None:
    expected = {
        "usd": "The money budget of the run is used up: $9.00 of $10.00 spent; the next call may take $2.00.",
        "tokens": "The tokens budget of the run is used up: 9 of 10 spent; the next call may take 2.",
        "calls": "The calls budget of the run is used up: 9 of 10 spent.",
        "seconds": "The time budget of the run is used up: 9 s of 10 s spent.",
        "depth": "The depth budget of the run is used up: 9 of 10 spent.",
    }
    for kind, message in expected.items():
        assert BudgetExhaustedError(kind, "", 10, 9, 2).message == message
    assert "The pages budget" in BudgetExhaustedError("pages", "", 1, 1, 0).message  # of a newer version


def test_the_settings_file_of_a_new_project_shows_each_ceiling() -> None:
    for setting, dimension in SETTABLE.items():
        assert f"\n# {setting} = {dimension.example}\n" in SETTINGS
