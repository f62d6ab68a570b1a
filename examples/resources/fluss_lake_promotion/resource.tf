# The Paimon table sales.orders becomes the Fluss table sales.orders.
resource "fluss_lake_promotion" "orders" {
  database = "sales"
  table    = "orders"

  # May commit one metadata-only schema version to the Paimon table; the plan
  # says what it would change.
  prepare_source = true

  # Fluss 0.9 only.
  lake_layout = "legacy"
}

# A partitioned table of which only the newest days are served by Fluss.
resource "fluss_lake_promotion" "events" {
  database = "sales"
  table    = "events"

  partitions = [
    { dt = "2026-11-28" },
    { dt = "2026-11-29" },
  ]

  table_properties = {
    "table.datalake.freshness" = "1min"
    "table.replication.factor" = "3"
  }

  # Fail the plan if the source has options that the provider does not know,
  # except for these.
  unvalidated_properties  = "deny"
  acknowledged_properties = ["team.owner"]

  verification = "full"
  load         = { parallelism = 8 }
  timeouts     = { create = "6h", update = "6h", delete = "10m" }
}
