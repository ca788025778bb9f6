-- Grants: permissions with an expiry and a number of uses, which an approving answer made. A grant approves later holds of
-- the same agent, action and rules.
create table permission_grants (
  id             text primary key,
  org_id         text not null references orgs(id),
  -- the approval whose answer made the grant; approvals are deleted after their retention
  approval_id    text not null,
  gateway_id     text not null references gateways(id) on delete cascade,
  agent          text not null,
  agent_id       text not null,
  -- the claim that has the instance of the agent; null outside of a claim
  claim_uid      text,
  action_type    text not null,
  connector_name text,
  any_target     boolean not null,
  target         text,
  -- values that requests must have, by parameter
  parameters     jsonb not null,
  -- whether requests must have no further parameters, and the query of the answered request
  exact          boolean not null,
  query          text,
  -- rules whose holds the grant releases, in the form of `orderedHeldBy`
  held_by        jsonb not null,
  -- the answers of the approval, in the form of approvals.answers
  answers        jsonb not null,
  max_uses       integer not null check (max_uses > 0),
  uses           integer not null default 0 check (uses <= max_uses),
  created_by     text not null,
  created_at     timestamptz not null default clock_timestamp(),
  expires_at     timestamptz not null,
  revoked_at     timestamptz,
  revoked_by     text
);
create index permission_grants_of_agent on permission_grants (gateway_id, agent, action_type);
create index permission_grants_ended on permission_grants (expires_at);
