"""Search engines: each finds the nearest samples of any samples, with exact orders and ties.

All engines follow the protocol in `engine`, which also has lists that are stored already and the heaps that
keep the smallest pairs (value, sample), and return the same lists, index for index and bit for bit.
`knnccv.neighbors._sources` chooses the engine for each search.

- `brute_force` compares all pairs; `kd_tree` serves few features; `sparse_rows` serves sparse data.
- `matrix_product` proposes neighbors by matrix products in single precision, which are measured again in
  double precision.
"""
