"""The compiled code of `knnccv.retrieval`, and the arrays that it reads and fills.

- `tables` names these arrays. `quadrature` has rules of integrals with a certified error, `ratios` tables
  of generating functions at their nodes.
- `walk` scores one query after the other. `query` has the items and strata of one, `buckets` puts its wrong
  items between its right ones. Then one of three ways: `ranked` where nothing is random; `alone` where
  nothing ties; otherwise `evaluate`, and `forms` for scores that are given as forms, for every group of
  tied right items.
- Their parts: `nearer` has the generating functions of the wrong items that are nearer, `laws` laws of
  numbers of drawn items, `ties` the times of tied items, `bounds` what may be left out, and `contributions`
  adds one right item to the scores.
- `identity_draw` is the walk where identities are random, `identity_state` what the chosen ones add.
- `trials` draws galleries and scores them.
"""
