-- How many audit events there are up to a number, so that no process ever counts a long log from its beginning. A row is
-- written now and then by whoever counts; what came after `up_to` is counted on top.
create table audit_totals (
  org_id   text not null references orgs(id),
  -- '' = everybody's events
  agent_id text not null default '',
  up_to    bigint not null,
  events   bigint not null,
  primary key (org_id, agent_id)
);

-- Raised by each purge: a count that began before it is worth nothing after it.
create table audit_purges (
  org_id text primary key references orgs(id),
  purges bigint not null
);
insert into audit_purges (org_id, purges) select id, 0 from orgs;

create or replace function purge_audit_events(of_org text, older_than timestamptz) returns bigint
language plpgsql set search_path = public as $$
declare
  purged bigint;
begin
  -- Waits for whoever is writing a total just now.
  insert into audit_purges as p (org_id, purges) values (of_org, 1)
    on conflict (org_id) do update set purges = p.purges + 1;
  execute format('grant delete on audit_events to %I', current_user);
  with gone as (
    delete from audit_events where org_id = of_org and created_at < older_than returning id, agent_id
  ), counted as (
    select t.agent_id, count(*) as events from audit_totals t join gone g on g.agent_id = t.agent_id and g.id <= t.up_to
      where t.org_id = of_org group by t.agent_id
    union all
    select t.agent_id, count(*) from audit_totals t join gone g on g.id <= t.up_to
      where t.org_id = of_org and t.agent_id = '' group by t.agent_id
  ), reduced as (
    update audit_totals t set events = t.events - c.events from counted c
      where t.org_id = of_org and t.agent_id = c.agent_id
  )
  select count(*) into purged from gone;
  execute format('revoke delete on audit_events from %I', current_user);
  return purged;
end $$;
