-- Several requests of an agent are counted by one statement: how many of the newest were admitted. Replicas of an older
-- version, which count one at a time, go on with `is_admitted`.
alter table agent_windows
  add column admitted integer not null default 0,
  alter column is_admitted set default true;
