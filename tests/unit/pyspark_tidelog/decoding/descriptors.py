"""A Protobuf file as `protoc` would describe it, made without `protoc`."""

from typing import Any

from google.protobuf import descriptor_pb2, timestamp_pb2  # type: ignore[import-untyped]
from google.protobuf.descriptor_pool import DescriptorPool  # type: ignore[import-untyped]
from google.protobuf.message_factory import GetMessageClass  # type: ignore[import-untyped]

F = descriptor_pb2.FieldDescriptorProto


def shop_file() -> Any:
    """shop.proto: package shop; message Note; message Order { Line, Status, ... } with a field of every sort."""
    file = descriptor_pb2.FileDescriptorProto(name="shop.proto", package="shop", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    note = file.message_type.add(name="Note")
    _field(note, "text", 1, F.TYPE_STRING)
    order = file.message_type.add(name="Order")
    line = order.nested_type.add(name="Line")
    _field(line, "sku", 1, F.TYPE_STRING)
    _field(line, "price", 2, F.TYPE_DOUBLE)
    status = order.enum_type.add(name="Status")
    status.value.add(name="NEW", number=0)
    status.value.add(name="PAID", number=1)
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    _field(entry, "key", 1, F.TYPE_STRING)
    _field(entry, "value", 2, F.TYPE_INT32)
    _field(order, "id", 1, F.TYPE_INT64)
    _field(order, "small", 2, F.TYPE_UINT32)
    _field(order, "big", 3, F.TYPE_UINT64)
    _field(order, "raw", 4, F.TYPE_BYTES)
    _field(order, "flag", 5, F.TYPE_BOOL)
    _field(order, "ratio", 6, F.TYPE_FLOAT)
    _field(order, "status", 7, F.TYPE_ENUM, ".shop.Order.Status")
    _field(order, "first", 8, F.TYPE_MESSAGE, ".shop.Order.Line")
    _field(order, "lines", 9, F.TYPE_MESSAGE, ".shop.Order.Line", repeated=True)
    _field(order, "tags", 10, F.TYPE_STRING, repeated=True)
    _field(order, "counts", 11, F.TYPE_MESSAGE, ".shop.Order.CountsEntry", repeated=True)
    _field(order, "at", 12, F.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    _field(order, "nick", 13, F.TYPE_STRING).proto3_optional = True
    order.oneof_decl.add(name="_nick")
    order.field[-1].oneof_index = 0
    tree = file.message_type.add(name="Tree")
    _field(tree, "left", 1, F.TYPE_MESSAGE, ".shop.Tree")
    file.message_type.add(name="Empty")
    return file


def _field(message: Any, name: str, number: int, kind: int, of: str = "", *, repeated: bool = False) -> Any:
    label = F.LABEL_REPEATED if repeated else F.LABEL_OPTIONAL
    return message.field.add(name=name, number=number, type=kind, type_name=of or None, label=label)


def descriptor_set() -> bytes:
    times = descriptor_pb2.FileDescriptorProto.FromString(timestamp_pb2.DESCRIPTOR.serialized_pb)
    return bytes(descriptor_pb2.FileDescriptorSet(file=[times, shop_file()]).SerializeToString())


def message_class(name: str) -> Any:
    pool = DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(descriptor_set()).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(name))
