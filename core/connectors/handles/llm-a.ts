import type { HandleTable } from './table.ts'

export const LLM_A_HANDLES: HandleTable = {
  connector: 'llm_a',
  readForms: ['container_file.create', 'video.edit', 'video.extend'],
  paths: `
    responses      response      !compact !input_tokens
    files          file
    uploads        upload
    threads        thread        !runs
    conversations  conversation
    batches        batch
    sessions       session
    vector_stores  vector_store
    containers     container
    videos         video         !characters !edits !extensions
    characters     character
    completions    chat
    jobs           fine_tuning_job
    evals          eval
    automations    automation
    calls          call
  `,
  fields: `
    previous_response_id  response
    conversation          conversation
    conversation.id       conversation
    file_id               file
    file_ids.*            file
    input_file_id         file
    data_source.source.id  file
    training_file         file
    validation_file       file
    thread_id             thread
    session_id            session
    batch_id              batch
    vector_store_id       vector_store
    vector_store_ids.*    vector_store
    container             container
    video.id              video
  `,
  gives: `
    response.create         response      id
    response.create_stream  response      response.id
    file.upload             file          id
    upload.create           upload        id
    upload.complete         file          file.id
    thread.create           thread        id
    run.create              thread        thread_id
    conversation.create     conversation  id
    batch.create            batch         id
    agent_session.create    session       id
    live_session.create     session       session.id
    live_session.fork       session       session.id
    chatkit_session.create  session       id
    vector_store.create     vector_store  id
    container.create        container     id
    video.create            video         id
    video.remix             video         id
    video.edit              video         id
    video.extend            video         id
    video_character.create  character     id
    # The provider keeps a chat only if the request has the member store.
    chat.create             chat          id  if=store
    chat.create_stream      chat          id  if=store
    finetune.create         fine_tuning_job  id
    eval.create             eval          id
    agent_automation.create  automation   id
    automation_invocation.create  session  session_id
    realtime_call.create    call          header:location
  `,
}
