-- How long the audit log is kept where no plan fixes it, and what the cleanup remembers.

-- Of the plan Enterprise; null = for ever. Other plans have a number of days of their own.
alter table orgs add column audit_retention_days integer default 365 check (audit_retention_days > 0);

create table maintenance (
  only_row        boolean primary key default true check (only_row),
  last_cleanup_at timestamptz,
  -- proxied requests whose traffic rows are gone, so that the number of all actions never falls
  traffic_purged  bigint not null default 0
);
insert into maintenance default values;
