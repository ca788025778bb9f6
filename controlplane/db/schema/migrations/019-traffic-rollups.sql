-- Roll-ups: sums of the traffic log by time, which pages and metrics read instead of records. A trigger writes the sums of each
-- insert into `traffic_increments` in the transaction of the insert. The control plane later adds the increments to the tables of
-- roll-ups and deletes them in one transaction. Therefore in every snapshot of the database the roll-ups and the increments together
-- are equal to the sums of the records, also for records that arrive late.

-- Returns the number n of the bucket that contains a latency: bucket n contains the latencies from 1.04^n to 1.04^(n + 1) ms.
create function latency_bucket(latency_ms double precision) returns smallint
language sql immutable parallel safe
return floor(ln(least(greatest(latency_ms, 0.001), 1e9)) / ln(1.04::double precision))::smallint;

-- Sums of the records of one insert, by minute. `action_type`, `host` and `reason` are null for a request that was not denied.
create table traffic_increments (
  minute      timestamptz not null,
  -- '' = no namespace
  namespace   text not null,
  agent       text,
  decision    text not null,
  would_block boolean not null,
  action_type text,
  host        text,
  reason      text,
  records     bigint not null,
  requests    bigint not null,
  last_at     timestamptz not null,
  -- latency buckets of the records that did not wait for an approval, one element per record
  latencies   smallint[]
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 20000);

-- In all tables of roll-ups, a row covers `step` seconds from `time` on. Values of `step` in this table: 60, 900 and 3600.
create table traffic_rollups (
  step        integer not null,
  time        timestamptz not null,
  -- '' = no namespace, null = the sums of all namespaces
  namespace   text,
  records     bigint not null,
  requests    bigint not null,
  allow       bigint not null,
  hold        bigint not null,
  deny        bigint not null,
  would_block bigint not null,
  -- numbers of latency buckets, and the number of records in each of these buckets
  buckets     smallint[],
  counts      bigint[],
  unique nulls not distinct (step, time, namespace)
) with (fillfactor = 70);

-- Values of `step`: 900 and 3600.
create table traffic_rollup_agents (
  step      integer not null,
  time      timestamptz not null,
  namespace text not null,
  agent     text not null,
  requests  bigint not null,
  allow     bigint not null,
  hold      bigint not null,
  deny      bigint not null,
  last_at   timestamptz not null,
  primary key (step, time, namespace, agent)
) with (fillfactor = 70);

-- Values of `step`: 900 and 3600.
create table traffic_rollup_denials (
  step        integer not null,
  time        timestamptz not null,
  namespace   text not null,
  -- SHA-256 of agent, action type, host and reason, because these texts can be longer than an index permits
  kind        bytea not null,
  agent       text,
  action_type text,
  host        text,
  reason      text,
  requests    bigint not null,
  last_at     timestamptz not null,
  primary key (step, time, namespace, kind)
) with (fillfactor = 70);

-- Time from which the roll-ups contain records: the end of the hour of this migration, or -infinity if the traffic log was empty.
create table traffic_rollup_begin (begins_at timestamptz not null);
create unique index traffic_rollup_begin_row on traffic_rollup_begin ((true));

create function add_traffic_increments() returns trigger
language plpgsql set search_path = public as $$
begin
  insert into traffic_increments
    (minute, namespace, agent, decision, would_block, action_type, host, reason, records, requests, last_at, latencies)
  select date_bin('1 minute', time, 'epoch'),
    case when coalesce(agent, gateway) like '_%/%' then split_part(coalesce(agent, gateway), '/', 1) else '' end,
    agent, decision, would is not null and decision = 'ALLOW',
    case when decision = 'DENY' then action_type end,
    case when decision = 'DENY' and action_type is null then host end,
    case when decision = 'DENY' then reason end,
    count(*), sum(requests)::bigint, max(time),
    array_agg(latency_bucket(latency_ms)) filter (where approval_id is null)
  from fresh where time >= (select begins_at from traffic_rollup_begin) group by 1, 2, 3, 4, 5, 6, 7, 8;
  return null;
end $$;

-- The trigger also counts records that a replica of an earlier version inserts during an upgrade.
create trigger traffic_increments after insert on traffic referencing new table as fresh
  for each statement execute function add_traffic_increments();

-- `create trigger` has locked the table against inserts. Therefore each record is counted either below or by the trigger.
insert into traffic_rollup_begin
  select case when exists (select from traffic) then date_trunc('hour', now(), 'UTC') + interval '1 hour' else '-infinity' end;

