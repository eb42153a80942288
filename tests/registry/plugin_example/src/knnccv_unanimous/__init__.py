"""The unanimous nearest-neighbor rule, a plugin of knnccv."""

from .rule import Unanimous

__all__ = ["Unanimous"]
