"""The order of the grid.

Write a literal behind each equals sign: a tuple of block indices such as (0, 2), True or False, or a number of bytes.
This file is read, never run, so write 6 and not 2 * 3. The kernels are at the end of the lesson. Steps count from 0.
"""

# matmul_k_last, grid (i, j, k) = (2, 3, 2)
k_last_a_at_7 = None  # which block of a_ref is resident at step 7?
k_last_b_at_5 = None  # which block of b_ref is resident at step 5?
k_last_a_fetched_at_2 = None  # is a block of a_ref fetched for step 2?
k_last_bytes_out = None  # bytes to HBM, whole grid

# matmul_k_first, grid (k, i, j) = (2, 2, 3)
k_first_o_at_6 = None  # which block of o_ref is resident at step 6?
k_first_a_fetched_at_2 = None  # is a block of a_ref fetched for step 2?
k_first_bytes_out = None  # bytes to HBM, whole grid

# bias_by_rows, grid (i, j) = (4, 3), and bias_by_columns, grid (j, i) = (3, 4)
rows_bias_fetched_at_4 = None  # is a block of bias_ref fetched for step 4?
columns_bias_fetched_at_5 = None  # is a block of bias_ref fetched for step 5?
rows_bytes_in = None  # bytes from HBM, whole grid
columns_bytes_in = None  # bytes from HBM, whole grid
