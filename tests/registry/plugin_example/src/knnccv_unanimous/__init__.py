"""The unanimous nearest-neighbor rule, a plugin for knnccv."""

from .rule import Unanimous

__all__ = ["Unanimous"]
