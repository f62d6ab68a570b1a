"""Connecting pyfluss, and what the Fluss scripts share."""
import fluss

from common import Types


async def connect(args):
    """A connection to args["bootstrap"] with the client settings args["config"]."""
    return await fluss.FlussConnection.create(
        fluss.Config({"bootstrap.servers": args["bootstrap"], **(args.get("config") or {})}))


def path(args):
    database, table = args["table"].split(".", 1)
    return fluss.TablePath(database, table)


def trees(info):
    """(column, type) of a table."""
    return [(name, Types(text).parse()) for name, text in info.get_schema().get_columns()]


async def buckets(admin, table_path, info):
    """All buckets of a table, of all its partitions: [(partition ID or None, name or None, bucket)]."""
    parts = [(None, None)]
    if info.is_partitioned():
        parts = [(p.partition_id, p.partition_name) for p in await admin.list_partition_infos(table_path)]
    return [(pid, name, b) for pid, name in parts for b in range(info.num_buckets)]


def table_bucket(info, pid, bucket):
    if pid is None:
        return fluss.TableBucket(info.table_id, bucket)
    return fluss.TableBucket.with_partition(info.table_id, pid, bucket)
