"""Looks up keys in a Fluss table with pyfluss.

arguments: bootstrap, config?, table "db.table", keys [{column: text}], by? [columns of a prefix lookup]
answer: rows, one entry a key: the row or null; for a prefix lookup a list of rows
"""
import asyncio

from common import read, run, show
from flussio import connect, path, trees

LANES = 128


async def lookup(args):
    conn = await connect(args)
    try:
        table = await conn.get_table(path(args))
        types = trees(table.get_table_info())
        by_name = dict(types)
        builder = table.new_lookup()
        if args.get("by"):
            builder = builder.lookup_by(args["by"])

        async def one(lookuper, key):
            found = await lookuper.lookup({n: read(v, by_name[n], False) for n, v in key.items()})
            if args.get("by"):
                return [{n: show(r[n], t) for n, t in types} for r in found]
            return None if found is None else {n: show(found[n], t) for n, t in types}

        # A lookuper answers one key at a time and waits 100 ms for company, which
        # only other lookupers can give.
        keys = args["keys"]
        out = [None] * len(keys)
        lanes = min(LANES, len(keys))

        async def lane(first):
            lookuper = builder.create_lookuper()
            for at in range(first, len(keys), lanes):
                out[at] = await one(lookuper, keys[at])

        await asyncio.gather(*(lane(i) for i in range(lanes)))
        return {"rows": out}
    finally:
        await conn.close()


run(lambda args: asyncio.run(lookup(args)))
