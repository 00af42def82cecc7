"""Column functions that decode bytes: JSON, and Avro and Protobuf as the serializers of a schema registry frame them.

    from pyspark_tidelog.decoding import Registry, from_avro, from_json_value, from_protobuf

    orders.select(from_avro("value", schema, Registry("http://registry:8081")).alias("order"))

The result is a struct column. A row that cannot be decoded fails the query with its topic, partition and offset, or
becomes null, as `on_error` says; JSON that is malformed is kept beside the fields. Nothing here needs pandas: Arrow
arrays go in and come out. Avro and Protobuf need `pip install tidelog[registry]`.
"""

from pyspark_tidelog.decoding.errors import RegistryError, UndecodableValue
from pyspark_tidelog.decoding.functions import from_avro, from_json_value, from_protobuf
from pyspark_tidelog.decoding.registry import Registry

__all__ = ["from_json_value", "from_avro", "from_protobuf", "Registry", "UndecodableValue", "RegistryError"]
