/** Catalogue rows of llm_a: trusted external identities of the organization, its keys and storage, service tiers. */
export const LLM_A_FEDERATION = `
  GET    /v1/organization/external_keys                                             external_key.list                  read  low
  POST   /v1/organization/external_keys                                             external_key.create                write high
  GET    /v1/organization/external_keys/{external_key_id}                           external_key.get                   read  low
  DELETE /v1/organization/external_keys/{external_key_id}                           external_key.delete                write high
  POST   /v1/organization/external_keys/{external_key_id}/validate                  external_key.validate              write low
  GET    /v1/organization/external_storage                                          external_storage.list              read  low
  POST   /v1/organization/external_storage                                          external_storage.create            write high
  GET    /v1/organization/external_storage/{external_storage_id}                    external_storage.get               read  low
  DELETE /v1/organization/external_storage/{external_storage_id}                    external_storage.delete            write high
  POST   /v1/organization/external_storage/{external_storage_id}/validate           external_storage.validate          write low
  GET    /v1/organization/workload_identity_providers                               identity_provider.list             read  low
  POST   /v1/organization/workload_identity_providers                               identity_provider.create           write high
  GET    /v1/organization/workload_identity_providers/{provider_id}                 identity_provider.get              read  low
  POST   /v1/organization/workload_identity_providers/{provider_id}                 identity_provider.update           write high
  DELETE /v1/organization/workload_identity_providers/{provider_id}                 identity_provider.delete           write high
  GET    /v1/organization/workload_identity_providers/{provider_id}/federation_rules           federation_rule.list    read  low
  POST   /v1/organization/workload_identity_providers/{provider_id}/federation_rules           federation_rule.create  write high
  GET    /v1/organization/workload_identity_providers/{provider_id}/federation_rules/{rule_id} federation_rule.get     read  low
  POST   /v1/organization/workload_identity_providers/{provider_id}/federation_rules/{rule_id} federation_rule.update  write high
  DELETE /v1/organization/workload_identity_providers/{provider_id}/federation_rules/{rule_id} federation_rule.delete  write high
  POST   /v1/organization/projects/{project_id}/api_keys/{api_key_id}               project_api_key.update             write high  name
  GET    /v1/organization/projects/{project_id}/service_tier_settings               project_service_tier.get           read  low
  POST   /v1/organization/projects/{project_id}/service_tier_settings               project_service_tier.set           write high
`
