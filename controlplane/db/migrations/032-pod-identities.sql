-- Pods with a sidecar as the operator reports them: the only source of a sidecar's agent and Gateway. The first report
-- of a UID and its deletion are final, because the API server never uses a UID twice.

create table pod_identities (
  pod_uid         text primary key,
  namespace       text not null,
  name            text not null,
  -- namespace/name, both
  agent           text not null,
  gateway         text not null,
  reported_at     timestamptz not null default clock_timestamp(),
  -- the object is gone; a pod that terminates is not deleted yet
  deleted_at      timestamptz,
  -- of the newest token that the pod presented, and when it did first: older tokens are refused soon afterwards
  token_issued_at timestamptz,
  token_seen_at   timestamptz
);
create index pod_identities_deleted on pod_identities (deleted_at) where deleted_at is not null;

-- Pods that presented a valid token before the operator reported them. Worth nothing after a crash: they try again.
create unlogged table unknown_pods (
  pod_uid       text primary key,
  first_seen_at timestamptz not null default clock_timestamp()
);
