"""Makes the files of testdata/pyarrow: python3 make_pyarrow.py FOLDER (needs pyarrow).

One table of all types, nulls and nested values, written in many ways; the rows
in the text form of the sample tables go to expected.json.
"""
import decimal
import json
import os
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 70

def columns():
    rnd = random.Random(7)

    def some(f, nulls=0.2):
        return [None if rnd.random() < nulls else f(i) for i in range(ROWS)]

    def stamp(i):
        return rnd.choice([-1, 1]) * rnd.randrange(0, 2_000_000_000_000_000_000) // 10**3 * 10**3 + rnd.randrange(1000)

    words = ["", "a", "sixteen bytes!!!", "a somewhat longer text of thirty", "x" * 100, "é中😀"]

    def dec(p, s):
        def f(i):
            digits = rnd.randrange(1, p + 1)
            return decimal.Decimal(rnd.randrange(-10**digits + 1, 10**digits)).scaleb(-s, decimal.Context(prec=60))
        return f

    strings = lambda i: rnd.choice(words)
    c = {
        "id": (pa.int64(), list(range(ROWS))),
        "bool": (pa.bool_(), some(lambda i: rnd.random() < 0.5)),
        "i8": (pa.int8(), some(lambda i: rnd.randrange(-128, 128))),
        "i16": (pa.int16(), some(lambda i: rnd.randrange(-32768, 32768))),
        "i32": (pa.int32(), some(lambda i: rnd.randrange(-2**31, 2**31))),
        "i64": (pa.int64(), some(lambda i: rnd.randrange(-2**63, 2**63))),
        "few": (pa.int32(), some(lambda i: i // 25)),
        "f32": (pa.float32(), some(lambda i: rnd.randrange(-1000, 1000) / 8)),
        "f64": (pa.float64(), some(lambda i: rnd.random() * 1e300)),
        "str": (pa.string(), some(strings)),
        "uniq": (pa.string(), some(lambda i: "prefix of all values %d" % rnd.randrange(10**9))),
        "bin": (pa.binary(), some(lambda i: rnd.randbytes(rnd.randrange(0, 20)))),
        "fix": (pa.binary(5), some(lambda i: rnd.randbytes(5))),
        "d5": (pa.decimal128(5, 2), some(dec(5, 2))),
        "d12": (pa.decimal128(12, 2), some(dec(12, 2))),
        "d18": (pa.decimal128(18, 6), some(dec(18, 6))),
        "d38": (pa.decimal128(38, 10), some(dec(38, 10))),
        "date": (pa.date32(), some(lambda i: rnd.randrange(-700000, 2900000))),
        "time": (pa.time32("ms"), some(lambda i: rnd.randrange(86400000))),
        "time6": (pa.time64("us"), some(lambda i: rnd.randrange(86400000) * 1000)),
        "ts3": (pa.timestamp("ms"), some(lambda i: stamp(i) // 10**6)),
        "ts6": (pa.timestamp("us"), some(lambda i: stamp(i) // 10**3)),
        "ltz6": (pa.timestamp("us", "UTC"), some(lambda i: stamp(i) // 10**3)),
        "ts9": (pa.timestamp("ns"), some(stamp)),
        "null": (pa.int32(), [None] * ROWS),
    }

    def listof(f, most=4):
        return lambda i: [None if rnd.random() < 0.2 else f(i) for _ in range(rnd.randrange(most))]

    c["ints"] = (pa.list_(pa.int32()), some(listof(lambda i: rnd.randrange(100))))
    c["long"] = (pa.list_(pa.int64()), some(lambda i: list(range(i * 20 % 700)), 0.8))
    c["lists"] = (pa.list_(pa.list_(pa.string())), some(listof(listof(strings))))
    c["map"] = (pa.map_(pa.string(), pa.int64()),
                some(lambda i: [("k%d" % k, rnd.choice([None, k])) for k in range(rnd.randrange(4))]))
    inner = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])
    make = lambda i: {"x": rnd.choice([None, i]), "y": rnd.choice([None, [], ["a", None, "b"]])}
    c["st"] = (pa.struct([("a", pa.int32()), ("b", pa.string()), ("in", inner)]),
               some(lambda i: {"a": rnd.choice([None, i]), "b": strings(i), "in": None if i % 3 == 0 else make(i)}))
    c["deep"] = (pa.map_(pa.int32(), pa.list_(inner)),
                 some(lambda i: [(k, None if k == 2 else [None if j == 1 else make(j) for j in range(rnd.randrange(3))])
                                 for k in range(rnd.randrange(4))]))
    return c


def text(t, v):
    if v is None:
        return None
    if pa.types.is_boolean(t):
        return "true" if v else "false"
    if pa.types.is_floating(t):
        return repr(v)
    if pa.types.is_decimal(t):
        return format(v, "f")
    if pa.types.is_string(t):
        return v
    if pa.types.is_binary(t) or pa.types.is_fixed_size_binary(t):
        return v.hex()
    if pa.types.is_timestamp(t) or pa.types.is_time(t):  # in nanoseconds
        return str(v * {"ms": 10**6, "us": 10**3, "ns": 1}[t.unit])
    if pa.types.is_map(t):
        return [[text(t.key_type, k), text(t.item_type, x)] for k, x in v]
    if pa.types.is_list(t):
        return [text(t.value_type, x) for x in v]
    if pa.types.is_struct(t):
        return {f.name: text(f.type, v[f.name]) for f in t}
    return str(v)


def main(folder):
    os.makedirs(folder, exist_ok=True)
    cols = columns()
    fields = [pa.field(n, t, nullable=n != "id") for n, (t, _) in cols.items()]
    table = pa.table([pa.array(v, t) for t, v in cols.values()], schema=pa.schema(fields))
    with open(os.path.join(folder, "expected.json"), "w") as f:
        json.dump([{n: text(t, v[i]) for n, (t, v) in cols.items()} for i in range(ROWS)], f, ensure_ascii=False,
                  separators=(",", ":"))

    def write(name, **options):
        pq.write_table(table, os.path.join(folder, name + ".parquet"), **options)

    small = dict(row_group_size=30, data_page_size=200, write_batch_size=7, write_statistics=False, store_schema=False)
    write("plain_none_v1", compression="none", use_dictionary=False, **small)
    write("dict_snappy_v1", compression="snappy", **small)
    write("dict_zstd_v2", compression="zstd", data_page_version="2.0", **small)
    write("fallback_gzip_v1", compression="gzip", dictionary_pagesize_limit=40, **small)
    write("fallback_brotli_v2", compression="brotli", dictionary_pagesize_limit=40, data_page_version="2.0", **small)
    write("lz4_checksum", compression="lz4", write_page_checksum=True, **small)
    write("one_page", compression="zstd", use_dictionary=["str", "few"])
    write("int_decimals", compression="zstd", store_decimal_as_integer=True, use_compliant_nested_type=False, **small)
    write("int96", compression="snappy", use_deprecated_int96_timestamps=True, **small)
    write("version1", compression="snappy", version="1.0", coerce_timestamps="us", allow_truncated_timestamps=True, **small)
    enc = {}
    for n, (t, _) in cols.items():
        if pa.types.is_integer(t) or pa.types.is_temporal(t):
            enc[n] = "DELTA_BINARY_PACKED"
        elif n in ("str", "bin"):
            enc[n] = "DELTA_LENGTH_BYTE_ARRAY"
        elif n == "uniq" or pa.types.is_decimal(t):
            enc[n] = "DELTA_BYTE_ARRAY"
        elif pa.types.is_floating(t) or n == "fix":
            enc[n] = "BYTE_STREAM_SPLIT"
        elif n == "bool":
            enc[n] = "RLE"
    write("delta", compression="zstd", use_dictionary=False, column_encoding=enc, data_page_version="2.0", **small)
    split = {n: "BYTE_STREAM_SPLIT" for n, (t, _) in cols.items()
             if pa.types.is_integer(t) or pa.types.is_temporal(t) or pa.types.is_decimal(t)}
    write("split", compression="zstd", use_dictionary=False, column_encoding=split, **small)


main(sys.argv[1])
