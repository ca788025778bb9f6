-- Gateways that no longer admit the policy: its denies and holds stay there for agents of its own namespace.
alter table policies add column lost_gateway_ids text[] not null default '{}';

-- Labels of the cluster's namespaces, as the operator reports them: Gateways admit namespaces by them.
create table namespaces (
  name   text primary key,
  labels jsonb not null
);
