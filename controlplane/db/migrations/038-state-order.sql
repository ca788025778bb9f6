-- The order of what gateways are sent, whichever replica sends it.
--
-- Within one epoch the kill state follows `kill_revision`, the configuration `config_version.version`. The epoch rises
-- when a gateway or a replica has seen a later state than the database has: it lost commits, by a failover to a
-- standby that lagged or by a restored backup.
create table state_order (
  only_row      boolean primary key default true check (only_row),
  -- milliseconds since 1970
  epoch         bigint not null,
  kill_revision bigint not null
);
insert into state_order (epoch, kill_revision)
values ((extract(epoch from clock_timestamp()) * 1000)::bigint, 1);

-- The lock on the row keeps revisions in the order of their commits.
create function raise_kill_revision() returns trigger
language plpgsql set search_path = public as $$
begin
  update state_order set kill_revision = kill_revision + 1;
  return null;
end $$;
create trigger kill_switches_revision after insert or update or delete on kill_switches
  for each row execute function raise_kill_revision();

-- Stops that were broadcast before they were stored, once they are stored or lifted. A replica or a gateway may hold
-- one for longer: it is not stored a second time.
create table kill_announcements (
  id         text primary key,
  settled_at timestamptz not null default clock_timestamp()
);
create index kill_announcements_settled on kill_announcements (settled_at);
