"""The compiled code of `knnccv.retrieval`, and the arrays that it reads and fills.

- `tables` names these arrays. `quadrature` has rules of integrals with a certified error, and tables of
  generating functions at their nodes.
- `query` has the items and strata of one query, and puts its wrong items between its right ones.
- `walk` scores one query after the other: `rank_rows` where nothing is random, `walk_rows` elsewhere. What
  a right item adds, and the scores that follow from the sums, are in `sums`. `laws` has laws and generating
  functions of the numbers of drawn items that are nearer.
- `identity_walk` is the walk where identities are random. `trials` draws galleries and scores them.
"""
