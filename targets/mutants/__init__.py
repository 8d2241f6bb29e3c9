"""Our allocators with one fault each, to test whether the suite finds it."""
