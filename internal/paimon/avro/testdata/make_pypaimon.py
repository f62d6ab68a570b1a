"""Writes pypaimon.avro and pypaimon.json: a data file of a table of pypaimon
with every type that it can write as Avro, and its rows as JSON.

    python make_pypaimon.py      needs pypaimon 1.4.2
"""

import datetime as dt
import glob
import json
import os
import shutil
import tempfile
from decimal import Decimal

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

UTC = dt.timezone.utc
fields = [
    pa.field("b", pa.bool_()),
    pa.field("i8", pa.int8()),
    pa.field("i16", pa.int16()),
    pa.field("i32", pa.int32(), nullable=False),
    pa.field("i64", pa.int64()),
    pa.field("f", pa.float32()),
    pa.field("d", pa.float64()),
    pa.field("s", pa.string()),
    pa.field("bin", pa.binary()),
    pa.field("dec9", pa.decimal128(9, 2)),
    pa.field("dec38", pa.decimal128(38, 10)),
    pa.field("day", pa.date32()),
    pa.field("t", pa.time32("ms")),
    pa.field("ts3", pa.timestamp("ms")),
    pa.field("ts6", pa.timestamp("us")),
    pa.field("ltz6", pa.timestamp("us", tz="UTC")),
    pa.field("arr", pa.list_(pa.int32())),
    pa.field("st", pa.struct([pa.field("x", pa.string()), pa.field("y", pa.int64())])),
]
before = dt.datetime(1969, 12, 31, 23, 59, 59, 999000)
micros = dt.datetime(1969, 12, 31, 23, 59, 59, 999999)
rows = [
    [True, -128, -32768, -(2**31), -(2**63), -1.5, 1e300, "", b"", Decimal("-1234567.89"), Decimal("-1234567890123456789012345678.0123456789"),
     dt.date(1969, 12, 31), dt.time(23, 59, 59, 999000), before, micros, micros.replace(tzinfo=UTC), [1, -2], {"x": "é", "y": None}],
    [False, 127, 32767, 2**31 - 1, 2**63 - 1, 0.25, -0.0, "日本😀", b"\x00\xff", Decimal("0.00"), Decimal("9999999999999999999999999999.9999999999"),
     dt.date(2024, 2, 29), dt.time(0, 0), dt.datetime(2024, 2, 29, 1, 2, 3, 4000), dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
     dt.datetime(1, 1, 1, tzinfo=UTC), [], {"x": None, "y": 7}],
    [None, None, None, 0, None, None, None, None, None, None, None, None, None, None, None, None, None, None],
]

here = os.path.dirname(os.path.abspath(__file__))
root = tempfile.mkdtemp()
try:
    catalog = CatalogFactory.create({"warehouse": root})
    catalog.create_database("db", True)
    arrow = pa.schema(fields)
    catalog.create_table("db.t", Schema.from_pyarrow_schema(arrow, options={"file.format": "avro", "bucket": "-1"}), False)
    table = catalog.get_table("db.t")
    builder = table.new_batch_write_builder()
    write, commit = builder.new_write(), builder.new_commit()
    write.write_arrow(pa.Table.from_arrays([pa.array([r[i] for r in rows], f.type) for i, f in enumerate(fields)], schema=arrow))
    commit.commit(write.prepare_commit())
    write.close()
    commit.close()
    (path,) = glob.glob(root + "/db.db/t/bucket-0/*.avro")
    shutil.copy(path, os.path.join(here, "pypaimon.avro"))
finally:
    shutil.rmtree(root)


def text(v):
    if isinstance(v, bytes):
        return v.hex()
    if isinstance(v, dt.datetime):
        return v.replace(tzinfo=None).isoformat(" ", "microseconds")
    if isinstance(v, (dt.date, dt.time)):
        return v.isoformat() if isinstance(v, dt.date) else v.isoformat("milliseconds")
    if isinstance(v, Decimal):
        sign, digits, exponent = v.as_tuple()
        return "%s%de-%d" % ("-" if sign else "", int("".join(map(str, digits))), -exponent)
    if isinstance(v, float):
        return repr(v).removesuffix(".0")
    if isinstance(v, dict):
        return [text(x) for x in v.values()]
    if isinstance(v, list):
        return [text(x) for x in v]
    return v


with open(os.path.join(here, "pypaimon.json"), "w") as out:
    out.write("\n".join(json.dumps([text(v) for v in r], ensure_ascii=False) for r in rows) + "\n")
