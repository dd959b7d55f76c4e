"""Rivals of AOMG: other ways to compute the quantiles of the same windows.

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

__all__ = ["Policy", "PolicyOperator", "make", "names", "titles"]

# Module and class of each policy, in the order of the paper's section 6, then ours and the sketches in use today. To
# add a policy, write its file and add a line at the end: every experiment that compares all policies then runs it.
_CLASSES = {
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
    """Return the name of every policy and its promise in one line. Needs none of the optional libraries."""
    return {name: _policy(name).promise for name in _CLASSES}


def titles() -> dict[str, str]:
    """Return the name of every policy and its title in tables and plots."""
    return {name: _policy(name).title for name in _CLASSES}


def make(name: str, query: Query, **parameters: Any) -> PolicyOperator:
    """Return an operator that runs a policy on a query: push values, get results.

    The parameters are those of the policy (epsilon, K, seed...). Raises InputError for an unknown policy or parameter,
    and SettingsError, with the install command, if the policy's library is missing.
    """
    if name not in _CLASSES:
        raise InputError(f"there is no policy {name!r}; {there_are(name, _CLASSES)}")
    refuse_unfit(query)
    policy = _policy(name)
    valid = list(inspect.signature(policy.__init__).parameters)[2:]
    unknown = [key for key in parameters if key not in valid]
    if unknown:
        raise InputError(f"{name} has no parameter {unknown[0]!r}; it has {', '.join(valid) or 'none'}")
    return PolicyOperator(policy(query, **parameters))


def _policy(name: str) -> type[Policy]:
    module, class_name = _CLASSES[name].split(":")
    policy: type[Policy] = getattr(import_module(f"aomg.policies.{module}"), class_name)
    return policy
