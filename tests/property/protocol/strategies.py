"""Strategies for messages of any declared class: fields that the version can not carry keep their default."""

from typing import Any

from hypothesis import strategies as st

from tidelog.protocol.schema import FieldSchema, Wire, schema_of

PRIMITIVES: dict[Wire, st.SearchStrategy[Any]] = {
    Wire.BOOL: st.booleans(),
    Wire.INT8: st.integers(-(2**7), 2**7 - 1),
    Wire.INT16: st.integers(-(2**15), 2**15 - 1),
    Wire.UINT16: st.integers(0, 2**16 - 1),
    Wire.INT32: st.integers(-(2**31), 2**31 - 1),
    Wire.UINT32: st.integers(0, 2**32 - 1),
    Wire.INT64: st.integers(-(2**63), 2**63 - 1),
    Wire.FLOAT64: st.floats(allow_nan=False),
    Wire.UUID: st.binary(min_size=16, max_size=16),
    # The long ones need a second byte of length.
    Wire.STRING: st.text(max_size=10) | st.sampled_from(["x" * 126, "y" * 127, "z" * 300]),
    Wire.BYTES: st.binary(max_size=10) | st.sampled_from([bytes(126), bytes(127)]),
    Wire.RECORDS: st.binary(max_size=10) | st.sampled_from([bytes(126), bytes(127)]),
}


def messages(cls: type, version: int) -> st.SearchStrategy[Any]:
    fields = {field.name: _values(field, version) for field in schema_of(cls).fields if version in field.versions}
    return st.builds(cls, **fields)


def _values(field: FieldSchema, version: int) -> st.SearchStrategy[Any]:
    if field.struct is not None:
        value = messages(field.struct, version)
    else:
        assert field.wire is not None
        value = PRIMITIVES[field.wire]
    if field.is_array:
        value = st.lists(value, max_size=6)  # beyond 3, fixed structs are read in one pass
    return st.none() | value if version in field.nullable else value
