"""Where operation sequences come from, and how a failing one gets short."""
