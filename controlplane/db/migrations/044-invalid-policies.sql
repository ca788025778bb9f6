-- Why the manifest of a policy was refused that has never been in force: what its scope covers is denied.
alter table policies add column invalid text;
