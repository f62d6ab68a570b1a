"""Makes the benchmark table with pypaimon: 10 columns, one BIGINT key, fixed
buckets, a first commit of all rows and further ones that update a share of the keys.
Large tables are written in pieces, each of a range of keys and with commits of its own.

arguments: warehouse, table "db.table", rows (2000000), buckets (4), updates (0.1), commits (2),
  piece (rows), seed (1), options?
answer: rows, stored, snapshot_id, and the sums of the rows a reader must find
  (id, customer, quantity, amount as text)
"""
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.schema.data_types import PyarrowFieldParser

from common import run
from paimon_write import commit, latest, open_table

FIELDS = [
    ("id", "BIGINT NOT NULL"), ("customer", "BIGINT"), ("city", "STRING"), ("status", "STRING"), ("quantity", "INT"),
    ("price", "DOUBLE"), ("amount", "DECIMAL(12, 2)"), ("day", "DATE"), ("created", "TIMESTAMP(3)"), ("note", "STRING"),
]
CITIES = ["Oslo", "Bern", "Rome", "Lima", "Kyiv", "Pune", "Quito", "Hanoi", "Accra", "Turin", "Sofia", "Cairo"]
SUMMED = ["id", "customer", "quantity", "amount"]
STATES = ["new", "paid", "packed", "sent", "done", "returned"]


def rotate(x, n):
    return (x << np.uint32(n)) | (x >> np.uint32(32 - n))


def bucket_of(ids, buckets):
    """Paimon's bucket of one BIGINT key, for whole columns: Murmur3 with seed 42
    over the 16 bytes of its BinaryRow (8 of header and null bits, then the value)."""
    with np.errstate(over="ignore"):
        bits = ids.astype(np.int64).view(np.uint64)
        words = [np.zeros(len(ids), np.uint32), np.zeros(len(ids), np.uint32),
                 (bits & np.uint64(0xFFFFFFFF)).astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)]
        h = np.full(len(ids), 42, np.uint32)
        for k in words:
            k = rotate(k * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
            h = rotate(h ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)
        h ^= np.uint32(16)
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        h ^= h >> np.uint32(16)
    signed = h.view(np.int32).astype(np.int64)
    return np.abs(np.fmod(signed, buckets))


def columns(ids, rng, version, schema):
    """Rows for the keys; version tells the two commits apart."""
    n = len(ids)
    cents = rng.integers(-10**9, 10**9, n)
    text = pc.binary_join_element_wise(
        pa.array(np.full(n, f"v{version}")), pa.array(ids % 9973).cast(pa.string()), pa.array(ids).cast(pa.string()), "-")
    amount = pa.array(cents).cast(pa.decimal128(19, 0))
    amount = pc.multiply(amount, pa.scalar(decimal.Decimal("0.01"), pa.decimal128(3, 2))).cast(pa.decimal128(12, 2))
    nulls = pa.array(rng.integers(0, 50, n) == 0)
    made = [
        pa.array(ids), pa.array(rng.integers(0, 200_000, n)),
        pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(CITIES), n)), pa.array(CITIES)).cast(pa.string()),
        pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, len(STATES), n)), pa.array(STATES)).cast(pa.string()),
        pa.array(rng.integers(1, 100, n).astype(np.int32)), pa.array(rng.random(n) * 1000), amount,
        pa.array((19000 + rng.integers(0, 1000, n)).astype(np.int32)).cast(pa.date32()),
        pa.array(1_700_000_000_000 + rng.integers(0, 10**10, n)).cast(pa.timestamp("ms")),
        pc.if_else(nulls, pa.scalar(None, pa.string()), text),
    ]
    return pa.Table.from_arrays([m.cast(f.type) for m, f in zip(made, schema)], schema=schema)


def fill(table, data, ids, buckets):
    """A function that gives a writer each bucket's rows at once: pypaimon sorts
    a bucket again with every piece, and its own bucketing is a loop over rows."""
    where = bucket_of(ids, buckets)

    def write(writer):
        sample = data.slice(0, 1000).combine_chunks().to_batches()[0]
        _, own = writer.row_key_extractor.extract_partition_bucket_batch(sample)
        if list(own) != list(where[:len(own)]):
            raise ValueError("this script and pypaimon disagree about buckets")
        for b in range(buckets):
            part = data.take(pa.array(np.nonzero(where == b)[0])).combine_chunks()
            for batch in part.to_batches():
                writer.file_store_write.write((), b, batch)

    return write


def bench(args):
    rows, buckets = args.get("rows") or 2_000_000, args.get("buckets") or 4
    options = {"bucket": str(buckets), "bucket-key": "id", "partition.legacy-name": "false", **(args.get("options") or {})}
    table = open_table({**args, "fields": [{"name": n, "type": t} for n, t in FIELDS], "primary_keys": ["id"],
                        "options": options})
    if latest(table) is not None:
        raise ValueError(f"{args['table']} already has rows; remove it or choose another name")
    schema = PyarrowFieldParser.from_paimon_schema(table.table_schema.fields)
    rng = np.random.default_rng(args.get("seed") or 1)
    share = args["updates"] if args.get("updates") is not None else 0.1
    stored, totals = 0, dict.fromkeys(SUMMED, decimal.Decimal(0))
    step = args.get("piece") or rows
    for begin in range(0, rows, step):
        n = min(step, rows - begin)
        ids = begin + rng.permutation(n).astype(np.int64)
        versions = []
        for version in range(1, (args.get("commits") or 2) + 1):
            if version > 1:
                ids = begin + rng.choice(n, int(n * share), replace=False).astype(np.int64)
            if len(ids):
                versions.append((ids, columns(ids, rng, version, schema)))
                commit(table, fill(table, versions[-1][1], ids, buckets))
        replaced = np.zeros(n, bool)
        for ids, data in reversed(versions):
            kept = data.filter(pa.array(~replaced[ids - begin]))
            replaced[ids - begin] = True
            stored += len(ids)
            for name in SUMMED:
                totals[name] += pc.sum(kept[name].cast(pa.decimal128(38, 2))).as_py() or 0
    sums = {name: format(t, "f") if name == "amount" else str(int(t)) for name, t in totals.items()}
    return {"rows": rows, "stored": stored, "snapshot_id": latest(table), "sums": sums}


if __name__ == "__main__":
    run(bench)
