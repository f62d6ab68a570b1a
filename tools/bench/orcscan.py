"""A file for the comparison of ORC readers: python3 orcscan.py make FILE (needs
pyarrow). A table as a loader meets it: keys in order, some nulls, a few columns
of few values, zstd.

With "read" it reads the whole file on one thread and prints the rows a second of
processor time.
"""
import decimal
import random
import sys
import time

import pyarrow as pa
import pyarrow.orc as orc

ROWS = 500_000


def make(path):
    rnd = random.Random(1)
    some = lambda f: [None if rnd.randrange(10) == 0 else f(i) for i in range(ROWS)]
    table = pa.table({
        "id": pa.array(range(ROWS), pa.int64()),
        "a": pa.array(some(lambda i: rnd.randrange(2**31)), pa.int32()),
        "b": pa.array([rnd.randrange(50) for _ in range(ROWS)], pa.int32()),
        "c": pa.array(some(lambda i: rnd.randrange(2**63)), pa.int64()),
        "price": pa.array([decimal.Decimal(rnd.randrange(10**9) - 10**8).scaleb(-2) for _ in range(ROWS)], pa.decimal128(12, 2)),
        "at": pa.array([1_700_000_000_000 + i * 17 + rnd.randrange(1000) for i in range(ROWS)], pa.timestamp("ms")),
        "day": pa.array([19000 + rnd.randrange(700) for _ in range(ROWS)], pa.int32()).cast(pa.date32()),
        "status": pa.array(["status-%d" % rnd.randrange(12) for _ in range(ROWS)]),
        "note": pa.array(some(lambda i: "note %d of customer %d" % (rnd.randrange(1000), rnd.randrange(100000)))),
        "score": pa.array([rnd.random() for _ in range(ROWS)]),
    })
    orc.write_table(table, path, compression="zstd", compression_block_size=256 << 10, dictionary_key_size_threshold=0.8)


def read(path):
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    start = time.process_time()
    file = orc.ORCFile(path)
    rows = sum(file.read_stripe(i).num_rows for i in range(file.nstripes))
    print(rows / (time.process_time() - start))


if __name__ == "__main__":
    {"make": make, "read": read}[sys.argv[1]](sys.argv[2])
