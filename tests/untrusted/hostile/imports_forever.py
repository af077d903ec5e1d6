from __future__ import annotations

import time

time.sleep(600)
