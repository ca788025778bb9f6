-- Short-lived secrets of Connectors whose credential is exchanged (`credential.oauth2`). One row for each Connector.
create table minted_credentials (
  connector_id  text primary key references connectors(id) on delete cascade,
  org_id        text not null references orgs(id),
  -- Keyed hash of the specification and the stored secret. With another hash the row is outdated.
  source_hash   text,
  -- Number of minted secrets, which identifies a secret in the audit log.
  serial        bigint not null default 0,
  -- {key_id, nonce, ciphertext} of AES-256-GCM: the minted secret, and the refresh token that replaced the stored one
  secret        jsonb,
  rotated       jsonb,
  issued_at     timestamptz,
  expires_at    timestamptz,
  due_at        timestamptz not null default now(),
  claimed_until timestamptz,
  failures      integer not null default 0,
  error         text,
  failed_at     timestamptz
);
