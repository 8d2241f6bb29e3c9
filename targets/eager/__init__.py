"""Our own torch allocators, one torch operation a step, with the method names of SGLang's.

Written from the contract documents alone, so that a target and the oracle share no mistake by sharing code.
"""
