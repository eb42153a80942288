"""Figures 2 to 4 of Kanagawa (2024): leave-one-out by an identity."""

from __future__ import annotations
