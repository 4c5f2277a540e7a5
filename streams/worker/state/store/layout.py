"""What stands in a database: the values, the time each was written at, and what the store says of itself.

Each value stands behind eight bytes, the time it was written at: its changelog record has the same time, and
a restore takes it from there. It is of this format alone, never of the value.
"""

from __future__ import annotations

import struct

#: The version of the layout of a database. Raised when a database of one layout cannot be read as another.
FORMAT = b"2"

FORMAT_KEY = b"\x00format"
OFFSET_KEY = b"\x00offset"
WRITTEN_KEY = b"\x00written"
CHANGELOG_KEY = b"\x00changelog"
OWN_KEYS = frozenset({FORMAT_KEY, OFFSET_KEY, WRITTEN_KEY, CHANGELOG_KEY})

#: Before each value: when it was written, ms since 1970.
TOUCHED = struct.Struct(">Q")
BEHIND = TOUCHED.size


def is_older(found: bytes) -> bool:
    """Tell whether a database of this format is of an earlier version of Eddy.

    >>> is_older(b"1"), is_older(FORMAT), is_older(b"999"), is_older(b"?")
    (True, False, False, False)
    """
    return found.isdigit() and int(found) < int(FORMAT)
