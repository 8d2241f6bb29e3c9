"""Instruments that see what a call costs: host syncs, shapes that depend on values, kernel launches."""
