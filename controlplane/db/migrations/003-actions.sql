-- Actions that agents submit to v1, the nonces of their decision tokens, and reading the audit log per agent.

create table action_requests (
  id          text primary key,
  org_id      text not null references orgs(id),
  agent_id    text not null,
  -- its name when it asked: what stops, approvals and people know it by
  agent       text not null,
  status      text not null check (status in
    ('pending_approval','allowed','denied','cancelled','expired','executed','execution_failed')),
  -- `json`, not `jsonb`: given back as it was sent, and never searched
  action_spec json not null,
  -- the Decision object of v1
  decision    json not null,
  connector   text not null,
  batch_id    text,
  approval_id text,
  webhook_url text,
  created_at  timestamptz not null default statement_timestamp()
) with (fillfactor = 90);
create index action_requests_recent on action_requests (org_id, created_at desc);

-- One row per decision token. The token itself is stored nowhere: it is signed again from these claims.
create table nonces (
  jti        text primary key,
  act_id     text not null,
  kid        text not null,
  -- whole seconds, as the token says them
  issued_at  timestamptz not null,
  expires_at timestamptz not null,
  used_at    timestamptz,
  used_by    text check (used_by in ('verify','execute','cancel'))
) with (fillfactor = 80);
create unique index nonces_action on nonces (act_id);
create index nonces_expiry on nonces (expires_at);

create index idempotency_keys_age on idempotency_keys (created_at);
-- An agent reads its own events, newest first.
create index audit_agent on audit_events (org_id, agent_id, id) where agent_id is not null;
