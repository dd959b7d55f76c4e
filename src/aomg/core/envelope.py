"""The envelope: coarse counts that bound every estimate, whatever the stream does.

A bucket is a run of neighbouring codes. Counts of buckets are kept in every summary and their sliding totals are
exact (integers), so the bucket in which the cumulative total reaches ceil(phi N) holds the exact quantile, always.
If the bucket's ends are within a ratio (1+g)/(1-g) of each other, one value in it is within g of all of it.

Buckets are made narrower than that (SLACK) and values kept closer (KEPT), so that a value chosen by rank has room
and no window comes near the guarantee's edge; and never wider than 16 codes, so that 16 counts are a bucket and 16
buckets a super (core.kernels).
"""

SLACK = 0.7  # of the guarantee: how wide a bucket may be
KEPT = 0.75  # of the guarantee: how far a value may be from any point of its interval
WIDEST = 16


def partition(digits: int, guarantee: float) -> list[tuple[int, int]]:
    """Cut the leading digits 10^(d-1) .. 10^d - 1 of a decade into buckets: (first lead, number of leads) each.

    With 3 digits and a guarantee of 2 % these are 95 a decade, in six supers.
    """
    first, end = 10 ** (digits - 1), 10**digits
    tight = max(SLACK * guarantee, 0.5 / first)  # one code, at least, is a bucket
    ratio = (1 + tight) / (1 - tight) if tight < 1 else float("inf")
    buckets = []
    lead = first
    while lead < end:
        width = 1
        while width < WIDEST and lead + width < end and (lead + width + 1) <= lead * ratio:
            width += 1
        buckets.append((lead, width))
        lead += width
    return buckets


def kept_guarantee(digits: int, guarantee: float) -> float:
    """The relative error that is really kept: less than was asked, but never less than a bucket's own."""
    return max(KEPT * guarantee, 0.5 * 10.0 ** (1 - digits)) * (1 - 1e-12)
