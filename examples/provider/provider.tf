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
  bootstrap_servers = ["fluss-1.example.com:9123", "fluss-2.example.com:9123"]

  # Only for clusters that ask for a login. FLUSS_SASL_USERNAME and
  # FLUSS_SASL_PASSWORD do the same.
  sasl = {
    username = "terraform"
    password = var.fluss_password
  }
}
