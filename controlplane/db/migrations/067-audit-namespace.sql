-- The namespace that an event concerns: users with rights in some namespaces read the events of these. Null = of the
-- installation, or of something without a namespace.
alter table audit_events add column namespace text;
create index audit_namespace on audit_events (namespace, id) where namespace is not null;
