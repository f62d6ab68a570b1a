import {
  to = fluss_lake_promotion.orders
  identity = {
    database = "sales"
    table    = "orders"
  }
}
