"""Load many forged states of one query: `python forged.py QUERY SEED ROUNDS`.

Ends with 0 if each was refused by a StateError or gave an operator that takes values and answers. Says before each
round what it is about to try, so that a crash can be repeated.
"""

import contextlib
import faulthandler
import functools
import hashlib
import struct
import sys
import warnings
from collections.abc import Iterator

import numpy as np

from aomg import AomgError, FewK, Operator, Query, StateError

QUERIES = {
    "default": Query(60, 20, thresholds=(100,)),
    "raw": Query(60, 20, digits=None, few_k=FewK(always=True)),
    "paper": Query.paper(60, 20, few_k=FewK(high=0.9)),
    "digits": Query(60, 20, digits=5, thresholds=(100,)),
    "timed": Query("6 s", "2 s", few_k=FewK(always=True)),
    "timed raw": Query("6 s", "2 s", digits=None, guarantee=False),
}


@functools.cache
def saved(name: str) -> bytes:
    query = QUERIES[name]
    operator = Operator(query)
    values = np.random.default_rng(4).lognormal(4, 1, 130)
    if query.counted:
        operator.push(values)
    else:
        operator.push(values, (np.arange(130) * 100).astype("datetime64[ms]"))
    return operator.save()


HEAD = 40
INTERESTING = [
    0,
    1,
    -1,
    2,
    5,
    255,
    256,
    2**31 - 1,
    2**31,
    -(2**31),
    2**32,
    2**53,
    2**61,
    2**62,
    -(2**62),
    2**63 - 1,
    -(2**63),
]


def signed(data: bytes, content: bytes) -> bytes:
    return data[:24] + hashlib.blake2b(content, digest_size=16).digest() + content


def with_word(content: bytes, at: int, word: int) -> bytes:
    return content[:at] + struct.pack("<q", min(max(word, -(2**63)), 2**63 - 1)) + content[at + 8 :]


def with_forged_registers(data: bytes) -> Iterator[bytes]:
    """Every register, one at a time, set to every interesting number."""
    content = data[HEAD:]
    for register in range(struct.unpack_from("<q", content)[0]):
        for word in INTERESTING:
            yield signed(data, with_word(content, 8 + 8 * register, word))


def with_forged_heads(data: bytes) -> Iterator[bytes]:
    """Every word of the heads of the first and the last summary, one at a time, set to every interesting number."""
    content = data[HEAD:]
    at = 8 + 8 * struct.unpack_from("<q", content)[0]
    heads = []
    for _ in range(struct.unpack_from("<q", content, at)[0]):
        at += 8
        heads.append(at + 8)
        at += struct.unpack_from("<q", content, at)[0]
    for head in (heads[0], heads[-1]):
        for word in range(7):
            for number in INTERESTING:
                yield signed(data, with_word(content, head + 8 * word, number))


def with_huge_counts(data: bytes) -> Iterator[bytes]:
    """Runs of words at the end, where the open sub-windows are, set to counts that no longer add up to 31 bits."""
    content = data[HEAD:]
    for first in range(len(content) // 8 - 60, len(content) // 8 - 1, 3):
        for length in (2, 5, 20):
            forged = content
            for at in range(first, min(first + length, len(content) // 8)):
                forged = with_word(forged, 8 * at, 2**31 - 1)
            yield signed(data, forged)


def with_random_damage(data: bytes, random: np.random.Generator, rounds: int) -> Iterator[bytes]:
    for _ in range(rounds):
        content = data[HEAD:]
        for _ in range(int(random.integers(1, 4))):
            at = 8 * int(random.integers(0, len(content) // 8))
            word = struct.unpack_from("<q", content, at)[0]
            kind = random.random()
            if kind < 0.3:
                word = int(random.choice(INTERESTING))
            elif kind < 0.6:
                word += int(random.integers(-3, 4))
            else:
                word ^= int(random.integers(1, 256)) << int(8 * random.integers(0, 7))
            content = with_word(content, at, word)
        yield signed(data, content)


def use(operator: Operator) -> None:
    """Whatever it answers, it must answer."""
    values = np.random.default_rng(1).lognormal(4, 1, 90)
    if operator.query.counted:
        results = operator.push(values)
    else:
        results = operator.push(values, (13_000 + 100 * np.arange(90)).astype("datetime64[ms]"))
        results = results + operator.advance(np.datetime64(60, "s"))
    for result in results + operator.finish():
        repr(result)
    operator.variables()
    Operator.load(operator.query, operator.save())


def main(name: str, seed: int, rounds: int) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    query, data = QUERIES[name], saved(name)
    use(Operator.load(query, data))
    random = np.random.default_rng(seed)
    states = [
        *with_forged_registers(data),
        *with_forged_heads(data),
        *with_huge_counts(data),
        *with_random_damage(data, random, rounds),
    ]
    for number, state in enumerate(states):
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
        faulthandler.dump_traceback_later(20, exit=True)
        try:
            operator = Operator.load(query, state)
        except StateError:
            continue
        with contextlib.suppress(AomgError):  # it may say that it has finished, or that its own state is worth nothing
            use(operator)
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
