"""What judging would cost if the expensive steps were done as they are written down.

The same texts and records, so that Eddy's figures can be read as ratios taken in one run.
"""

from __future__ import annotations

import io
import re
from typing import Any

import fastavro

from schemas.bundled import latest
from streams.core.domain.topic import Topic

# specification 3.2, as it stands there.
_PATTERNS = [
    (re.compile(pattern, re.IGNORECASE | re.ASCII), replacement)
    for pattern, replacement in (
        (r"\x1b\[[0-9;?]*[A-Za-z]", ""),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"(?:/private)?/(?:tmp|var/tmp|var/folders)/[^\s'\":,;()\[\]]+", "<tmp>"),
        (r"\b0x[0-9a-f]+\b", "<hex>"),
        (r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b", "<hex>"),
        (r"\bline \d+(?=[:,])", "line <n>"),
        (r"\bIn ?\[\d+\]", "In[<n>]"),
        (r"(\.[a-z]{1,6}):\d+(?::\d+)?\b", r"\1:<n>"),
        (r"\b(?:\d+\.\d+ ?(?:ms|s|secs?|seconds?)|\d+ ?ms)\b", "<dur>"),
    )
]
_WORD = re.compile(r"[^\W_]+")
_ENRICHED = latest(f"{Topic.ENRICHED}-value").parsed


def normalised(text: str) -> str:
    """Return the normalised result, pattern after pattern (specification 3.2)."""
    text = text[:4000]
    for pattern, replacement in _PATTERNS:
        text = pattern.sub(replacement, text)
    return " ".join(text.split())


def words(text: str) -> frozenset[str]:
    """Return the tokens of a text (specification 3.3)."""
    return frozenset(_WORD.findall(text[:4000].lower()))


def encoded(enriched: dict[str, Any]) -> bytes:
    """Return an enriched record as fastavro writes it."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, _ENRICHED, enriched)
    return out.getvalue()
