import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
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
 * Reads the benchmark's table with Paimon's own reader, merged, on one thread, once for each line
 * on standard input. Then it prints the rows, the sums of what it saw, and the seconds of wall time
 * and of processor time.
 *
 * <p>Arguments: the warehouse, the database, the table.
 */
public final class ReadTable {
    public static void main(String[] args) throws Exception {
        com.sun.management.OperatingSystemMXBean os =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        Options options = new Options();
        options.set("warehouse", args[0]);
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            Table table = catalog.getTable(Identifier.create(args[1], args[2]));
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            while (in.readLine() != null) {
                long began = System.nanoTime();
                long from = os.getProcessCpuTime();
                long rows = 0;
                long sum = 0;
                ReadBuilder builder = table.newReadBuilder();
                for (Split split : builder.newScan().plan().splits()) {
                    try (RecordReader<InternalRow> reader = builder.newRead().createReader(split)) {
                        RecordReader.RecordIterator<InternalRow> batch;
                        while ((batch = reader.readBatch()) != null) {
                            InternalRow row;
                            while ((row = batch.next()) != null) {
                                rows++;
                                sum += sum(row);
                            }
                            batch.releaseBatch();
                        }
                    }
                }
                double wall = (System.nanoTime() - began) / 1e9;
                System.out.println(rows + " " + sum + " " + wall + " " + (os.getProcessCpuTime() - from) / 1e9);
            }
        }
    }

    private static long sum(InternalRow row) {
        long sum = row.getLong(0);
        sum += row.isNullAt(1) ? 0 : row.getLong(1);
        sum += row.isNullAt(2) ? 0 : row.getString(2).getSizeInBytes();
        sum += row.isNullAt(3) ? 0 : row.getString(3).getSizeInBytes();
        sum += row.isNullAt(4) ? 0 : row.getInt(4);
        sum += row.isNullAt(5) ? 0 : (long) row.getDouble(5);
        sum += row.isNullAt(6) ? 0 : row.getDecimal(6, 12, 2).toUnscaledLong();
        sum += row.isNullAt(7) ? 0 : row.getInt(7);
        sum += row.isNullAt(8) ? 0 : row.getTimestamp(8, 3).getMillisecond();
        sum += row.isNullAt(9) ? 0 : row.getString(9).getSizeInBytes();
        return sum;
    }
}
