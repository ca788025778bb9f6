-- The ServiceAccount of a pod with a sidecar, as the API server names it for the pod's token: its tokens are no user's.
-- Null until the sidecar has presented a token.

alter table pod_identities add column service_account text;
create index pod_identities_service_account on pod_identities (namespace, service_account);
