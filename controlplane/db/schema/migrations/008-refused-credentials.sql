-- Refusals of short-lived secrets by upstreams. Each doubles the time until the next secret is replaced for this reason.
alter table minted_credentials
  -- Number of the last secret whose exchange became due because an upstream refused the secret.
  add column refused_serial bigint,
  -- Number of exchanges in sequence for this reason. Another exchange sets it to 0.
  add column refusals smallint not null default 0;
