-- Records that the control plane never takes are lost, too. Their range says nothing about the process that it names, so
-- it stands beside what the owner of the process says of it.
alter table records_lost add column reason text not null default 'unwritten';
-- pod:<uid> or gateway:<id>; empty for rows of earlier versions.
alter table records_lost add column reported_by text not null default '';
alter table records_lost drop constraint records_lost_pkey;
alter table records_lost add primary key (process_id, from_seq, reason, reported_by);
create index records_lost_at on records_lost (at);
