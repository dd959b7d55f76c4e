"""Builds `level`, the array of Level 2 for fine parts, and reports its size.

The array (core.kernels.paper.registers) has the extremes of the live sub-windows' codes, sums without rounding for
means and densities, and the position of the last answer in the live few-k lists and bands. The lists themselves stay in
the ring. They are not merged again: with each sub-window the position moves by a few places.
"""

import numpy as np
import numpy.typing as npt

from aomg.core.codes import Codec, DenseCodec, RawCodec
from aomg.core.kernels.paper.limbs import LIMBS, SUM_FIRST, SUM_WIDTH, SUM_WORDS
from aomg.core.kernels.paper.lists import (
    ABOVE_ALL,
    BELOW_ALL,
    MERGED_CODE,
    MERGED_TOTAL,
    MERGED_WORDS,
    SLOT_BELOW,
    SLOT_OFFSET,
    SLOT_OVER,
    SLOT_WIDTH,
    lists_of,
)
from aomg.core.kernels.paper.registers import (
    AS_PAPER,
    AT_BAND,
    AT_CODE_EXTREME,
    AT_COLUMN,
    AT_DEPTH_SUM,
    AT_LIMBS,
    AT_LIMIT,
    AT_MERGED,
    AT_RANGE,
    AT_SUM,
    BAND_OFFSET,
    BAND_WIDTH,
    COLUMN_BEYOND,
    COLUMN_HIGH,
    COLUMN_UNKNOWN,
    COLUMN_WIDTH,
    DENSE,
    FIXED_WORDS,
    HIGHEST_CODE,
    KEEPS_BAND,
    KEEPS_LISTS,
    LEVEL_REGISTERS,
    LIMIT_CODE,
    LIMIT_INSIDE,
    LIMIT_UNDER,
    LIMIT_VALUE,
    LIMIT_WIDTH,
    LOWEST_CODE,
    MERGED_WIDTH,
    PERIOD_EVENTS,
    RAW,
    RESOLUTION,
    TAILS,
    TOP_K_BELOW,
    WITHOUT_TOP,
)
from aomg.query import Query

Integers = npt.NDArray[np.int64]


def _resolution(query: Query, codec: Codec) -> int:
    if isinstance(codec, RawCodec):
        return RAW
    return DENSE if isinstance(codec, DenseCodec) or query.digits is None else query.digits


def new_level(query: Query, codec: Codec) -> Integers:
    """Level 2 with nothing live: see core.kernels.paper.registers."""
    quantiles, thresholds, high = len(query.quantiles), len(query.thresholds), query.high
    room = query.sub_windows + 1
    tails = len(high) if query.guarantee is None or query.keeps_lists else 0
    keeps_band = query.guarantee is not None and not isinstance(codec, DenseCodec)
    lists = quantiles + tails if query.keeps_lists else 0
    width = MERGED_WORDS + SLOT_WIDTH * room
    end, offsets = LEVEL_REGISTERS, {}
    for register, words in (
        (AT_COLUMN, COLUMN_WIDTH * quantiles),
        (AT_LIMIT, LIMIT_WIDTH * thresholds),
        (AT_DEPTH_SUM, tails),
        (AT_LIMBS, LIMBS),
        (AT_SUM, 2 * SUM_WIDTH * quantiles),
        (AT_RANGE, 2 * quantiles),
        (AT_CODE_EXTREME, (2 * quantiles + 1) * (2 * room + 1)),
        (AT_BAND, BAND_WIDTH * room if keeps_band else 0),
        (AT_MERGED, lists * width),
    ):
        offsets[register] = end
        end += words
    level = np.zeros(end, np.int64)
    reals = level.view(np.float64)
    for register, offset in offsets.items():
        level[register] = offset
    level[RESOLUTION], level[AS_PAPER] = _resolution(query, codec), query.as_paper
    level[KEEPS_LISTS], level[KEEPS_BAND], level[TAILS] = query.keeps_lists, keeps_band, tails
    level[FIXED_WORDS] = quantiles * (2 if query.guarantee is None else 1) + 2 * thresholds
    level[PERIOD_EVENTS] = query.period if query.counted else 0
    reals[TOP_K_BELOW] = query.few_k.threshold if query.few_k is not None else 0.0
    level[LOWEST_CODE], level[HIGHEST_CODE] = codec.span
    level[MERGED_WIDTH] = width
    for column, quantile in enumerate(query.quantiles):
        entry = offsets[AT_COLUMN] + COLUMN_WIDTH * column
        level[entry + COLUMN_HIGH] = high.index(quantile) if quantile in high else -1
        reals[entry + COLUMN_BEYOND] = float(1 - quantile)
    limits = offsets[AT_LIMIT] + LIMIT_WIDTH * np.arange(thresholds)
    level[limits + LIMIT_CODE] = codec.codes(np.array(query.thresholds, np.float64))
    reals[limits + LIMIT_VALUE] = query.thresholds
    level[offsets[AT_SUM] + SUM_FIRST :][: 2 * SUM_WIDTH * quantiles : SUM_WIDTH] = LIMBS
    merged = level[offsets[AT_MERGED] :].reshape(lists, width)
    merged[:, MERGED_CODE] = ABOVE_ALL
    slots = merged[:, MERGED_WORDS:].reshape(lists, SLOT_WIDTH, room)
    slots[:, SLOT_BELOW], slots[:, SLOT_OVER] = BELOW_ALL, ABOVE_ALL
    return level


