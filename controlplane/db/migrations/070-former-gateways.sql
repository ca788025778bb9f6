-- Gateways that served an agent until lately: records of requests that they forwarded may arrive after the agent was
-- bound to another Gateway or revoked.
create table former_gateways (
  agent      text not null,
  -- empty = every Gateway
  gateway_id text not null,
  until      timestamptz not null,
  primary key (agent, gateway_id)
);
create index former_gateways_until on former_gateways (until);

create function remember_former_gateway() returns trigger
language plpgsql set search_path = public as $$
begin
  delete from former_gateways where until < clock_timestamp() - interval '7 days';
  insert into former_gateways (agent, gateway_id, until)
    values (old.name, coalesce(old.gateway_id, ''), clock_timestamp())
    on conflict (agent, gateway_id) do update set until = excluded.until;
  return null;
end $$;

create trigger agents_former_gateway after update on agents for each row
  when (old.status <> 'revoked' and (old.gateway_id is distinct from new.gateway_id or old.name <> new.name
    or new.status = 'revoked'))
  execute function remember_former_gateway();

-- Of one agent: two agents of one Gateway may have a hold with the same binding.
drop index approvals_binding;
create unique index approvals_binding on approvals (binding, agent) where kind = 'hold' and status = 'pending';
