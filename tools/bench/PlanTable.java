import java.util.HashMap;
import java.util.Map;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.options.Options;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;

/**
 * Plans one table as any of Paimon's readers does, and prints the number of partitions and the sums
 * of files, records and bytes: what the provider's own planning prints.
 *
 * <p>Arguments: the warehouse, the database, the table.
 */
public final class PlanTable {
    public static void main(String[] args) throws Exception {
        Options options = new Options();
        options.set("warehouse", args[0]);
        try (Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            FileStoreTable table = (FileStoreTable) catalog.getTable(Identifier.create(args[1], args[2]));
            Map<BinaryRow, long[]> partitions = new HashMap<>();
            for (Split split : table.newReadBuilder().newScan().plan().splits()) {
                DataSplit s = (DataSplit) split;
                long[] sums = partitions.computeIfAbsent(s.partition(), p -> new long[3]);
                for (DataFileMeta file : s.dataFiles()) {
                    sums[0]++;
                    sums[1] += file.rowCount();
                    sums[2] += file.fileSize();
                }
            }
            long[] all = new long[3];
            for (long[] sums : partitions.values()) {
                for (int i = 0; i < all.length; i++) {
                    all[i] += sums[i];
                }
            }
            System.out.println(partitions.size() + " " + all[0] + " " + all[1] + " " + all[2]);
        }
    }
}
