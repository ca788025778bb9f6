-- Every action that a request may have been, where nothing in it told which of them it was.
alter table traffic add column candidates text[];
