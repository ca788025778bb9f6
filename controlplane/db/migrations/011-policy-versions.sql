-- Every text that a policy had, so that a change can be looked at and taken back.
create table policy_versions (
  policy_id   text not null references policies(id) on delete cascade,
  version     integer not null,
  policy_yaml text not null,
  -- its tests passed: it was put in force
  passed      boolean not null,
  created_at  timestamptz not null default now(),
  primary key (policy_id, version)
);

insert into policy_versions (policy_id, version, policy_yaml, passed, created_at)
select id, version, policy_yaml, active_version is not distinct from version, updated_at from policies;
