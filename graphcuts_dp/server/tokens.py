"""Tokens: random texts that are shown once and kept as digests.

A token is 32 random bytes, so that one fast digest keeps it: nobody can try them all. Its first
part names the row to compare with; that comparison takes the same time wherever the texts differ.
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass, field
from typing import final

_FORM = re.compile(r"gcdp_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")
_NOBODY = hashlib.sha256(b"nobody").digest()


@final
@dataclass(frozen=True)
class Token:
    """A token that was just made.

    Attributes:
        id: public, names the token in lists and logs.
        text: the secret; it is shown once.
        digest: SHA-256 of the text: what is kept.
    """

    id: str
    text: str = field(repr=False)
    digest: bytes = field(repr=False)

    @classmethod
    def make(cls) -> "Token":
        """A new one, from the operating system's entropy."""
        name = secrets.token_hex(8)
        text = f"gcdp_{name}_{secrets.token_urlsafe(32)}"
        return cls(name, text, digest_of(text))


def id_of(text: str) -> str | None:
    """Which token a text claims to be; None for a text that is none."""
    found = _FORM.fullmatch(text)
    return None if found is None else found[1]


def digest_of(text: str) -> bytes:
    """What is kept of a token, or of another random text."""
    return hashlib.sha256(text.encode()).digest()


def same(text: str, digest: bytes | None) -> bool:
    """Whether a text is the one of this digest; as slow when there is none to compare with."""
    equal = hmac.compare_digest(digest_of(text), _NOBODY if digest is None else digest)
    return equal and digest is not None
