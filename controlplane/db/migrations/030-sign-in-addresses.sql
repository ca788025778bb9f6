-- Addresses from which an account signed in: SHA-256 of the e-mail address and the client's network. Attempts from them
-- are not counted together with those of strangers.
create table sign_in_addresses (
  pair_sha256 bytea primary key,
  last_at     timestamptz not null default now()
);
create index sign_in_addresses_last on sign_in_addresses (last_at);
