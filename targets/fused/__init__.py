"""Our own Triton allocators: each allocation and each free is one kernel launch, and the host knows every list's length.

The classes and methods are those of ``targets.eager``; the order of every list is the contract's.
"""
