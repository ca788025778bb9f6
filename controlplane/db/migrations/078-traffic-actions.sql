-- Names and number of the actions of a request that carries several.
alter table traffic add column actions text[];
alter table traffic add column action_count integer;
