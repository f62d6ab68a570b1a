"""Creates a Paimon table with pypaimon and writes rows to it, one commit a batch.

arguments: warehouse, table "db.table", fields [{name, type as in Paimon's schema files, description?}],
  primary_keys?, partition_keys?, options?, comment?, batches? [[{column: text}]]
  With batches absent or empty only the table is made; a table that exists is written to.
answer: snapshot_id of the last commit (null: none)

pypaimon does not merge rows of one key within a batch, so such a batch is refused.
"""
import json

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.schema.data_types import AtomicInteger, DataTypeParser, PyarrowFieldParser

from common import paimon_tree, read, run


def open_table(args):
    catalog = CatalogFactory.create({"warehouse": args["warehouse"]})
    database = args["table"].split(".", 1)[0]
    catalog.create_database(database, True)
    next_id = AtomicInteger(-1)
    fields = [DataTypeParser.parse_data_field(f, next_id) for f in args["fields"]]
    keys = args.get("primary_keys") or []
    for f in fields:
        if f.name in keys:
            f.type.nullable = False
    schema = Schema(fields=fields, partition_keys=args.get("partition_keys") or [], primary_keys=keys,
                    options=args.get("options") or {}, comment=args.get("comment"))
    catalog.create_table(args["table"], schema, True)
    return catalog.get_table(args["table"])


def latest(table):
    found = table.snapshot_manager().get_latest_snapshot()
    return None if found is None else found.id


def commit(table, fill):
    """One commit of what fill writes with the table's writer."""
    builder = table.new_batch_write_builder()
    writer, committer = builder.new_write(), builder.new_commit()
    try:
        fill(writer)
        committer.commit(writer.prepare_commit())
    finally:
        writer.close()
        committer.close()


def write(args):
    table = open_table(args)
    fields = table.table_schema.fields
    schema = PyarrowFieldParser.from_paimon_schema(fields)
    trees = [(f.name, paimon_tree(f.type.to_dict())) for f in fields]
    keys = table.table_schema.primary_keys
    for n, batch in enumerate(args.get("batches") or []):
        seen = {json.dumps([r.get(k) for k in keys]) for r in batch}
        if keys and len(seen) != len(batch):
            raise ValueError(f"batch {n} holds a key twice; put its versions into batches of their own")
        unknown = {c for r in batch for c in r} - {name for name, _ in trees}
        if unknown:
            raise ValueError(f"batch {n}: no columns {sorted(unknown)} in the table")
        columns = [pa.array([read(r.get(name), t, True) for r in batch], schema.field(name).type) for name, t in trees]
        commit(table, lambda w: w.write_arrow(pa.Table.from_arrays(columns, schema=schema)))
    return {"snapshot_id": latest(table)}


if __name__ == "__main__":
    run(write)
