"""The serving simulator: a seeded scheduler that turns serving patterns into traces of the common operations."""
