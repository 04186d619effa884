"""The default sampler on a GPU: kernels in CUDA C (`source/`), and what starts them."""