def move_lists(level: Integers, slots: Integers, distances: Integers, room: int) -> None:
    """Note that the summaries in these slots have moved by so many words of the ring."""
    if level[KEEPS_LISTS]:
        merged = level[level[AT_MERGED] :].reshape(-1, int(level[MERGED_WIDTH]))
        merged[:, MERGED_WORDS + SLOT_OFFSET * room + slots] += distances
    if level[KEEPS_BAND]:
        level[level[AT_BAND] + BAND_WIDTH * slots + BAND_OFFSET] += distances


def totals_of(query: Query, level: Integers) -> list[int]:
    """Return what Level 2 adds up over the live fine parts; equal live summaries have equal totals."""
    quantiles, tails = len(query.quantiles), int(level[TAILS])
    columns = int(level[AT_COLUMN]) + COLUMN_WIDTH * np.arange(quantiles) + COLUMN_UNKNOWN
    limits = int(level[AT_LIMIT]) + LIMIT_WIDTH * np.arange(len(query.thresholds))
    depths = int(level[AT_DEPTH_SUM]) + np.arange(tails)
    lists = np.arange(quantiles + tails) if level[KEEPS_LISTS] else np.arange(0)
    merged = int(level[AT_MERGED]) + int(level[MERGED_WIDTH]) * lists + MERGED_TOTAL
    places = [columns, limits + LIMIT_UNDER, limits + LIMIT_INSIDE, depths, merged]
    return [
        int(level[WITHOUT_TOP]),
        *level[np.concatenate(places)].tolist(),
        *(_sum(level, index) for index in range(2 * quantiles)),
    ]


def variables_of(query: Query, level: Integers, words: Integers, starts: list[int]) -> dict[str, int]:
    """Live scalars by part, of the summaries at `starts`. O(live summaries, and a sort of their lists)."""
    live, quantiles = len(starts), len(query.quantiles)
    averages = query.guarantee is None
    lists: list[list[Integers]] = [[] for _ in range(2 + int(level[TAILS]))]  # top, band, samples
    for start in starts:
        offset = int(lists_of(words, level, start))
        for codes in lists:
            size = int(words[offset])
            codes.append(words[offset + 1 : offset + 1 + size])
            offset += 1 + 2 * size
    merged = lists if query.keeps_lists else lists[:2]
    return {
        "quantiles": live * quantiles,
        "thresholds": live * 2 * len(query.thresholds),
        "densities": live * quantiles if averages else 0,
        "tails": 2 * sum(codes.size for i, same in enumerate(lists) if i != 1 for codes in same),
        "band": 2 * sum(codes.size for codes in lists[1]),
        "merged lists": 2 * sum(np.unique(np.concatenate(same)).size for same in merged if same),
        "sums": sum(_sum_words(level, index) for index in range(2 * quantiles)) if averages else 0,
    }


def _sum(level: Integers, index: int) -> int:
    """A sum of doubles without rounding, in units of the smallest double."""
    limbs = int(level[AT_SUM]) + SUM_WIDTH * index + SUM_WORDS
    return sum(int(limb) << 32 * j for j, limb in enumerate(level[limbs : limbs + LIMBS]))


def _sum_words(level: Integers, index: int) -> int:
    """64-bit words between the highest and the lowest bit of a sum."""
    total = _sum(level, index)
    return -(-(total.bit_length() - (total & -total).bit_length() + 1) // 64) if total else 0
