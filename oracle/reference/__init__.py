"""The reference allocators of the token, paged and hybrid-swa families, written from their contract."""

from oracle.reference.prediction import Reference, make_reference

__all__ = ["Reference", "make_reference"]
