"""The rivals: other ways to answer the same windows, built as well as they can be.

>>> from aomg import Query
>>> from aomg.policies import make
>>> exact = make("exact", Query(2000, 1000, quantiles=(0.5,)))
>>> [result[0.5].value for result in exact.push(range(3000))]
[499.0, 999.0, 1999.0]
"""

import inspect
from importlib import import_module
from typing import Any

from aomg.errors import InputError
from aomg.policies.base import Policy
from aomg.policies.windows import PolicyOperator, refuse_unfit
from aomg.query import Query
from aomg.suggestions import there_are

__all__ = ["Policy", "PolicyOperator", "make", "names"]

# in the order of the paper's section 6, then ours and the sketches people use today
_WHERE = {
    "exact": "exact:Exact",
    "exact-sorted": "exact:ExactSorted",
    "cmqs": "cmqs:Cmqs",
    "am": "am:Am",
    "random": "random:Random",
    "moment": "moment:Moment",
    "histogram": "histogram:CodeHistogram",
    "kll": "apache_datasketches:Kll",
    "req": "apache_datasketches:Req",
    "quantiles-sketch": "apache_datasketches:ClassicQuantiles",
    "t-digest": "apache_datasketches:TDigest",
    "fastdigest": "fast_t_digest:FastDigest",
    "ddsketch": "datadog_ddsketch:DDSketch",
    "hdr-histogram": "hdr_histogram:HdrHistogram",
}


def names() -> dict[str, str]:
    """The name of every policy, and what it promises in one line. Needs none of the optional libraries."""
    return {name: _policy(name).promise for name in _WHERE}


def make(name: str, query: Query, **parameters: Any) -> PolicyOperator:
    """Return a policy at work on a query: push values, get results.

    The parameters are the policy's own (epsilon, K, seed...); a wrong one is refused with those that there are. Raises
    SettingsError, with the line that installs it, where a policy's library is missing.
    """
    if name not in _WHERE:
        raise InputError(f"there is no policy {name!r}; {there_are(name, _WHERE)}")
    refuse_unfit(query)
    policy = _policy(name)
    known = list(inspect.signature(policy.__init__).parameters)[2:]
    unknown = [given for given in parameters if given not in known]
    if unknown:
        raise InputError(f"{name} has no parameter {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    return PolicyOperator(policy(query, **parameters))


def _policy(name: str) -> type[Policy]:
    module, class_name = _WHERE[name].split(":")
    found: type[Policy] = getattr(import_module(f"aomg.policies.{module}"), class_name)
    return found
