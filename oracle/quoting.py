"""What a target says of itself, as far as a sentence for people takes it.

Guarantees that the text is short, says how much was left out, and can be written in any encoding of Unicode.
"""

from __future__ import annotations

LONGEST_QUOTE = 400
"""Characters; what an allocator's own messages need, slots listed in them included."""


def quote(text: str) -> str:
    """``text`` itself where it is short; of a longer one the beginning and the end, with the number of characters between them."""
    text = encodable(text)
    if len(text) <= LONGEST_QUOTE:
        return text
    half = LONGEST_QUOTE // 2
    return f"{text[:half]} [… {len(text) - 2 * half} characters …] {text[-half:]}"


def encodable(text: str) -> str:
    """``text`` with lone surrogates spelt out (``\\\\ud800``), which are no characters and have no encoding."""
    return text.encode("utf-8", "backslashreplace").decode()
