"""Our row layer: what the callers of an allocator do with the row of one request (contract_paged_swa §11).

It works on any allocator with the method names of SGLang's hybrid ones, and keeps nothing between two calls.
"""
