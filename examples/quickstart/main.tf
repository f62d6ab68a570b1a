# Promotes the Paimon table sales.orders of a small cluster, for trying things:
#
#     FLUSS_BOOTSTRAP_SERVERS=localhost:9123 terraform apply

terraform {
  required_providers {
    fluss = {
      source = "fluss-lake/fluss"
    }
  }
}

variable "bootstrap_servers" {
  description = "Servers of the Fluss cluster. Default: the environment variable FLUSS_BOOTSTRAP_SERVERS."
  type        = list(string)
  default     = null
}

variable "warehouse" {
  description = "Warehouse of the Paimon table. Default: found from the cluster's configuration."
  type        = string
  default     = null
}

provider "fluss" {
  bootstrap_servers = var.bootstrap_servers
  lake              = var.warehouse == null ? null : { warehouse = var.warehouse }
}

resource "fluss_lake_promotion" "orders" {
  database = "sales"
  table    = "orders"

  prepare_source = true
  lake_layout    = "legacy" # the cluster is Fluss 0.9

  # For trying things: terraform destroy drops the Fluss table, and the Paimon
  # table stays.
  deletion_protection = false
}

output "promotion" {
  value = {
    stage         = fluss_lake_promotion.orders.stage
    operation     = fluss_lake_promotion.orders.operation_id
    snapshot      = fluss_lake_promotion.orders.source_snapshot_id
    rows          = fluss_lake_promotion.orders.rows_loaded
    source_change = fluss_lake_promotion.orders.source_changes
  }
}
