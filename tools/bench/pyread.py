"""Reads the benchmark's Paimon table merged, once for each line on standard
input, as Arrow batches. Then it prints the rows, the sum of what it saw, and the
seconds of wall time and of processor time.

usage: python3 pyread.py pypaimon|pypaimon-rust WAREHOUSE DATABASE TABLE
"""
import sys
import time

import pyarrow as pa
import pyarrow.compute as pc


def pypaimon(warehouse, table):
    from pypaimon import CatalogFactory
    found = CatalogFactory.create({"warehouse": warehouse}).get_table(table)

    def batches():
        builder = found.new_read_builder()
        return builder.new_read().to_arrow_batch_reader(builder.new_scan().plan().splits())
    return batches


def rust(warehouse, table):
    from pypaimon_rust.datafusion import PaimonCatalog
    found = PaimonCatalog({"warehouse": warehouse}).get_table(table)

    def batches():
        builder = found.new_read_builder()
        return builder.new_read().read_arrow(builder.new_scan().plan().splits())
    return batches


def total(column):
    """Numbers, and the lengths of texts: what ReadTable.java sums."""
    t = column.type
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        column = pc.binary_length(column)
    elif pa.types.is_decimal(t):
        return int((pc.sum(column).as_py() or 0).scaleb(t.scale))
    elif pa.types.is_date32(t):
        column = column.cast(pa.int32())
    elif pa.types.is_timestamp(t):
        column = column.cast(pa.timestamp("ms")).cast(pa.int64())
    elif pa.types.is_floating(t):
        column = pc.cast(column, pa.int64(), safe=False)
    return pc.sum(column.cast(pa.int64())).as_py() or 0


if __name__ == "__main__":
    which, warehouse, database, name = sys.argv[1:]
    read = {"pypaimon": pypaimon, "pypaimon-rust": rust}[which](warehouse, f"{database}.{name}")
    for _ in sys.stdin:
        began, used = time.time(), time.process_time()
        rows, seen = 0, 0
        for batch in read():
            rows += batch.num_rows
            seen += sum(total(c) for c in batch.columns)
        print(rows, seen, time.time() - began, time.process_time() - used, flush=True)
