/** Effect classes of the operations of the connector type `llm_b`. `effect-table.ts` describes the format. */
export const LLM_B_EFFECTS = `
  # An agent of the provider is created or instructed, and continues on its own.
  delegate agent.{create,update} deployment.{create,run,unpause,update} session.{create,update}
  delegate session_event.send
  delegate session_resource.{add,update} dream.create
  # Programs run at the provider, or are stored to be run by agents and clients of the organisation.
  code_execution environment.{create,update} skill.create skill_version.create
  code_execution plugin.{create,set_installation,update}
  code_execution plugin_version.create plugin_marketplace.update managed_setting.set
  code_execution managed_setting_group.{set,set_default}
  # Events and telemetry are sent to an address in the request.
  egress webhook_endpoint.update telemetry_destination.{add_workspace,create,test,update}
  # The response also contains the signing secret.
  egress,credential_out webhook_endpoint.create
  # Servers inside a network become reachable for the provider with the token in the response.
  egress,credential_out tunnel.create
  # The response contains a token, a secret or a sign-in link.
  credential_out webhook_endpoint.rotate_secret tunnel.{reveal_token,rotate_token}
  credential_out user_profile.{create_action_url,create_enrollment_url}
  # Users, groups, keys and other identities gain rights.
  access_grant api_key.update federation_issuer.{create,update}
  access_grant federation_rule.{add_workspace,create,update}
  access_grant org_invite.create org_user.update rbac_group.{create,update} rbac_group_member.add
  access_grant service_account.{add_workspace,create,update} tunnel_certificate.create
  access_grant vault_credential.{create,update} workspace_member.{add,update}
  access_grant workspace_service_account.{add,update}
  # Limits of spending change.
  money_out spend_limit.{delete,set} spend_limit_request.approve
  # Stored data about conversations of users, and access to it.
  visibility compliance_setting.update
  # Data stored at the provider is deleted or permanently archived.
  delete agent.archive batch.delete deployment.archive dream.archive environment.{archive,delete}
  delete external_key.delete
  delete federation_issuer.archive federation_rule.archive file.delete managed_setting_group.delete
  delete memory.delete
  delete memory_store.{archive,delete} memory_version.redact plugin.delete
  delete rbac_group.delete service_account.archive session.{archive,delete} session_thread.archive
  delete skill.delete
  delete skill_version.delete telemetry_destination.delete tunnel.archive tunnel_certificate.archive
  delete user_profile.delete vault.{archive,delete} vault_credential.{archive,delete}
  delete webhook_endpoint.delete workspace.archive
  # A usage limit is a spending limit.
  money_out workspace.update_rate_limit
  # Channels and workspaces of a chat get an agent with the tools of a bundle.
  access_grant tag_bundle.update tag_bundle_target.add tag_channel.{add,update} tag_workspace.update
  # The model computes; further accesses of the provider are separate actions.
  none message.{count_tokens,create,create_stream} completion.{create,create_stream}
  none batch.{cancel,create}
  # Contents are stored for the account.
  none file.upload memory.{create,update} memory_store.{create,update} user_profile.{create,update}
  none vault.{create,update} vault_credential.validate tag_bundle_target.remove tag_channel.remove
  # Work is stopped, or assigned to a requesting machine.
  none deployment.pause dream.cancel environment_work.{ack,heartbeat,poll,stop,update}
  none session_resource.remove plugin.reset_installation client.log_events
  # Rights are revoked; names and encryption keys are stored.
  none external_key.{create,update,validate} federation_rule.remove_workspace org_user.{remove,sign_out}
  none org_invite.delete rbac_group_member.remove service_account.remove_workspace
  none spend_limit_request.deny telemetry_destination.remove_workspace workspace.{create,update}
  none workspace_member.remove workspace_service_account.remove
  # List or describe secrets without their values; the name of an expanded field reveals one that contains a value.
  none vault_credential.{get,list}
  # Reads that return no secret.
  none @reads
`
