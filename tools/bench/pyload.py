"""Loads the benchmark's Paimon table into a Fluss table as a Python program
would: rows of pypaimon's iterator into pyfluss's UpsertWriter, both as shipped.
Prints the rows and the seconds from the first read to the last acknowledgement.

usage: python3 pyload.py WAREHOUSE DATABASE PAIMON_TABLE BOOTSTRAP FLUSS_TABLE
"""
import asyncio
import os
import sys
import time

import fluss
from pypaimon import CatalogFactory


async def main(warehouse, database, source, bootstrap, table):
    connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": bootstrap}))
    into = await connection.get_table(fluss.TablePath(database, table))
    builder = CatalogFactory.create({"warehouse": warehouse}).get_table(f"{database}.{source}").new_read_builder()
    began = time.time()
    rows = 0
    writer = into.new_upsert().create_writer()
    for row in builder.new_read().to_iterator(builder.new_scan().plan().splits()):
        # The values of one row, without a call for each of them.
        writer.upsert(row.row_tuple[row.offset:row.offset + row.arity])
        rows += 1
    await writer.flush()
    print(rows, time.time() - began, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
    # One exit in four of pyfluss 1.0.0 ends in an abort, after everything was
    # acknowledged: its threads outlive the interpreter.
    os._exit(0)
