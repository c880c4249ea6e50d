-- The tables of the archive. What each column and index is for is written in
-- ent/schema; a test proves that both say the same. Migrations only go forward.

-- +goose Up
CREATE TABLE vouchers (
    id                     text     NOT NULL PRIMARY KEY,
    title                  text     NOT NULL,
    subtitle               text,
    rules                  json     NOT NULL,
    shop_id                text,
    pay_minor              integer  NOT NULL,
    pay_currency           text     NOT NULL,
    actual_minor           integer  NOT NULL,
    actual_currency        text     NOT NULL,
    total                  integer  NOT NULL,
    per_buyer_limit        integer  NOT NULL,
    payment_window_seconds integer  NOT NULL,
    opens_at               datetime NOT NULL,
    closes_at              datetime NOT NULL,
    paused                 bool     NOT NULL,
    epoch                  integer  NOT NULL,
    sold                   integer  NOT NULL,
    created_at             datetime NOT NULL,
    CONSTRAINT vouchers_sold_in_total CHECK (sold BETWEEN 0 AND total)
);

CREATE TABLE orders (
    id             text     NOT NULL PRIMARY KEY,
    voucher_id     text     NOT NULL,
    buyer_id       text     NOT NULL,
    request_id     text     NOT NULL,
    quantity       integer  NOT NULL,
    ordinal        integer,
    status         text     NOT NULL,
    version        integer  NOT NULL,
    epoch          integer  NOT NULL,
    stream_id      text     NOT NULL,
    claimed_at     datetime NOT NULL,
    committed_at   datetime,
    pay_before     datetime,
    rejection_code text,
    release_due    bool     NOT NULL,
    updated_at     datetime NOT NULL,
    CONSTRAINT orders_live_has_ordinal CHECK (status IN ('COMMITTED', 'PAID', 'REDEEMED') = (ordinal IS NOT NULL))
);
CREATE UNIQUE INDEX orders_live ON orders (voucher_id, buyer_id, ordinal) WHERE ordinal IS NOT NULL;
CREATE INDEX orders_of_buyer ON orders (buyer_id, claimed_at);
CREATE INDEX orders_release_due ON orders (updated_at) WHERE release_due;

CREATE TABLE dead_letters (
    id         integer  NOT NULL PRIMARY KEY AUTOINCREMENT,
    partition  integer  NOT NULL,
    stream_id  text     NOT NULL,
    fields     json     NOT NULL,
    reason     text     NOT NULL,
    created_at datetime NOT NULL
);
CREATE UNIQUE INDEX dead_letters_entry ON dead_letters (partition, stream_id);
