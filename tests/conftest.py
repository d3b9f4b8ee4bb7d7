"""What every test has in common: a machine of its own, where no run and no setting of the person lies."""

from __future__ import annotations

import os
import tempfile

from hypothesis import settings

# The default store and the person's own podium.toml are found through these, also by subprocesses.
_home = tempfile.TemporaryDirectory(prefix="podium-tests-")
for _name in [name for name in os.environ if name.startswith("PODIUM_")]:
    del os.environ[_name]
os.environ["XDG_DATA_HOME"] = os.environ["XDG_CONFIG_HOME"] = _home.name

# How long an example takes says nothing on a busy machine.
settings.register_profile("podium", deadline=None, print_blob=True)
settings.load_profile("podium")
