-- Who a gateway process belongs to: the pod of a sidecar, else the gateway of an enrolment token. The first call under
-- an id decides; nobody else may open its stream, acknowledge in its name or report its records.

create table process_owners (
  process_id text primary key,
  -- pod:<uid> or gateway:<id>
  owner      text not null,
  seen_at    timestamptz not null default clock_timestamp()
);
create index process_owners_owner on process_owners (owner, seen_at);
create index process_owners_seen on process_owners (seen_at);

-- A result counts only from the process that got the order: several processes may claim the same order. Empty = passed
-- on by the replica that sent the order.
alter table execution_results add column process_id text not null default '';
alter table execution_results drop constraint execution_results_pkey;
alter table execution_results add primary key (order_id, process_id);
