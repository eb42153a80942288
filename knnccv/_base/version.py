"""The version of knnccv."""

__version__ = "0.1.0"
