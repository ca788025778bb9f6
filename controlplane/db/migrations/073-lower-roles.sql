-- Roles below `users.role`, in namespaces where that one does not count: [{role, namespaces}], null = every namespace.
alter table users add column lower_roles jsonb not null default '[]';
