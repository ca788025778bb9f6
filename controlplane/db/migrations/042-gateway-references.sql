-- References to Gateways and admitted namespaces have one form each: stored objects are read by the schemas of today.
create function admitted_namespaces(allowed jsonb) returns jsonb language sql as $$
  select coalesce(
    jsonb_object_agg(
      kind,
      case when jsonb_array_length(names) = 0 then '{"from": "Same"}'::jsonb
        else jsonb_build_object('from', 'Selector', 'names', names) end),
    '{}'::jsonb)
  from jsonb_each(allowed) as each(kind, names)
$$;

update gateways set spec = jsonb_set(spec, '{allowedNamespaces}', admitted_namespaces(spec -> 'allowedNamespaces'))
where spec ? 'allowedNamespaces';

update desired
set spec = jsonb_set(spec, '{spec,allowedNamespaces}', admitted_namespaces(spec #> '{spec,allowedNamespaces}'))
where kind = 'Gateway' and spec -> 'spec' ? 'allowedNamespaces';

update connectors
set spec = (spec - 'gateways') || jsonb_build_object('gatewayRefs', (
  select jsonb_agg(jsonb_build_object('name', name)) from jsonb_array_elements(spec -> 'gateways') as each(name)))
where jsonb_array_length(spec -> 'gateways') > 0;
update connectors set spec = spec - 'gateways' where spec ? 'gateways';

update desired
set spec = jsonb_set(spec, '{spec}', ((spec -> 'spec') - 'gateways') || jsonb_build_object('gatewayRefs', (
  select jsonb_agg(jsonb_build_object('name', name)) from jsonb_array_elements(spec #> '{spec,gateways}') as each(name))))
where kind = 'Connector' and jsonb_array_length(spec #> '{spec,gateways}') > 0;
update desired set spec = spec #- '{spec,gateways}' where kind = 'Connector';

update desired
set spec = jsonb_set(spec #- '{spec,gateway}', '{spec,gatewayRefs}',
  jsonb_build_array(jsonb_build_object('name', spec #> '{spec,gateway}')))
where kind = 'Permission' and spec -> 'spec' ? 'gateway';

update desired
set spec = jsonb_set(spec, '{spec}', ((spec -> 'spec') - 'targetRefs') || jsonb_build_object('gatewayRefs', (
  select jsonb_agg(ref - 'kind') from jsonb_array_elements(spec #> '{spec,targetRefs}') as each(ref))))
where kind = 'Policy' and jsonb_array_length(spec #> '{spec,targetRefs}') > 0;
update desired set spec = spec #- '{spec,targetRefs}' where kind = 'Policy';

drop function admitted_namespaces(jsonb);
