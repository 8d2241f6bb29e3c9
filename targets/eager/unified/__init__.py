"""Our torch allocators over one shared buffer: two pools, three pools, FULL with states (contract_unified).

Device tensors hold tables, ids and holes; everything that capacity depends on is a host integer.
"""
