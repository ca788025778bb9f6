/** Effect classes of the operations of llm_b; see `effect-table.ts`. */
export const LLM_B_EFFECTS = `
  # An agent of the provider is made or told what to do, and goes on by itself.
  delegate agent.{create,update} deployment.{create,run,unpause,update} session.{create,update}
  delegate session_event.send
  delegate session_resource.{add,update} dream.create
  # Programs run at the provider, or are stored to be run by agents and clients of the organisation.
  code_execution environment.{create,update} skill.create skill_version.create
  code_execution plugin.{create,set_installation,update}
  code_execution plugin_version.create plugin_marketplace.update managed_setting.set
  code_execution managed_setting_group.{set,set_default}
  # Events and telemetry go to the address that the request names.
  egress webhook_endpoint.update telemetry_destination.{add_workspace,create,test,update}
  # The answer also holds the signing secret.
  egress,credential_out webhook_endpoint.create
  # Servers inside a network become reachable for the provider, by the token in the answer.
  egress,credential_out tunnel.create
  # The answer holds a token, a secret or a link that signs its bearer in.
  credential_out webhook_endpoint.rotate_secret tunnel.{reveal_token,rotate_token}
  credential_out user_profile.{create_action_url,create_enrollment_url}
  # People, groups, keys and other identities get rights.
  access_grant api_key.update federation_issuer.{create,update}
  access_grant federation_rule.{add_workspace,create,update}
  access_grant org_invite.create org_user.update rbac_group.{create,update} rbac_group_member.add
  access_grant service_account.{add_workspace,create,update} tunnel_certificate.create
  access_grant vault_credential.{create,update} workspace_member.{add,update}
  access_grant workspace_service_account.{add,update}
  # Limits of what may be spent.
  money_out spend_limit.{delete,set} spend_limit_request.approve
  # What is kept about people's conversations, and who may look at it.
  visibility compliance_setting.update
  # Something that is stored at the provider is gone, or is put away for good.
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
  # A limit of use is a limit of what may be spent.
  money_out workspace.update_rate_limit
  # Channels and workspaces of a chat get an agent with the tools of a bundle.
  access_grant tag_bundle.update tag_bundle_target.add tag_channel.{add,update} tag_workspace.update
  # The model computes; what the provider reaches or does besides is an action of its own.
  none message.{count_tokens,create,create_stream} completion.{create,create_stream}
  none batch.{cancel,create}
  # Contents are stored for the account.
  none file.upload memory.{create,update} memory_store.{create,update} user_profile.{create,update}
  none vault.{create,update} vault_credential.validate tag_bundle_target.remove tag_channel.remove
  # Work is stopped, or handed to the machine that asks for it.
  none deployment.pause dream.cancel environment_work.{ack,heartbeat,poll,stop,update}
  none session_resource.remove plugin.reset_installation client.log_events
  # Rights are taken away, names and keys of encryption are kept.
  none external_key.{create,update,validate} federation_rule.remove_workspace org_user.{remove,sign_out}
  none org_invite.delete rbac_group_member.remove service_account.remove_workspace
  none spend_limit_request.deny telemetry_destination.remove_workspace workspace.{create,update}
  none workspace_member.remove workspace_service_account.remove
  # They list or describe secrets without their values; an expanded field that holds one is found by its name.
  none vault_credential.{get,list}
  # Reads that hand out no secret.
  none @reads
`
