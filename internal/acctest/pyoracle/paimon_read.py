"""Reads a Paimon table with pypaimon.

arguments: warehouse, table "db.table", snapshot_id? (default: the newest; under the newest schema), digest? bool
answer: snapshot_id read (null: none), and rows, or with digest count and columns
"""
from pypaimon import CatalogFactory
from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.read.scanner.file_scanner import FileScanner

from common import digest, paimon_tree, rows, run


def splits(table, builder, snapshot):
    """The splits of one snapshot: pypaimon itself only travels to tags."""
    scan = builder.new_scan()
    scan.file_scanner = FileScanner(table, lambda: (ManifestListManager(table).read_all(snapshot), snapshot), None, None)
    return scan.plan().splits()


def read(args):
    table = CatalogFactory.create({"warehouse": args["warehouse"]}).get_table(args["table"])
    wanted, snapshots = args.get("snapshot_id"), table.snapshot_manager()
    snapshot = snapshots.get_snapshot_by_id(wanted) if wanted else snapshots.get_latest_snapshot()
    if snapshot is None and wanted:
        raise ValueError(f"{args['table']} has no snapshot {wanted}")
    trees = [(f.name, paimon_tree(f.type.to_dict())) for f in table.table_schema.fields]
    builder = table.new_read_builder()
    reader = builder.new_read()
    found = reader.to_arrow(splits(table, builder, snapshot) if snapshot else [])
    answer = {"snapshot_id": snapshot.id if snapshot else None}
    return {**answer, **(digest(found, trees) if args.get("digest") else {"rows": rows(found, trees)})}


run(read)
