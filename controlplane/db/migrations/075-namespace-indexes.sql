-- Users with rights in some namespaces read the newest requests and audit events of these: neither may search those of all
-- others. Both begin with the organisation, as the queries do: otherwise the planner also reads all rows of the organisation
-- or of the namespace. Requests of agents and Gateways without a namespace (one machine) are not in the index.
create index traffic_namespace on traffic (org_id, split_part(coalesce(agent, gateway), '/', 1), time desc, id desc)
  where coalesce(agent, gateway) like '_%/%';
drop index audit_namespace;
create index audit_namespace on audit_events (org_id, namespace, id) where namespace is not null;
