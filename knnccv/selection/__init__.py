"""Features and prototypes by the exact score.

The complete cross-validation score of a choice of columns has no luck of the split in it, so a search can
compare two choices without noise. The score of the choice that wins is optimistic all the same, since it
was chosen for its score. Results call it the inner score, and estimate the whole procedure by
`screened_cv`, which repeats the choice within every training set.
"""

from __future__ import annotations

__all__: list[str] = []
