"""Table 1 of Wilson and Martinez (1999): RIB tuned by CVC and LCV."""

from __future__ import annotations
