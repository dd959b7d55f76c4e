"""Keys have the same ids however a column is encoded."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from aomg.tables import keys
from aomg.tables.keys import key_ids

TEXTS = st.lists(st.sampled_from(["a", "b", "", "ä", None]), min_size=1, max_size=20)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans())
def test_chunks_with_dictionaries_of_their_own_have_the_keys_of_their_texts(chunks, null_is_a_code):
    null_encoding = "encode" if null_is_a_code else "mask"
    column = pa.chunked_array([pa.array(chunk, pa.string()).dictionary_encode(null_encoding) for chunk in chunks])
    ids, (values,) = key_ids([column], len(column))
    assert values.take(pa.array(ids)).to_pylist() == [text for chunk in chunks for text in chunk]
    assert len(set(values.to_pylist())) == len(values)


def test_dictionaries_are_joined_so_that_texts_are_hashed_once(monkeypatch):
    hashed = []
    monkeypatch.setattr(keys, "_of_texts", lambda column, of=keys._of_texts: hashed.append(len(column)) or of(column))
    chunks = [pa.array(texts * 50).dictionary_encode() for texts in (["a", "b"], ["b", "c"])]
    ids, _ = key_ids([pa.chunked_array(chunks)], 200)
    assert hashed == [3]
    assert ids[1] == ids[100] and len(set(ids)) == 3
