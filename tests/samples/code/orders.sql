-- Orders and who made them.
CREATE TABLE IF NOT EXISTS shop.customers (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL CHECK (name <> ''),
    joined_on   DATE NOT NULL DEFAULT CURRENT_DATE,
    is_business BOOLEAN NOT NULL DEFAULT FALSE,
    note        TEXT
);

create unique index customers_by_name on shop.customers (name);

CREATE OR REPLACE FUNCTION shop.count_orders(customer INTEGER) RETURNS BIGINT
LANGUAGE plpgsql
AS $$
DECLARE
    total BIGINT;
BEGIN
    -- Orders that were cancelled within the hour count as if they had never been made.
    SELECT count(*) INTO total FROM shop.orders WHERE customer_id = customer AND NOT cancelled_at_once;
    RETURN total;
END;
$$;
