"""An environment that fails in its second step."""

from __future__ import annotations

import ludus
from ludus.testing import FaultyEnv

ludus.register("Failing-v0", entry_point=FaultyEnv, kwargs={"at_step": 2})
