/** Effect classes of the operations of the connector type `llm_a`. `effect-table.ts` describes the format. */
export const LLM_A_EFFECTS = `
  # An agent of the provider is created or instructed, and continues on its own.
  delegate agent.{create,update} agent_automation.{create,resume,update}
  delegate agent_session.{create,send_event,update}
  delegate automation_invocation.create assistant.{create,update} run.{create,submit_tool_outputs}
  delegate realtime_call.accept live_session.accept
  # A session for a browser: the response contains its client secret.
  delegate,credential_out chatkit_session.create
  # Programs run at the provider, or are stored to be run by agents there.
  code_execution container.create skill.{create,update} skill_version.create
  code_execution environment_template.{create,update}
  code_execution agent_environment.{add_file,create} eval_run.create grader.run
  # Events, calls or content are sent to an address or number in the request.
  egress webhook_endpoint.{test,update} realtime_call.refer live_session.refer external_storage.create
  # The response also contains the signing secret.
  egress,credential_out webhook_endpoint.create
  # The response contains a key, a token or another secret.
  credential_out webhook_endpoint.rotate_secret realtime_secret.{create,create_translation}
  credential_out realtime_session.{create,create_transcription}
  # A key for further requests with the rights of its project.
  credential_out,access_grant admin_api_key.create project_api_key.create
  credential_out,access_grant service_account.{create,create_api_key}
  # Users, groups, keys and other identities gain rights.
  access_grant checkpoint_permission.create federation_rule.{create,update} group_role.assign group_user.add
  access_grant identity_provider.{create,update} org_certificate.{activate,create,deactivate,update}
  access_grant org_group.{create,update}
  access_grant org_invite.create org_role.{create,update} org_user.update project_api_key.update
  access_grant project_certificate.{activate,deactivate} project_group.add project_group_role.assign
  access_grant project_model_permission.{delete,set} project_role.{create,update}
  access_grant project_tool_permission.set
  access_grant project_user.{add,update} project_user_role.assign service_account.update user_role.assign
  access_grant vault_credential.{create,update}
  # Limits of spending change.
  money_out org_spend_limit.{delete,set} project_spend_limit.{delete,set} project_service_tier.set
  # Retention of content and access to it.
  visibility org_data_retention.set project_data_retention.set
  # Data stored at the provider is deleted.
  delete admin_api_key.delete agent.delete agent_automation.delete agent_session.delete assistant.delete
  delete chat.delete
  delete chatkit_thread.delete container.delete container_file.delete
  delete conversation.delete
  delete conversation_item.delete environment_template.delete eval.delete eval_run.delete
  delete external_key.delete
  delete external_storage.delete federation_rule.delete file.delete identity_provider.delete model.delete
  delete org_certificate.delete org_group.delete org_role.delete org_spend_alert.delete
  delete project.archive project_api_key.delete project_role.delete project_spend_alert.delete
  delete response.delete
  delete service_account.delete session_artifact.delete skill.delete skill_version.delete thread.delete
  delete thread_message.delete vault.delete vault_credential.delete vector_store.delete video.delete
  delete voice.delete
  delete voice_consent.delete webhook_endpoint.delete
  # A usage limit is a spending limit.
  money_out project_rate_limit.update
  # The model computes; further accesses of the provider are separate actions.
  none audio.{speech,transcribe,translate} chat.{create,create_stream,update}
  none completion.{create,create_stream} embedding.create image.{create_variation,edit,generate}
  none moderation.create response.{cancel,compact,count_tokens,create,create_stream} decision.create
  none provenance_check.create live_session.{create,fork,hangup,reject}
  none realtime_call.{create,hangup,reject} video.{create,edit,extend,remix} video_character.create
  none voice.create voice_consent.{create,update} batch.{cancel,create}
  none finetune.{cancel,create,pause,resume} eval.{create,update} eval_run.cancel grader.validate
  # Contents and conversations are stored for the account.
  none container_file.create conversation.{create,update} conversation_item.create file.upload
  none thread.{create,update} thread_message.{create,update} upload.{add_part,cancel,complete,create}
  none vector_store.{create,update} vector_store_batch.{cancel,create}
  none vector_store_file.{add,remove,update} trace.ingest run.{cancel,update}
  # Agents and sessions are stopped, and nothing is removed.
  none agent_automation.pause chatkit_session.cancel
  # Rights are revoked; alerts, names and encryption keys are stored.
  none external_key.{create,validate} external_storage.validate group_role.unassign group_user.remove
  none org_user.remove org_invite.delete checkpoint_permission.delete org_spend_alert.{create,update}
  none project.{create,update} project_group.remove project_group_role.unassign
  none project_spend_alert.{create,update} project_user.remove project_user_role.unassign
  none user_role.unassign vault.{create,update}
  # List or describe secrets without their values; the name of an expanded field reveals one that contains a value.
  none vault_credential.{get,list}
  # Reads that return no secret.
  none @reads
`
