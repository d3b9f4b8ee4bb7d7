"""Every route, one file a subject."""

from podium.server import (
    addresses as addresses,  # the kinds of names that routes speak of have to be known first
)
