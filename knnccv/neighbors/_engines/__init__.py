"""Search engines: each finds the nearest samples of any samples, with exact orders and ties.

All engines follow the protocol in `engine` and return the same lists, index for index and bit for bit.
`knnccv.neighbors._sources` chooses the engine for each search.

- `brute_force` compares all pairs; `kd_tree` serves few features; `sparse_rows` serves sparse data.
- `matrix_product` proposes neighbors by matrix products in single precision; `torch_device` does so on a
  GPU; `rerank` measures the proposals again in double precision.
- `stored_lists` has lists that were given or found before.
- `count_nearer` counts nearer samples by class, without lists.
- `bounded_heap` and `bitmask` are compiled parts of the engines.
"""
