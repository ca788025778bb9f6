-- Credentials that manifests name (`credential.vault`), on an installation of one machine.
create table credentials (
  org_id     text not null references orgs(id),
  name       text not null,
  -- {key_id, nonce, ciphertext} of AES-256-GCM
  secret     jsonb not null,
  updated_at timestamptz not null default now(),
  primary key (org_id, name)
);
