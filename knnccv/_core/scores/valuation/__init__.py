"""What each sample is worth to a nearest-neighbor rule; `_item_values` has it all."""

from __future__ import annotations

from ._item_values import ItemValues, item_values

__all__ = ["ItemValues", "item_values"]
