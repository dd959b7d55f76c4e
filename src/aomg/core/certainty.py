"""Chooses the sizes of buckets and bands, and explains why an interval contains the exact quantile.

The envelope bounds every estimate, whatever the stream does. A bucket is a run of neighbouring codes. Every summary
keeps the counts of its buckets, and their sliding totals are exact (integers). So the bucket in which the cumulative
total reaches ceil(phi N) holds the exact quantile, always. If the bucket's ends are within a ratio (1+g)/(1-g) of each
other, one value in it is within g of all of it. Buckets are narrower than that (SLACK) and values are placed closer
(KEPT), so that a value can be chosen by rank and no window comes near the limit of the guarantee. A bucket has at most
16 codes: 16 counts are a bucket and 16 buckets a super (core.kernels.codes).

The band certifies most answers: they are right to the code. Besides the envelope, a summary keeps the codes of whole
buckets from rank r - reach to r + reach of its own quantile, with reach = Z sqrt(m phi (1 - phi)) + EXTRA ranks. If the
fine totals of the bucket that holds the window's quantile add up to its coarse total, every value in it is known to its
code: that is the certificate, for any quantile and any stream. The band is around the sub-window's own quantile, so
that a summary is a function of its own counts; measured, a band around the window's last answer is no better. For four
digits and more, and for raw values, a second band is kept at full resolution (core.kernels.paper.bands).

The extremes give another bound: for any split of a window, its phi-quantile is between the smallest and the largest
of the sub-windows' phi-quantiles, whatever the distribution (core.kernels.extremes). The interval of an estimate is the
intersection of the envelope's bucket, the band's codes, these extremes, what the few-k lists prove, and the window's
own minimum and maximum.
"""

Z = 3  # reach of the band, in standard deviations of the rank
EXTRA = 4  # ranks added to this reach
SLACK = 0.7  # the widest bucket, as a share of the guarantee
KEPT = 0.75  # the largest distance of a value from any point of its interval, as a share of the guarantee
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
