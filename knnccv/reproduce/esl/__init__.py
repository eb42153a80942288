"""The Elements of Statistical Learning: screening, K by cross-validation, decision maps."""

from __future__ import annotations
