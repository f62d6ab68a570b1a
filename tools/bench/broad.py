"""Makes a Paimon table of many columns with large values: a BIGINT key and texts
of the given length, of random letters, in the given number of buckets.

usage: python3 broad.py WAREHOUSE DATABASE.TABLE ROWS COLUMNS VALUE_BYTES BUCKETS
"""
import base64
import sys

import numpy as np
import pyarrow as pa
from pypaimon import CatalogFactory, Schema


def main(warehouse, name, rows, columns, size, buckets):
    rng = np.random.default_rng(1)
    pool = base64.b64encode(rng.bytes(8 << 20)).decode()
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)] + [pa.field(f"c{i}", pa.string()) for i in range(1, columns)])
    catalog = CatalogFactory.create({"warehouse": warehouse})
    catalog.create_database(name.split(".")[0], True)
    catalog.create_table(name, Schema.from_pyarrow_schema(schema, primary_keys=["id"], options={
        "bucket": str(buckets), "bucket-key": "id", "partition.legacy-name": "false"}), False)
    builder = catalog.get_table(name).new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    # In pieces: a table as a whole is some GB.
    for begin in range(0, rows, 8):
        n = min(8, rows - begin)
        texts = [[pool[k:k + size] for k in rng.integers(0, len(pool) - size, n)] for _ in range(1, columns)]
        writer.write_arrow(pa.Table.from_arrays([pa.array(range(begin, begin + n), pa.int64())] + [pa.array(t) for t in texts], schema=schema))
    committer.commit(writer.prepare_commit())
    writer.close()
    committer.close()


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
