# Promotes a table whose rows a Flink cluster loads.

terraform {
  required_providers {
    fluss = {
      source = "fluss-lake/fluss"
    }
  }
}

variable "fluss_password" {
  type      = string
  sensitive = true
}

provider "fluss" {
  bootstrap_servers = ["fluss-1:9123", "fluss-2:9123"]

  sasl = {
    username = "promoter"
    password = var.fluss_password
  }

  flink = {
    sql_gateway_url = "http://flink:8083"

    # Asked about jobs that the job manager has forgotten.
    history_server_url = "http://flink:8082"
  }
}

resource "fluss_lake_promotion" "orders" {
  database = "sales"
  table    = "orders"

  prepare_source = true
  lake_layout    = "legacy" # the cluster is Fluss 0.9

  load = {
    engine      = "flink"
    parallelism = 8

    flink = {
      settings = {
        # Without a restart strategy the loss of one task manager fails the job.
        "restart-strategy.type"                              = "exponential-delay"
        "restart-strategy.exponential-delay.initial-backoff" = "5 s"
      }
    }
  }

  timeouts = { create = "24h" }
}

output "flink_job" {
  value = fluss_lake_promotion.orders.load_job_id
}
