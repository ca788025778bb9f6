-- Effect classes of the actions of a request; null where it has none.
alter table traffic add column effects text[];
