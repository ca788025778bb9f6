/** Effect classes of the operations of the connector type `llm_c`. `effect-table.ts` describes the format. */
export const LLM_C_EFFECTS = `
  # An agent of the provider is created or instructed, and continues on its own.
  delegate agent.create trigger.{create,update} trigger_execution.create
  # Programs run at the provider, or are stored to be run there.
  code_execution environment.create environment_file.upload
  # The provider fetches files from an address in the request, or sends events there.
  egress file.register webhook.{test,update}
  # The response also contains the signing secret.
  egress,credential_out webhook.create
  # The response contains a token or another secret.
  credential_out auth_token.create webhook.rotate_secret
  # Users and other identities gain rights.
  access_grant credential.{create,update} permission.{create,update} tuned_model.transfer
  # Data stored at the provider is deleted.
  delete agent.delete batch.delete cached_content.delete chunk.{delete,delete_many} corpus.delete
  delete credential.delete
  delete document.delete environment.delete file.delete file_store.delete file_store_document.delete
  delete interaction.delete
  delete operation.delete trigger.delete tuned_model.delete voice.delete webhook.delete
  # The model computes; further accesses of the provider are separate actions.
  none answer.generate content.{count_tokens,generate,generate_stream} decision.create
  none embedding.{create,create_many} interaction.{cancel,create,create_stream}
  none message.{count_tokens,generate} prediction.{create,start}
  none text.{count_tokens,embed,embed_many,generate} batch.{cancel,create,create_embeddings}
  none tuned_model.{create,update} tuned_model_operation.cancel voice.create
  # Contents are stored for the account.
  none cached_content.{create,update} chunk.{create,create_many,update,update_many}
  none corpus.{create,update} document.{create,update} file.upload
  none file_store.{create,import_file,upload_file}
  # Rights of accounts are revoked.
  none permission.delete
  # List or describe secrets without their values; the name of an expanded field reveals one that contains a value.
  none credential.{get,list}
  # Reads that return no secret.
  none @reads
`
