import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.fluss.client.Connection;
import org.apache.fluss.client.ConnectionFactory;
import org.apache.fluss.client.table.writer.UpsertWriter;
import org.apache.fluss.config.ConfigOptions;
import org.apache.fluss.config.Configuration;
import org.apache.fluss.metadata.TablePath;
import org.apache.fluss.row.BinaryString;
import org.apache.fluss.row.Decimal;
import org.apache.fluss.row.GenericRow;
import org.apache.fluss.row.TimestampNtz;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.options.Options;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;

/**
 * Loads the benchmark's Paimon table into a Fluss table as a Java program would: each thread reads
 * splits, merged, and gives their rows to an UpsertWriter of its own, on one connection with the
 * client's defaults. Prints the rows and the seconds from the first read to the last
 * acknowledgement.
 *
 * <p>Arguments: the warehouse, the database, the Paimon table, the servers, the Fluss table (of the
 * same database), the number of threads.
 */
public final class LoadTable {
    private static final AtomicReference<Throwable> failure = new AtomicReference<>();

    public static void main(String[] args) throws Exception {
        Options options = new Options();
        options.set("warehouse", args[0]);
        Configuration conf = new Configuration();
        conf.set(ConfigOptions.BOOTSTRAP_SERVERS, List.of(args[3]));
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options));
                Connection connection = ConnectionFactory.createConnection(conf)) {
            Table from = catalog.getTable(Identifier.create(args[1], args[2]));
            ReadBuilder builder = from.newReadBuilder();
            long began = System.nanoTime();
            ConcurrentLinkedQueue<Split> splits = new ConcurrentLinkedQueue<>(builder.newScan().plan().splits());
            AtomicLong rows = new AtomicLong();
            Thread[] threads = new Thread[Integer.parseInt(args[5])];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(() -> {
                    try {
                        rows.addAndGet(load(builder, splits, connection, TablePath.of(args[1], args[4])));
                    } catch (Throwable e) {
                        failure.compareAndSet(null, e);
                    }
                });
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            if (failure.get() != null) {
                throw new RuntimeException(failure.get());
            }
            System.out.println(rows.get() + " " + (System.nanoTime() - began) / 1e9);
        }
    }

    private static long load(ReadBuilder builder, ConcurrentLinkedQueue<Split> splits, Connection connection, TablePath into) throws Exception {
        long rows = 0;
        try (org.apache.fluss.client.table.Table table = connection.getTable(into)) {
            UpsertWriter writer = table.newUpsert().createWriter();
            for (Split split = splits.poll(); split != null && failure.get() == null; split = splits.poll()) {
                try (RecordReader<InternalRow> reader = builder.newRead().createReader(split)) {
                    RecordReader.RecordIterator<InternalRow> batch;
                    while ((batch = reader.readBatch()) != null) {
                        InternalRow row;
                        while ((row = batch.next()) != null) {
                            rows++;
                            writer.upsert(convert(row)).exceptionally(e -> {
                                failure.compareAndSet(null, e);
                                return null;
                            });
                        }
                        batch.releaseBatch();
                    }
                }
            }
            writer.flush();
        }
        return rows;
    }

    private static GenericRow convert(InternalRow row) {
        GenericRow out = new GenericRow(10);
        out.setField(0, row.getLong(0));
        out.setField(1, row.isNullAt(1) ? null : row.getLong(1));
        out.setField(2, text(row, 2));
        out.setField(3, text(row, 3));
        out.setField(4, row.isNullAt(4) ? null : row.getInt(4));
        out.setField(5, row.isNullAt(5) ? null : row.getDouble(5));
        out.setField(6, row.isNullAt(6) ? null : Decimal.fromUnscaledLong(row.getDecimal(6, 12, 2).toUnscaledLong(), 12, 2));
        out.setField(7, row.isNullAt(7) ? null : row.getInt(7));
        out.setField(8, row.isNullAt(8) ? null : TimestampNtz.fromMillis(row.getTimestamp(8, 3).getMillisecond()));
        out.setField(9, text(row, 9));
        return out;
    }

    private static BinaryString text(InternalRow row, int column) {
        return row.isNullAt(column) ? null : BinaryString.fromBytes(row.getString(column).toBytes());
    }
}
