-- One budget for several gateway processes of one agent: what they admitted, and what they were lent and may still admit.
-- Worth nothing after a crash: the worst is one more window.

create unlogged table spent_slots (
  gateway_id text not null,
  agent      text not null,
  at         timestamptz not null
);
create index spent_slots_agent on spent_slots (gateway_id, agent, at);

create unlogged table lent_slots (
  gateway_id text not null,
  agent      text not null,
  process_id text not null,
  slots      integer not null check (slots > 0),
  lent_at    timestamptz not null,
  primary key (gateway_id, agent, process_id)
);

-- Takes back what the process was lent, counts what it admitted since (ages in ms) and lends anew. A loan that nobody
-- gives back counts as used when it was lent: its process is gone, and nobody knows what it admitted.
create function lend_slots(of_gateway text, of_agent text, to_process text, per_minute integer, wanted integer,
  ages double precision[], out granted integer, out retry_after_ms double precision)
language plpgsql set search_path = public as $$
declare
  moment timestamptz;
  taken integer;
begin
  perform pg_advisory_xact_lock(hashtext('chaperone slots ' || of_gateway || ' ' || of_agent));
  moment := clock_timestamp();
  delete from spent_slots
    where gateway_id = of_gateway and agent = of_agent and at <= moment - interval '60 seconds';
  delete from lent_slots
    where gateway_id = of_gateway and agent = of_agent
      and (process_id = to_process or lent_at <= moment - interval '60 seconds');
  insert into spent_slots
    select of_gateway, of_agent, moment - make_interval(secs => age / 1000)
    from unnest(ages) as age where age < 60000;
  select (select count(*) from spent_slots where gateway_id = of_gateway and agent = of_agent)
    + (select coalesce(sum(slots), 0) from lent_slots where gateway_id = of_gateway and agent = of_agent) into taken;
  granted := greatest(0, least(wanted, per_minute - taken));
  retry_after_ms := 0;
  if granted > 0 then
    insert into lent_slots values (of_gateway, of_agent, to_process, granted, moment);
  elsif wanted > 0 then
    -- When so many are 60 s old that one more fits.
    select 60000 - extract(epoch from moment - freed.at) * 1000 into retry_after_ms
    from (
      select at from spent_slots where gateway_id = of_gateway and agent = of_agent
      union all
      select lent_at from lent_slots, generate_series(1, slots) where gateway_id = of_gateway and agent = of_agent
    ) as freed order by freed.at offset taken - per_minute limit 1;
  end if;
end $$;
