"""Names the queue of each receiver, so that it is found again when the configuration has changed.

A receiver is identified by its kind and its address or program, without secrets (`Receiver.identity`): not by its place
in the list, and not by its tokens, headers or timeouts. Equal ones are distinguished by their order.

A queue *moved* if exactly one receiver of its kind was removed and exactly one was added: then the new one takes over
the waiting alerts. Otherwise the queue is abandoned, and a new receiver gets no past alerts; firing ones it gets if it
has `repeat_every` (`Outbox.remember`).
"""

import hashlib
import re
from collections.abc import Iterable, Sequence

from aomg.monitor.delivery.base import Receiver

_LONGEST = 40
_BY_PLACE = re.compile(r"[a-z]+-(\d{1,4})")  # the names of an early version: webhook-2


def names_of(receivers: Sequence[Receiver]) -> dict[str, Receiver]:
    """Each receiver by its name: kind, readable identity, and a digest; equal ones end in `-2` and so on."""
    by_name: dict[str, Receiver] = {}
    for receiver in receivers:
        digest = hashlib.blake2b(f"{receiver.kind} {receiver.identity}".encode(), digest_size=4).hexdigest()
        readable = re.sub(r"[^A-Za-z0-9]+", "-", receiver.identity.removeprefix("http://").removeprefix("https://"))
        name = "-".join(part for part in (receiver.kind, readable[:_LONGEST].strip("-"), digest) if part)
        alike = sum(known == name or known.startswith(f"{name}-") for known in by_name)
        by_name[f"{name}-{alike + 1}" if alike else name] = receiver
    return by_name


def moved(receivers: Iterable[str], queues: Iterable[str], known: Iterable[str] = ()) -> dict[str, str]:
    """Return the queues that moved: old name -> new name.

    receivers
        The names of the configured receivers, in their order.
    queues
        The names of the stored queues.
    known
        The names of the queues in the journal: the file of one of them may be lost.
    """
    names, files = list(receivers), set(queues)
    stored = files.union(known)
    renamed: dict[str, str] = {}
    for kind in dict.fromkeys(map(_kind, names)):
        configured = [name for name in names if _kind(name) == kind]
        new = [name for name in configured if name not in stored]
        gone = sorted(queue for queue in stored if _kind(queue) == kind and queue not in configured)
        by_place = {queue: int(place[1]) for queue in gone if (place := _BY_PLACE.fullmatch(queue))}
        if by_place:
            targets = {queue: configured[place - 1 : place] for queue, place in by_place.items()}
            renamed |= {queue: target[0] for queue, target in targets.items() if target and target[0] not in files}
        elif len(gone) == len(new) == 1:
            renamed[gone[0]] = new[0]
    return renamed


def _kind(name: str) -> str:
    return name.partition("-")[0]
