"""Makes the files of testdata/pyarrow: python3 make_pyarrow.py FOLDER (needs pyarrow).

Two tables, written in many ways: "types" has a column of every type with nulls
and nested values, "runs" has integers that make the writer use every kind of
run. The rows in the text form of the sample tables go to JSON files. With a
second argument, a number, the tables are made of other values.
"""
import decimal
import json
import os
import random
import sys

import pyarrow as pa
import pyarrow.orc as orc

ROWS = 70


def types(rnd):
    def some(f, nulls=0.2):
        return [None if rnd.random() < nulls else f(i) for i in range(ROWS)]

    def stamp(i):
        unit = 10**rnd.randrange(10)
        return rnd.choice([-1, 1]) * rnd.randrange(0, 2_000_000_000_000_000_000) // unit * unit

    words = ["", "a", "sixteen bytes!!!", "a somewhat longer text of thirty", "x" * 100, "é中😀", "blanks  "]

    def dec(p, s):
        def f(i):
            digits = rnd.randrange(1, p + 1)
            return decimal.Decimal(rnd.randrange(-10**digits + 1, 10**digits)).scaleb(-s, decimal.Context(prec=60))
        return f

    def edge(bits):
        return lambda i: rnd.choice([-2**(bits - 1), 2**(bits - 1) - 1, 0, rnd.randrange(-2**(bits - 1), 2**(bits - 1))])

    strings = lambda i: rnd.choice(words)
    c = {
        "id": (pa.int64(), list(range(ROWS))),
        "bool": (pa.bool_(), some(lambda i: rnd.random() < 0.5)),
        "i8": (pa.int8(), some(edge(8))),
        "i16": (pa.int16(), some(edge(16))),
        "i32": (pa.int32(), some(edge(32))),
        "i64": (pa.int64(), some(edge(64))),
        "few": (pa.int32(), some(lambda i: i // 25)),
        "f32": (pa.float32(), some(lambda i: rnd.randrange(-1000, 1000) / 8)),
        "f64": (pa.float64(), some(lambda i: rnd.random() * 1e300)),
        "str": (pa.string(), some(strings)),
        "uniq": (pa.string(), some(lambda i: "prefix of all values %d" % rnd.randrange(10**9))),
        "bin": (pa.binary(), some(lambda i: rnd.randbytes(rnd.randrange(0, 20)))),
        "fix": (pa.binary(5), some(lambda i: rnd.randbytes(5))),
        "d5": (pa.decimal128(5, 2), some(dec(5, 2))),
        "d18": (pa.decimal128(18, 6), some(dec(18, 6))),
        "d20": (pa.decimal128(20, 0), some(dec(20, 0))),
        "d38": (pa.decimal128(38, 10), some(dec(38, 10))),
        "date": (pa.date32(), some(lambda i: rnd.randrange(-700000, 2900000))),
        "ts": (pa.timestamp("ns"), some(stamp)),
        "ltz": (pa.timestamp("ns", "UTC"), some(stamp)),
        "null": (pa.int32(), [None] * ROWS),
        "nullstr": (pa.string(), [None] * ROWS),
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


def runs(rnd):
    n = 1500

    def patched(i):  # a few values far larger than the others
        return rnd.randrange(100) if rnd.random() > 0.03 else rnd.randrange(2**rnd.randrange(10, 45))

    def mixed(i):  # every width, a block of each
        return rnd.randrange(-2**(i // 25 + 1), 2**(i // 25 + 1))

    total = [0]

    def rising(most):
        def f(i):
            total[0] += rnd.randrange(1, most)
            return total[0]
        return f

    c = {
        "same": [7] * n, "step": [5 * i - 1000 for i in range(n)], "down": [-3 * i for i in range(n)],
        "short": [i // 5 * 1000 for i in range(n)], "patched": [patched(i) for i in range(n)],
        "negpatched": [-patched(i) for i in range(n)], "mixed": [mixed(i) for i in range(n)],
        "rising": list(map(rising(1000), range(n))), "falling": [-v for v in map(rising(1000000), range(n))],
        "random": [rnd.randrange(-2**63, 2**63) for i in range(n)],
        "extreme": [rnd.choice([-2**63, 2**63 - 1]) for i in range(n)],
        "nulls": [None if i // 100 % 3 == 1 or rnd.random() < 0.1 else i for i in range(n)],
    }
    c = {name: (pa.int64(), v) for name, v in c.items()}
    c["bytes"] = (pa.int8(), [i // 7 % 100 if i % 1000 < 500 else rnd.randrange(-128, 128) for i in range(n)])
    c["bools"] = (pa.bool_(), [i // 200 % 2 == 0 or rnd.random() < 0.3 for i in range(n)])
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
    if pa.types.is_map(t):
        return [[text(t.key_type, k), text(t.item_type, x)] for k, x in v]
    if pa.types.is_list(t):
        return [text(t.value_type, x) for x in v]
    if pa.types.is_struct(t):
        return {f.name: text(f.type, v[f.name]) for f in t}
    return str(v)


def main(folder, seed):
    os.makedirs(folder, exist_ok=True)
    for name, make in ("types", types), ("runs", runs):
        cols = make(random.Random(seed))
        table = pa.table([pa.array(v, t) for t, v in cols.values()], names=list(cols))
        rows = [{n: text(t, v[i]) for n, (t, v) in cols.items()} for i in range(table.num_rows)]
        with open(os.path.join(folder, name + ".json"), "w") as f:
            json.dump(rows, f, ensure_ascii=False, separators=(",", ":"))

        def write(variant, **options):
            orc.write_table(table, os.path.join(folder, name + "_" + variant + ".orc"), **options)

        write("none", compression="uncompressed")
        write("none_v1", compression="uncompressed", file_version="0.11")
        if name == "types":
            write("zlib_dict", compression="zlib", dictionary_key_size_threshold=1.0, row_index_stride=16)
            write("zlib_dict_v1", compression="zlib", file_version="0.11", dictionary_key_size_threshold=1.0)
            write("lz4_bloom", compression="lz4", bloom_filter_columns=[0, 5, 9], row_index_stride=20)
        write("snappy_stripes", compression="snappy", stripe_size=1 if name == "types" else 4096, batch_size=16)
        write("zstd_small", compression="zstd", compression_block_size=64 if name == "types" else 1024, compression_strategy="compression")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 7)
