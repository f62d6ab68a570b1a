# The preview as data, here as a gate in CI.
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

# Pin the promotion to the snapshot that was reviewed.
resource "fluss_lake_promotion" "orders" {
  database           = "sales"
  table              = "orders"
  prepare_source     = true
  lake_layout        = "legacy"
  source_snapshot_id = data.fluss_lake_compatibility.orders.snapshot_id
}
