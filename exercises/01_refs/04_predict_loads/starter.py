"""Count the trips.

Write a number behind each equals sign. This file is read, never run: a line is an id and a literal, nothing else.
The kernels are at the end of the lesson; the marked jaxpr shows them as JAX sees them.
"""

# blend: in one grid step, how often is …
blend_x_loads = None  # x_ref loaded?
blend_y_loads = None  # y_ref loaded?
blend_o_loads = None  # o_ref loaded?
blend_o_stores = None  # o_ref stored to?

# total: in its first grid step, where the branch is taken, how often is …
total_o_loads = None  # o_ref loaded?
total_o_stores = None  # o_ref stored to?

# shifted_sum: in one grid step, how often is …
shifted_x_loads = None  # x_ref loaded?
shifted_o_loads = None  # o_ref loaded?
shifted_o_stores = None  # o_ref stored to?
