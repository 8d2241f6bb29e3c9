"""The passes of the reducer: each makes the best trace simpler in one way."""
