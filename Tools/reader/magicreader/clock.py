"""Stamps (clock.md)."""
from __future__ import annotations

from .cursor import FormatError

TICKS = 1 << 16  # C-1: stamps in a millisecond
LAST_MILLISECOND = 253_402_300_799_999
HOUR = 3_600_000
HIGHEST_STAMP = LAST_MILLISECOND * TICKS + TICKS - 1  # C-4


class ClockError(Exception):
    """There is no stamp left (C-4)."""


def next_stamp(last: int, now: int) -> int:
    """The stamp after `last` at `now`, in milliseconds since 1970."""
    stamp = max(usable_time(now) * TICKS, last + 1)  # C-2
    if stamp > HIGHEST_STAMP:
        raise ClockError(f"no stamp is left after {last}")
    return stamp


def is_too_early(stamp: int, now: int) -> bool:
    """Whether a stamp of another replica is to wait (C-5).

    The measure is the time of day as it was when the pull began: this reader starts every pull
    with nothing, so its *last* is 0 and never the higher of the two.
    """
    return stamp // TICKS - usable_time(now) > HOUR


def usable_time(now: int) -> int:
    return min(max(now, 0), LAST_MILLISECOND)  # C-4


def checked_stamp(stamp: int, offset: int) -> int:
    if stamp > HIGHEST_STAMP:
        raise FormatError(f"stamp {stamp} is over the limit", offset)  # C-4
    return stamp
