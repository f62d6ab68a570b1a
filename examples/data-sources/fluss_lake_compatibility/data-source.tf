# The preview as data, here as a gate in CI. It holds before the promotion and,
# for a table that is promoted already, after it.
data "fluss_lake_compatibility" "orders" {
  database       = "sales"
  table          = "orders"
  prepare_source = true
  lake_layout    = "legacy"

  lifecycle {
    postcondition {
      condition     = self.compatible
      error_message = join("\n", [for e in self.errors : "${e.summary}: ${coalesce(e.found, "-")}"])
    }
  }
}

# What to run on the Paimon table if prepare_source is not wanted.
output "statements" {
  value = data.fluss_lake_compatibility.orders.statements
}

# Pin the promotion to the snapshot that was reviewed. After the promotion
# pin_snapshot_id stays the one that was promoted, while snapshot_id moves on.
resource "fluss_lake_promotion" "orders" {
  database           = "sales"
  table              = "orders"
  prepare_source     = true
  lake_layout        = "legacy"
  source_snapshot_id = data.fluss_lake_compatibility.orders.pin_snapshot_id
}
