"""Reads with pyfluss which lake snapshot a Fluss table has registered.

arguments: bootstrap, config?, table "db.table"
answer: snapshot_id (null: none), offsets [{partition_id (null: none), bucket, offset}]
"""
import asyncio

import fluss

from common import run
from flussio import connect, path


async def lake_snapshot(args):
    conn = await connect(args)
    try:
        try:
            found = await conn.get_admin().get_latest_lake_snapshot(path(args))
        except fluss.FlussError as e:
            if e.error_code == fluss.ErrorCode.LAKE_SNAPSHOT_NOT_EXIST:
                return {"snapshot_id": None, "offsets": []}
            raise
        offsets = [{"partition_id": b.partition_id, "bucket": b.bucket_id, "offset": o}
                   for b, o in found.table_buckets_offset.items()]
        return {"snapshot_id": found.snapshot_id,
                "offsets": sorted(offsets, key=lambda o: (o["partition_id"] or -1, o["bucket"]))}
    finally:
        await conn.close()


run(lambda args: asyncio.run(lake_snapshot(args)))
