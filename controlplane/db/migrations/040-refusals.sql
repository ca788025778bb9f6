-- A row may stand for many refusals of one agent: what it counts, and how many requests it is in every total.
alter table traffic add column refusals jsonb;
alter table traffic add column requests bigint not null default 1;
