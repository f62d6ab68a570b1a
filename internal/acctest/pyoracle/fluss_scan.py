"""Reads a whole Fluss table with pyfluss.

arguments: bootstrap, config?, table "db.table", mode "table" or "log", digest? bool, limit? rows of a bucket
answer, mode table (key tables; a bounded scan of each bucket's current rows, and log tables' records):
  rows, or with digest count and columns
answer, mode log (the change log from the first record to the present end): records
  [{partition, bucket, offset, change, row}]
"""
import asyncio

import fluss
import pyarrow as pa

from common import digest, rows, run, show
from flussio import buckets, connect, path, table_bucket, trees

# A limit scan needs a limit; no test's bucket holds this many rows.
EVERYTHING = 100_000_000


async def current(table, info, places, args):
    if table.has_primary_key():
        parts = []
        for pid, _, b in places:
            scan = table.new_scan().limit(args.get("limit") or EVERYTHING)
            parts.append(await scan.create_bucket_batch_scanner(table_bucket(info, pid, b)).to_arrow())
    else:
        scanner = await table.new_scan().create_record_batch_log_scanner()
        for pid, _, b in places:
            subscribe(scanner, pid, b)
        parts = [await scanner.to_arrow()] if places else []
    if not parts:
        parts = [table.arrow_schema.empty_table()]
    return pa.concat_tables(parts)


def subscribe(scanner, pid, bucket):
    if pid is None:
        scanner.subscribe(bucket, fluss.EARLIEST_OFFSET)
    else:
        scanner.subscribe_partition(pid, bucket, fluss.EARLIEST_OFFSET)


async def changes(admin, table, info, places, types):
    """All records up to the ends the log has when the scan begins."""
    ends, names = {}, {}
    for name in {n for _, n, _ in places}:
        ids = list(range(info.num_buckets))
        latest, earliest = fluss.OffsetSpec.latest(), fluss.OffsetSpec.earliest()
        if name is None:
            last = await admin.list_offsets(table.get_table_path(), ids, latest)
            first = await admin.list_offsets(table.get_table_path(), ids, earliest)
        else:
            last = await admin.list_partition_offsets(table.get_table_path(), name, ids, latest)
            first = await admin.list_partition_offsets(table.get_table_path(), name, ids, earliest)
        for pid, n, b in places:
            names[pid] = n if n is not None else names.get(pid)
            if n == name and last[b] > max(first[b], 0):
                ends[(pid, b)] = last[b]
    scanner = await table.new_scan().create_log_scanner()
    for pid, b in ends:
        subscribe(scanner, pid, b)
    out = []
    while ends:
        polled = await scanner.poll(1000)
        for bucket, records in polled.items():
            place = (bucket.partition_id, bucket.bucket_id)
            for r in records:
                if place in ends and r.offset < ends[place]:
                    out.append({"partition": names[place[0]], "bucket": place[1], "offset": r.offset,
                                "change": r.change_type.short_string(), "row": {n: show(r.row[n], t) for n, t in types}})
                if place in ends and r.offset >= ends[place] - 1:
                    del ends[place]
    return sorted(out, key=lambda r: (r["partition"] or "", r["bucket"], r["offset"]))


async def scan(args):
    conn = await connect(args)
    try:
        admin, where = conn.get_admin(), path(args)
        table = await conn.get_table(where)
        info = table.get_table_info()
        types = trees(info)
        places = await buckets(admin, where, info)
        if args.get("mode") == "log":
            return {"records": await changes(admin, table, info, places, types)}
        found = await current(table, info, places, args)
        return digest(found, types) if args.get("digest") else {"rows": rows(found, types)}
    finally:
        await conn.close()


run(lambda args: asyncio.run(scan(args)))
