"""Table 1 of the technical report of Mullin and Sukthankar: exact accuracy beside random splits."""

from __future__ import annotations