-- Counts records with a time after `begins_at`. Such records come from gateways whose clock is ahead.
insert into traffic_increments
    (minute, namespace, agent, decision, would_block, action_type, host, reason, records, requests, last_at, latencies)
  select date_bin('1 minute', time, 'epoch'),
    case when coalesce(agent, gateway) like '_%/%' then split_part(coalesce(agent, gateway), '/', 1) else '' end,
    agent, decision, would is not null and decision = 'ALLOW',
    case when decision = 'DENY' then action_type end,
    case when decision = 'DENY' and action_type is null then host end,
    case when decision = 'DENY' then reason end,
    count(*), sum(requests)::bigint, max(time),
    array_agg(latency_bucket(latency_ms)) filter (where approval_id is null)
  from traffic where time >= (select begins_at from traffic_rollup_begin) group by 1, 2, 3, 4, 5, 6, 7, 8;

-- Deletes the traffic log of all UTC days before `first_kept` with its roll-ups. Returns the number of deleted records. The count of
-- requests moves from the roll-ups to `maintenance.traffic_purged` in one transaction, so that the total of both never decreases. A
-- record that is inserted during the call leaves an increment, which the next call counts.
create function purge_traffic(first_kept date) returns bigint
language plpgsql set search_path = public as $$
declare
  before constant timestamptz := first_kept::timestamp at time zone 'utc';
  rolled_up record;
  pending record;
  earlier record;
begin
  -- The lock permits only one transaction at a time that moves increments to the roll-ups or deletes increments and roll-ups.
  perform pg_advisory_xact_lock(7245118022);
  with gone as (delete from traffic_rollups where time < before returning *)
    select coalesce(sum(records), 0)::bigint as records, coalesce(sum(requests), 0)::bigint as requests into rolled_up
    from gone where step = 3600 and namespace is null;
  with gone as (delete from traffic_increments where minute < before returning *)
    select coalesce(sum(records), 0)::bigint as records, coalesce(sum(requests), 0)::bigint as requests into pending from gone;
  delete from traffic_rollup_agents where time < before;
  delete from traffic_rollup_denials where time < before;
  select count(*) as records, coalesce(sum(requests), 0)::bigint as requests into earlier
    from traffic where time < least(before, (select begins_at from traffic_rollup_begin));
  update maintenance set traffic_purged = traffic_purged + rolled_up.requests + pending.requests + earlier.requests;
  perform drop_traffic_days(first_kept);
  return rolled_up.records + pending.records + earlier.records;
end $$;

-- Drops the partitions of whole days, and deletes rows of these days in the default partition. Returns the number of dropped tables.
-- The lock of `drop table` blocks all uses of the traffic log, even while the function waits for the lock. Therefore an attempt ends
-- after a wait of 100 ms and releases the locks of all days. The next attempt begins 200 ms later.
create function drop_traffic_days(first_kept date) returns integer
language plpgsql set search_path = public as $$
declare
  patience constant text := current_setting('lock_timeout');
  part text;
  dropped integer;
begin
  delete from traffic_default where time < first_kept::timestamp at time zone 'utc';
  for attempt in 1..50 loop
    begin
      perform set_config('lock_timeout', '100ms', true);
      dropped := 0;
      for part in
        select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = 'public.traffic'::regclass and c.relname ~ '^traffic_[0-9]{8}$'
          and c.relname < 'traffic_' || to_char(first_kept, 'YYYYMMDD')
        order by c.relname
      loop
        execute format('drop table %I', part);
        dropped := dropped + 1;
      end loop;
      exit;
    exception when lock_not_available then
      if attempt = 50 then raise; end if;
      perform pg_sleep(0.2);
    end;
  end loop;
  perform set_config('lock_timeout', patience, true);
  return dropped;
end $$;

-- Replicas of earlier versions call this function, and count the deleted records themselves.
create or replace function drop_traffic_before(first_kept date) returns integer
language plpgsql set search_path = public as $$
declare
  before constant timestamptz := first_kept::timestamp at time zone 'utc';
begin
  perform pg_advisory_xact_lock(7245118022);
  delete from traffic_increments where minute < before;
  delete from traffic_rollups where time < before;
  delete from traffic_rollup_agents where time < before;
  delete from traffic_rollup_denials where time < before;
  return drop_traffic_days(first_kept);
end $$;
