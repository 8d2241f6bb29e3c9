"""The reference allocators, the vocabulary of operations, the laws and the judge: plain Python and msgspec only."""
