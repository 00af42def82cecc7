"""Partitions of a whole column of keys are the same as those of each key alone."""

from array import array

import pyarrow as pa  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.client.arrow.columns import binary_column
from tidelog.client.producer.kernels_murmur2 import partition_of_key, partitions_of_keys

columns = st.lists(st.none() | st.binary(max_size=40), max_size=30)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(columns, st.integers(0, 5), st.integers(1, 9), st.integers(1, 4))
def test_as_key_by_key(keys: list[bytes | None], skipped: int, partitions: int, rows_each: int) -> None:
    column = pa.array(keys, pa.binary())[skipped:]
    sticky = [100, 101, 102]
    found = array("i", partitions_of_keys(binary_column(column), len(column), partitions, _ints(sticky), rows_each))
    nulls, wanted = 0, []
    for key in keys[skipped:]:
        if key is None:
            wanted.append(sticky[min(2, nulls // rows_each)])
            nulls += 1
        else:
            wanted.append(partition_of_key(key, partitions))
    assert found.tolist() == wanted


def _ints(values: list[int]) -> bytes:
    return array("i", values).tobytes()
