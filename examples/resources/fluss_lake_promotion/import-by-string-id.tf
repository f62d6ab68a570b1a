import {
  to = fluss_lake_promotion.orders
  id = "sales.orders"
}
