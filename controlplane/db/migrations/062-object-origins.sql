-- Where a row that no manifest made comes from; null for rows of manifests.
alter table gateways add column origin text check (origin in ('dashboard', 'command_line', 'built_in'));
alter table connectors add column origin text check (origin in ('dashboard', 'command_line', 'built_in'));
alter table permissions add column origin text check (origin in ('dashboard', 'command_line', 'built_in'));
alter table policies add column origin text check (origin in ('dashboard', 'command_line', 'built_in'));
alter table agents add column origin text check (origin in ('dashboard', 'command_line', 'built_in'));

update gateways set origin = case name when 'default/local' then 'built_in' else 'dashboard' end where source = 'api';
update connectors set origin = 'dashboard' where source = 'api';
update permissions set origin = 'dashboard' where source = 'api';
update policies set origin = case
  when version = 1 and name in ('default-deny-destructive', 'default-approve-risky', 'default-allow-safe') then 'built_in'
  else 'dashboard' end where source = 'api';
update agents set origin = case when managed_by is null then 'dashboard' else 'built_in' end where source = 'api';
