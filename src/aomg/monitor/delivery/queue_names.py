"""What the queue of a receiver is called, so that it is found again when the configuration has changed.

A receiver is known by its kind and by what it is, without secrets (`Receiver.identity`): not by its place in the list,
and not by its tokens, headers or timeouts. Of several that are equal in this, the first comes first.

A queue whose receiver is no longer there *moved* if exactly one of its kind is gone and exactly one is new: then the
new one takes over what waits. Otherwise the queue is abandoned, and a new receiver hears nothing of the past; of what
fires now it hears if it is told again and again (`Outbox.remember`).
"""

import hashlib
import re
from collections.abc import Iterable, Sequence

from aomg.monitor.delivery.base import Receiver

_LONGEST = 40
_BY_PLACE = re.compile(r"[a-z]+-(\d{1,4})")  # how queues were called first: webhook-2


def names_of(receivers: Sequence[Receiver]) -> dict[str, Receiver]:
    """Each receiver by its name: kind, something to read, and a digest; `-2` and so on behind those that are equal."""
    named: dict[str, Receiver] = {}
    for receiver in receivers:
        digest = hashlib.blake2b(f"{receiver.kind} {receiver.identity}".encode(), digest_size=4).hexdigest()
        readable = re.sub(r"[^A-Za-z0-9]+", "-", receiver.identity.removeprefix("http://").removeprefix("https://"))
        name = "-".join(part for part in (receiver.kind, readable[:_LONGEST].strip("-"), digest) if part)
        alike = sum(known == name or known.startswith(f"{name}-") for known in named)
        named[f"{name}-{alike + 1}" if alike else name] = receiver
    return named


def moved(known: Iterable[str], there: Iterable[str]) -> dict[str, str]:
    """Which queues belong to whom now: old name -> new name.

    known
        The names of the receivers in the configuration, in their order.
    there
        The names of the queues that are there.
    """
    names, queues = list(known), set(there)
    found: dict[str, str] = {}
    for kind in dict.fromkeys(map(_kind, names)):
        mine = [name for name in names if _kind(name) == kind]
        new = [name for name in mine if name not in queues]
        gone = sorted(queue for queue in queues if _kind(queue) == kind and queue not in mine)
        by_place = {queue: int(place[1]) for queue in gone if (place := _BY_PLACE.fullmatch(queue))}
        if by_place:
            found |= {
                queue: mine[at - 1] for queue, at in by_place.items() if mine[at - 1 : at] and mine[at - 1] in new
            }
        elif len(gone) == len(new) == 1:
            found[gone[0]] = new[0]
    return found


def _kind(name: str) -> str:
    return name.partition("-")[0]
