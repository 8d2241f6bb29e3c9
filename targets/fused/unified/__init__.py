"""Our Triton allocators over one shared buffer (contract_unified): tables, frees, allocations and page moves as kernels.

Capacity, watermarks and piles' lengths stay host integers, as in the torch allocators that these extend.
"""
