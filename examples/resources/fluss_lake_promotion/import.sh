# By database and table, at any stage of the promotion.
terraform import fluss_lake_promotion.orders sales.orders
