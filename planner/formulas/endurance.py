"""Writes to an SSD tier and how long its drives last."""

from __future__ import annotations

import math

DAY_S = 86_400.0
RATED_YEARS = 5.0
"""Warranty that drive writes per day are stated for."""
SEQUENTIAL_AMPLIFICATION = 1.1
"""Estimate: extents of a megabyte and more, trimmed as a whole."""
RANDOM_AMPLIFICATION = 3.0
"""Estimate: small writes all over a drive that is nearly full."""
SEQUENTIAL_OPTIMISM = 5.0
"""Ratings assume random 4 KiB writes; vendors list 5.2 to 5.7 times as much for sequential ones (P4510 2,054 and 11,339
TBW, PM983 1,367 and 7,854, 9300 8,400 and 43,980)."""


def write_through_bytes_per_s(turns_per_s: float, *, new_tokens: float, kv_bytes_per_token: float) -> float:
    """Bytes written when each token is written once, as it is computed.

    Parameters
    ----------
    turns_per_s : [1/s]
    new_tokens : of a turn, prompt and answer, not in the pool before [tokens]
    kv_bytes_per_token : [B]

    Notes
    -----
    lambda n kv. Deduplicated by block hash. Writing a whole context each turn takes ``context / new_tokens`` times as
    much (pass the context as ``new_tokens``).

    References
    ----------
    R. Qin et al., "Mooncake: Trading More Storage for Less Computation", FAST 2025 (incremental store of new blocks).

    >>> write_through_bytes_per_s(100.0, new_tokens=1000.0, kv_bytes_per_token=160e3)
    16000000000.0
    """
    return turns_per_s * new_tokens * kv_bytes_per_token


def write_back_bytes_per_s(
    write_through_bytes_per_s: float, *, admitted_share: float, moved_again: float = 0.0
) -> float:
    """Bytes written when entries are written as they leave the tier before, if they are let in.

    Parameters
    ----------
    write_through_bytes_per_s : the same load written at once [B/s]
    admitted_share : of the evicted bytes that the filter lets in; 1 without a filter [1]
    moved_again : writes of entries that had been read back and left once more, as a share of the new bytes [1]

    Notes
    -----
    W (a + p). Without a filter nothing is saved: every session ages out in the end, so every token is written once;
    exclusive tiers write what they promoted once more.

    References
    ----------
    B. Berg et al., "The CacheLib Caching Engine: Design and Experiences at Scale", OSDI 2020, section 4 (admission to
    flash).

    >>> write_back_bytes_per_s(16e9, admitted_share=0.6)
    9600000000.0
    """
    return write_through_bytes_per_s * (admitted_share + moved_again)


def unwritten_bytes(bytes_per_s: float, *, delay_s: float) -> float:
    """Bytes that exist in one place only: what a crash loses, and what other nodes cannot read yet.

    Notes
    -----
    L = lambda W: rate of new bytes times the time until they are written.

    References
    ----------
    J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9(3), 1961.

    >>> unwritten_bytes(16e9, delay_s=2.0)
    32000000000.0
    """
    return bytes_per_s * delay_s if bytes_per_s > 0 else 0.0


def drive_writes_per_day(bytes_per_s: float, *, capacity_bytes: float) -> float:
    """How often the load writes the whole capacity in a day; infinite without capacity.

    Notes
    -----
    86,400 w / C.

    References
    ----------
    JEDEC, "Solid-State Drive (SSD) Requirements and Endurance Test Method", JESD218B, 2016 (terabytes written).

    >>> drive_writes_per_day(16e9, capacity_bytes=960e12)
    1.44
    """
    if bytes_per_s <= 0:
        return 0.0
    return DAY_S * bytes_per_s / capacity_bytes if capacity_bytes > 0 else math.inf


def endurance_years(
    writes_per_day: float,
    *,
    rated_writes_per_day: float,
    amplification: float = 1.0,
    rated_amplification: float = 1.0,
    rated_years: float = RATED_YEARS,
) -> float:
    """Years until the rated writes are used up; infinite without writes.

    Parameters
    ----------
    writes_per_day : of the load, in capacities [1/day]
    rated_writes_per_day : DWPD of the drive [1/day]
    amplification : bytes of flash written a byte of the load [1]
    rated_amplification : likewise under the load of the rating [1]
    rated_years : that the rating covers [years]

    Notes
    -----
    years = Y R (WA_r / WA) / d.

    References
    ----------
    JEDEC, "Solid-State Drive (SSD) Requirements and Endurance Test Method", JESD218B, 2016 (rating as terabytes
    written under a stated workload).

    >>> print(round(endurance_years(1.44, rated_writes_per_day=1.0), 2))
    3.47
    """
    if writes_per_day <= 0:
        return math.inf
    return rated_years * rated_writes_per_day * rated_amplification / (amplification * writes_per_day)
