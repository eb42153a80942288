"""Tables 2 and 3 of Mullin and Sukthankar (ICML 2000)."""

from __future__ import annotations
